"""Linear classifiers that learn all classes in one problem: parameters, fit, fitted attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.blocks import RowBlock
from ..core.budget import Budget, seed_of
from ..core.fit import train
from ..core.merging import merged_if_many
from ..core.parameters import with_parameters
from ..core.progress import FitProgress
from ..core.resources import thread_count
from ..core.training_set import TrainingSet, class_factors, earlier_fit_kept
from ..core.uneven_scales import UNEVEN_PENALTY, warn_if_few_features_dominate
from ..engines import Engine, LocalEngine
from ..multiclass.fit import MulticlassFit, choose, in_canonical_order
from ..multiclass.problem import MulticlassObjective, MulticlassProblem, StoredWeights
from .held_out import FoldedRows, decisions_by_refits
from .multiclass_svm_prediction import MulticlassPredictor
from .parameters import ConstantFeature, FitParameters, WeightedLoss
from .probabilities import Probabilities


@with_parameters
class MulticlassMachine(
    MulticlassPredictor, Probabilities, ConstantFeature, FitParameters, WeightedLoss
):
    """Base of the linear classifiers of all classes at once; subclasses add the loss.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Orders the rows that are visited; the solution differs within ``tol`` only. None is a
        fixed seed: the same data give the same model every time.
    memory_limit : int or str, default='1GiB'
        Bytes for weights, or a size such as '500MB': beyond half of it they are kept sparsely from
        the start.
    warm_start : bool, default=False
        Keep the multipliers, and start the next fit from them if it has as many rows and classes.

    Attributes
    ----------
    coef_ : array or CSR array of shape (n_classes, n_features) or (1, n_features)
        Weights; sparse where at most a quarter of them differs from zero. Two classes have one
        row, :math:`w_1 - w_0`.
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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"warm_start": ["boolean"]}
    _fit_class: ClassVar[type[MulticlassFit]] = MulticlassFit

    solver: str = "auto"
    max_iter: int = 10_000
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
            engine = self._engine()
            with FitProgress(name, self.tol) as progress, self._released(engine):
                budget = Budget.of(self, seed_of(self.random_state))
                distinct = training
                if self._on_own_threads:
                    distinct = merged_if_many(training, budget.memory, budget.threads)
                problem = self._pose(distinct, engine)
                solver = choose(self.solver, problem, budget.memory)
                listener = partial(self._show, progress)
                start = self._earlier if self.warm_start else None
                own = self._training_budget(budget)
                fit = self._fit_class(name, problem, solver, own, listener, start)

                train(fit, fit.run, lambda fit: self._set_fitted(fit, training.classes))
            if self.calibrate is not None:
                self._calibrate(training, budget)
        return self

    def _engine(self) -> Engine:
        """Return where the work is done: threads of this process."""
        return LocalEngine(thread_count(self.n_jobs))

    @property
    def _on_own_threads(self) -> bool:
        """Whether the engine is the threads of this process, by its name."""
        return True

    def _calibrate(self, training: TrainingSet, budget: Budget) -> None:
        """Calibrate the fitted classifier by folds of its training set."""
        folded = FoldedRows.of(training, pairwise=False)
        held = decisions_by_refits(self, folded, budget)
        scheme = "binary" if self.coef_.shape[0] == 1 else "margins"
        self._set_calibration(scheme, held, training)

    def _pose(self, training: TrainingSet, engine: Engine) -> MulticlassProblem:
        given = RowBlock("all", training.X, training.codes.astype(np.int32), training.weights)
        block = in_canonical_order(given)
        totals = np.bincount(block.codes, block.weight, len(training.classes)).astype(np.float64)
        objective = objective_of(self, int(block.X.shape[1]), training.classes, totals)
        return MulticlassProblem.of_block(objective, engine, block, in_canonical_order=True)

    @contextmanager
    def _released(self, engine: Engine) -> Iterator[None]:
        """Free what an engine keeps that was made for this fit alone."""
        yield

    def _check_parameters(self) -> None:
        self._validate_params()

    def _formulation(self) -> dict[str, Any]:
        """Return the formulation of the objective, and the parameters that it has of its own."""
        raise NotImplementedError

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
        for name, value in fit.attributes(give_away=not self.warm_start).items():
            setattr(self, name, value)
        self._duals = fit.found.duals if self.warm_start else None
        self._weights = fit.found.weights if self.warm_start else None


def objective_of(
    estimator: MulticlassMachine, n_features: int, classes: NDArray[Any], totals: Array
) -> MulticlassObjective:
    """Return what an estimator minimises, given the total weight of each class."""
    factors = class_factors(estimator.class_weight, classes, totals)
    return MulticlassObjective(
        n_features,
        len(classes),
        C=float(estimator._row_weight(float(totals.sum()))),
        class_factors=None if estimator.class_weight is None else tuple(factors.tolist()),
        constant=estimator._constant,
        **estimator._formulation(),
    )
