"""Linear classifiers and their models on Spark's DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Unpack

import numpy as np
from pyspark.ml.linalg import DenseMatrix, DenseVector
from pyspark.ml.param import TypeConverters

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import train
from ..core.training_set import class_factors
from ..estimators.linear import LinearODMClassifier, LinearSVMClassifier
from ..estimators.linear_fit import calibrate_linear, loss_of
from ..linear.fit import LinearFit
from ..linear.history import LinearHistory
from ..linear.model import Validation, decisions_of
from ..linear.problems import LinearProblems
from ..linear.solvers import ON_BLOCKS
from .accessors import param, with_keywords
from .classifier_stage import ClassifierStage, FitLog
from .linear_stream import StreamFit, check_online, learnt
from .model_stage import ModelStage
from .params import (
    ConstantFeatureParams,
    ODMKeywords,
    ODMLoss,
    StageKeywords,
    StageParams,
    SVMLoss,
    to_memory,
)
from .rows.blocks import PlacedRows


class LinearKeywords(StageKeywords, total=False):
    """Keywords of the linear classifiers' constructors."""

    validationIndicatorCol: str | None
    interceptScaling: float


class LinearODMKeywords(ODMKeywords, LinearKeywords):
    """Keywords of the linear ODM."""


class LinearSVMKeywords(LinearKeywords, total=False):
    """Keywords of the linear SVM."""

    loss: str


class LinearParams(ConstantFeatureParams, StageParams):
    """Params that all linear classifiers have."""

    solver = param(
        "'newton', 'dsvrg' and 'dsvrg_printed' leave rows where they are; 'auto' solves sets of up "
        "to 256 MiB in one task and larger ones by 'newton'; the local solvers ('dual', "
        "'dual_then_newton', 'svrg', 'sampled_svrg', 'pegasos') bring all rows into one task."
    )
    maxIter = param(
        "iterations allowed per binary problem (>= 1): Newton steps, or passes over the rows.",
        TypeConverters.toInt,
    )
    seed = param("seed of solvers that draw rows at random.", TypeConverters.toInt)
    memoryLimit = param(
        "bytes that rows may take in one task, or a size such as '500MB': solvers that bring all "
        "rows together are refused beyond it.",
        to_memory,
    )


class LinearODMParams(ODMLoss, LinearParams):
    """Params of the ODM."""

    _local_class = LinearODMClassifier


class LinearSVMParams(SVMLoss, LinearParams):
    """Params of the SVM."""

    _local_class = LinearSVMClassifier


class SparkLinearModel(ModelStage, LinearParams):
    """A fitted linear classifier: all but its Params."""

    def _score(self) -> Callable[[Any], Array]:
        fitted = self._fitted
        return partial(decisions_of, coef=fitted.coef_, intercept=fitted.intercept_)

    @property
    def coefficients(self) -> DenseVector:
        """Weights, if there are two classes."""
        self._require_two_classes("coefficients", "coefficientMatrix")
        return DenseVector(self._fitted.coef_[0])

    @property
    def intercept(self) -> float:
        """Added to the decisions, if there are two classes."""
        self._require_two_classes("intercept", "interceptVector")
        return float(self._fitted.intercept_[0])

    @property
    def coefficientMatrix(self) -> DenseMatrix:
        """Weights: one row for two classes, else one row per class."""
        coef = self._fitted.coef_
        return DenseMatrix(*coef.shape, coef.ravel(), isTransposed=True)

    @property
    def interceptVector(self) -> DenseVector:
        """Added to the decisions, one for each row of the matrix."""
        return DenseVector(self._fitted.intercept_)

    @property
    def numRows(self) -> int:
        """Number of rows that a model of ``partialFit`` or ``fitStream`` has learnt from."""
        if not hasattr(self._fitted, "n_samples_seen_"):
            raise ValueError("`numRows` is for models of `partialFit` and `fitStream`.")
        return int(self._fitted.n_samples_seen_)

    def _require_two_classes(self, name: str, other: str) -> None:
        if self.numClasses != 2:
            raise ValueError(
                f"`{name}` is for models of two classes; this one has {self.numClasses}. Use "
                f"`{other}`."
            )


class SparkLinearODMModel(SparkLinearModel, LinearODMParams):
    """A fitted :class:`SparkLinearODMClassifier`."""


class SparkLinearSVMModel(SparkLinearModel, LinearSVMParams):
    """A fitted :class:`SparkLinearSVMClassifier`."""


class LinearClassifier(ClassifierStage, LinearParams):
    """A linear classifier: all but its Params."""

    _calibrate_together = staticmethod(calibrate_linear)

    def partialFit(self, dataset: Any, model: Any = None, *, numClasses: int = 2) -> Any:
        """Go on learning from a DataFrame, whose rows are not kept.

        What earlier rows say is remembered by the second-order expansion of their loss, as in
        :meth:`widemargin.LinearODMClassifier.partial_fit`: the result approaches the optimum over
        all rows seen, and nothing certifies how far it is from it. Up to 256 MiB of rows are
        learnt in one task; more stay where they are. ``solver``, ``tol`` and ``maxIter`` are not
        used.

        Parameters
        ----------
        dataset : DataFrame
            Rows; they need not be of all classes.
        model : model of this class's kind, optional
            What an earlier call returned; None begins.
        numClasses : int, default=2
            Number of classes that will ever come: labels are below it.

        Returns
        -------
        model
            A new one. ``numRows`` is the number of rows so far.
        """
        before = None
        if model is not None:
            if not isinstance(model, self._model_class):
                raise TypeError(
                    f"`model` must be a {self._model_class.__name__}; got {type(model).__name__}."
                )
            before = model._fitted
        local = learnt(self, dataset, before, numClasses)
        return self._copyValues(self._model_class(local)._resetUid(self.uid))

    def fitStream(self, path: str | None = None, *, numClasses: int = 2) -> StreamFit:
        """Return a function that learns from the batches of a stream.

        Parameters
        ----------
        path : str, optional
            Folder on the cluster's file system in which the model is kept, with the number of the
            last batch, so that a query that is started again goes on from it. It belongs to the
            ``checkpointLocation`` of one query. None keeps the model in memory alone.
        numClasses : int, default=2
            Number of classes that will ever come: labels are below it.

        Returns
        -------
        StreamFit
            For ``stream.writeStream.foreachBatch``; its ``model`` is the model so far, learnt by
            :meth:`partialFit`.
        """
        check_online(self, numClasses)
        return StreamFit(self, numClasses, path)

    def _train(self, local: Any, rows: PlacedRows, log: FitLog) -> tuple[()]:
        fit = self._posed(local, rows, log)
        log.doing(f"training by {fit.solver}")
        # An interrupt discards the local estimator, and so the attributes kept in it.
        train(fit, fit.solve_all, lambda fit: local.__dict__.update(fit.attributes()))
        log.report(f"relative gap {local.relative_gap_:.2e} after {local.n_iter_} iterations")
        return ()

    def _posed(self, local: Any, rows: PlacedRows, log: FitLog) -> LinearFit:
        """Pose the problems on placed rows, with the parameters of a local estimator."""
        problems, score = self._problems(local, rows), None
        if rows.validation is not None:
            if local.solver not in ("auto", *ON_BLOCKS):
                raise ValueError(
                    f"`validationIndicatorCol` is for the solvers 'auto', 'newton' and 'dsvrg'; "
                    f"got solver={local.solver!r}."
                )
            score = Validation(
                rows.engine,
                rows.validation.parts,
                rows.validation.summary.rows,
                problems.n_classes,
                problems.constant,
            )
        threads = rows.engine.share(1).threads
        budget = local._training_budget(Budget.of(local, local.random_state, threads))

        def listener(row: Any) -> None:
            log.iteration(row["begun"], row["relative_gap"], row["problem"])

        history = LinearHistory(started=budget.started, listener=listener, score=score)
        return LinearFit(type(self).__name__, problems, local.solver, budget, history)

    @staticmethod
    def _problems(local: Any, rows: PlacedRows) -> LinearProblems:
        totals = rows.summary.weights
        factors = class_factors(local.class_weight, np.arange(len(totals)), totals)
        return LinearProblems(
            engine=rows.engine,
            blocks=rows.parts,
            n_rows=rows.summary.rows,
            n_features=rows.n_features,
            n_classes=len(totals),
            stored_bytes=rows.summary.stored,
            constants=loss_of(local, float(totals.sum())),
            constant=local._constant,
            factors=None if np.all(factors == 1.0) else tuple(factors.tolist()),
        )


@with_keywords
class SparkLinearODMClassifier(LinearClassifier, LinearODMParams):
    r"""Linear ODM on Spark, solved to a certified duality gap.

    The problem of :class:`~widemargin.LinearODMClassifier`, on the rows of a DataFrame; they never
    pass through the driver. Labels are 0, 1, …; more than two are solved one against the rest.

    See Also
    --------
    SparkLinearODMModel : What ``fit`` returns.
    SparkLinearSVMClassifier : The same with the losses of a support vector machine.

    Examples
    --------
    >>> from widemargin.spark import SparkLinearODMClassifier
    >>> model = SparkLinearODMClassifier(C=10.0).fit(frame)                   # doctest: +SKIP
    >>> model.transform(frame).select("prediction")                          # doctest: +SKIP
    """

    _model_class = SparkLinearODMModel

    def __init__(self, **params: Unpack[LinearODMKeywords]) -> None:
        super().__init__(**params)


@with_keywords
class SparkLinearSVMClassifier(LinearClassifier, LinearSVMParams):
    r"""Linear support vector machine on Spark, solved to a certified duality gap.

    The problem of :class:`~widemargin.LinearSVMClassifier`, on the rows of a DataFrame; they never
    pass through the driver. Labels are 0, 1, …; more than two are solved one against the rest.

    See Also
    --------
    SparkLinearSVMModel : What ``fit`` returns.
    SparkLinearODMClassifier : The same with the margin-distribution loss.

    Examples
    --------
    >>> from widemargin.spark import SparkLinearSVMClassifier
    >>> model = SparkLinearSVMClassifier(loss="hinge").fit(frame)             # doctest: +SKIP
    >>> model.transform(frame).select("prediction")                          # doctest: +SKIP
    """

    _model_class = SparkLinearSVMModel

    def __init__(self, **params: Unpack[LinearSVMKeywords]) -> None:
        super().__init__(**params)
