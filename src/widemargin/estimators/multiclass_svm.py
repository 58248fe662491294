"""Support vector machines that learn several classes in one problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from ..core.arrays import Array
from ..core.blocks import RowBlock
from ..core.budget import Budget, seed_of
from ..core.fit import train
from ..core.merging import merged_if_many
from ..core.parameters import with_parameters
from ..core.progress import FitProgress
from ..core.resources import thread_count
from ..core.training_set import (
    TrainingSet,
    class_factors,
    earlier_fit_kept,
)
from ..core.uneven_scales import UNEVEN_PENALTY, warn_if_few_features_dominate
from ..engines import ENGINES, Engine, resolve
from ..multiclass.fit import (
    MulticlassFit,
    choose,
    in_canonical_order,
)
from ..multiclass.problem import (
    FORMULATIONS,
    MulticlassObjective,
    MulticlassProblem,
    StoredWeights,
)
from ..multiclass.solvers import SOLVERS, refuse
from .held_out import FoldedRows, decisions_by_refits
from .multiclass_svm_prediction import MulticlassPredictor
from .parameters import ConstantFeature, FitParameters, WeightedLoss
from .probabilities import Probabilities


@with_parameters
class MulticlassSVMClassifier(
    MulticlassPredictor, Probabilities, ConstantFeature, FitParameters, WeightedLoss
):
    r"""Linear support vector machine with one weight vector per class, all learnt together.

    Minimises :math:`\tfrac12 \sum_c \lVert w_c \rVert^2` plus ``C`` times the loss of every row,
    and predicts the class with the largest :math:`w_c^\top x`. The fit is exact: it ends with a
    duality gap of at most ``tol``, or warns that it did not.

    Parameters
    ----------
    formulation : {'ww', 'llw', 'cs', 'ovr'}, default='ww'
        The loss of a row :math:`x` of class :math:`y`:

        - 'ww' (Weston and Watkins): :math:`\sum_{c \ne y} (1 - w_y^\top x + w_c^\top x)_+`
        - 'cs' (Crammer and Singer): the largest of these terms instead of their sum
        - 'llw' (Lee, Lin and Wahba): :math:`\sum_{c \ne y} (1 + w_c^\top x)_+`, and
          :math:`\sum_c w_c = 0`
        - 'ovr' (one against the rest): :math:`(1 - w_y^\top x)_+ + \sum_{c \ne y}
          (1 + w_c^\top x)_+`, a problem for every class
    solver : str, default='auto'
        'auto', or one of these:

        - 'dual' visits the rows one by one and solves for all of their classes at once.
        - 'proximal', for 'ww', 'cs' and 'llw', accelerates that where ``C`` is large and features
          are many; 'auto' chooses it for 'llw'.
        - 'newton', for 'ww' and 'llw', takes second-order steps in all weights; 'auto' chooses it
          where ``C`` is large and weights are few.
        - 'blocks' visits the rows of several parts at the same time, and combines what they found
          after every pass: for engines with rows elsewhere, where 'auto' chooses it for large sets.
        - 'tournament', for 'ww', visits rows for bundles of classes that meet in pairs, several
          pairs at the same time.
        - 'printed' is the published algorithm, to be cited and compared with: for 'ww' a
          tournament of single classes, one multiplier at a time, and for 'llw' a mean of all
          classes that is updated ten times in an epoch, which hardly converges.
    max_iter : int, default=10000
        Epochs, Newton steps, or passes of 'blocks' allowed.
    random_state : int, RandomState instance or None, default=None
        Orders the rows that are visited; the solution differs within ``tol`` only. None is a
        fixed seed: the same data give the same model every time.
    memory_limit : int or str, default='1GiB'
        Bytes for weights, or a size such as '500MB': beyond half of it they are kept sparsely from
        the start.
    engine : {'local', 'spark'} or Engine, default='local'
        Where the work is done: threads of this process, a Spark cluster, or any object with the
        verbs of :class:`widemargin.engines.Engine`. Other engines receive the rows in blocks once;
        'blocks', 'tournament' and 'newton' leave them there, the other solvers bring them into one
        task, as 'auto' does with sets of up to 256 MiB. The model is the same.
    warm_start : bool, default=False
        Keep the multipliers, and start the next fit from them if it has as many rows and classes.

    Attributes
    ----------
    coef_ : array or CSR array of shape (n_classes, n_features) or (1, n_features)
        Weights; sparse where at most a quarter of them differs from zero. Two classes have one
        row, :math:`w_1 - w_0` ('ovr': half of it, the one binary machine that both are).
    intercept_ : array of shape (n_classes,) or (1,)
        Added to the decisions; zero without ``fit_intercept``.
    density_ : float
        Share of ``coef_`` that is not zero.
    dual_gap_, relative_gap_ : float
        Duality gap, and the gap divided by the objective; NaN after an interrupt.
    converged_ : bool
        Whether the relative gap is within ``tol``.
    n_iter_ : int
        Epochs, Newton steps or passes.
    solver_ : str
        What 'auto' chose.
    history_ : dict of arrays
        Per certificate: iteration, seconds, primal, dual, relative_gap; of 'tournament' and
        'blocks' on another engine also bytes_moved, of weights and multipliers so far.

    See Also
    --------
    LinearSVMClassifier : One binary problem per class, with streams, paths and more losses.
    SVMClassifier : The same with a kernel.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    In sets of up to a million stored values, equal rows of a class are merged and the rows sorted:
    there the model depends neither on the order in which rows are given, nor
    on whether a row is given twice or with twice the weight. In larger ones it does within ``tol``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widemargin import MulticlassSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MulticlassSVMClassifier("ww", C=0.01).fit(X / 16, y)
    >>> bool(model.relative_gap_ < 1e-3)
    True
    >>> model.predict_top_k(X[:2] / 16, 3).shape
    (2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "formulation": [StrOptions(set(FORMULATIONS))],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "engine": [StrOptions(set(ENGINES)), Engine],
        "warm_start": ["boolean"],
    }

    formulation: str = field(default="ww", kw_only=False)
    solver: str = "auto"
    max_iter: int = 10_000
    engine: Any = "local"
    warm_start: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows and labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows. float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels: integers, strings, booleans or whole floats.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        with earlier_fit_kept(self):
            _, training = self._training_set(X, y, sample_weight)
            name = type(self).__name__
            names = getattr(self, "feature_names_in_", None)
            warn_if_few_features_dominate(training.X, UNEVEN_PENALTY, names)
            engine = resolve(self.engine, thread_count(self.n_jobs))
            with FitProgress(name, self.tol) as progress, self._released(engine):
                budget = Budget.of(self, seed_of(self.random_state))
                distinct = training
                if isinstance(self.engine, str) and self.engine == "local":
                    distinct = merged_if_many(training, budget.memory, budget.threads)
                problem = self._pose(distinct, engine)
                solver = choose(self.solver, problem, budget.memory)
                listener = partial(self._show, progress)
                start = self._earlier if self.warm_start else None
                own = self._training_budget(budget)
                fit = MulticlassFit(name, problem, solver, own, listener, start)

                train(fit, fit.run, lambda fit: self._set_fitted(fit, training.classes))
            if self.calibrate is not None:
                self._calibrate(training, budget)
        return self

    def _calibrate(self, training: TrainingSet, budget: Budget) -> None:
        """Calibrate the fitted classifier by folds of its training set."""
        folded = FoldedRows.of(training, pairwise=False)
        held = decisions_by_refits(self, folded, budget)
        scheme = "binary" if self.coef_.shape[0] == 1 else "margins"
        self._set_calibration(scheme, held, training)

    def _pose(self, training: TrainingSet, engine: Engine) -> MulticlassProblem:
        if self.warm_start and not engine.in_process:
            raise ValueError(
                "`warm_start` works in this process alone, where multipliers are kept; got "
                f"engine={self.engine!r}. Set engine='local' or warm_start=False."
            )
        given = RowBlock("all", training.X, training.codes.astype(np.int32), training.weights)
        block = in_canonical_order(given)
        totals = np.bincount(block.codes, block.weight, len(training.classes)).astype(np.float64)
        objective = objective_of(self, int(block.X.shape[1]), training.classes, totals)
        return MulticlassProblem.of_block(objective, engine, block, in_canonical_order=True)

    @contextmanager
    def _released(self, engine: Engine) -> Iterator[None]:
        """Free what an engine keeps that was made for this fit alone."""
        try:
            yield
        finally:
            if isinstance(self.engine, str) and not engine.in_process:
                engine.release()

    def _check_parameters(self) -> None:
        self._validate_params()
        refuse(self.solver, self.formulation)
        if self.warm_start and self.solver == "blocks":
            raise ValueError(
                "`warm_start` needs multipliers, which solver='blocks' leaves with the rows. Use "
                "another solver, or warm_start=False."
            )

    def _show(self, progress: FitProgress, row: Mapping[str, Any]) -> None:
        iteration, gap = row["iteration"], row["relative_gap"]
        progress.report(iteration, gap)
        if self.verbose:
            print(f"[{type(self).__name__}] iteration {iteration}: relative gap {gap:.2e}")

    @property
    def _earlier(self) -> StoredWeights | None:
        """The solution of an earlier fit, if it was kept."""
        duals = getattr(self, "_duals", None)
        return None if duals is None else StoredWeights(self._weights, duals)

    def _set_fitted(self, fit: MulticlassFit, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self.__dict__.pop("calibration_", None)  # of an earlier fit
        for name, value in fit.attributes().items():
            setattr(self, name, value)
        self._duals = fit.found.duals if self.warm_start else None
        self._weights = fit.found.weights if self.warm_start else None


def objective_of(
    estimator: MulticlassSVMClassifier, n_features: int, classes: NDArray[Any], totals: Array
) -> MulticlassObjective:
    """Return what an estimator minimises, given the total weight of each class."""
    factors = class_factors(estimator.class_weight, classes, totals)
    return MulticlassObjective(
        n_features,
        len(classes),
        estimator.formulation,
        float(estimator.C),
        None if estimator.class_weight is None else tuple(factors.tolist()),
        float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0,
    )
