"""What the kernel classifiers share: validation, the fit, prediction."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernel_matrices import check_symmetric, evaluate_callable, weighted_sums
from ..kernels import (
    KERNEL_NAMES,
    Kernel,
    as_rows,
    canonical,
    drop_unused_columns,
    resolve_gamma,
    rounding_of_distances,
)
from ..losses import Array, Loss
from ..problem import KernelProblem, take_rows
from ..progress import FitProgress
from ..resources import memory_bytes, thread_count
from ..solvers import Monitor
from .feature_scales import warn_if_one_feature_dominates
from .fitting import FittedProblem, fit_binary, warn_of_outcomes
from .multiclass import BinaryTask, binary_tasks, votes
from .training_set import TrainingSet, class_weights, training_set

# An RBF value this uncertain in float32 is computed in float64 instead.
FLOAT32_ROUNDING = 1e-5


class KernelMachine(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the kernel classifiers; subclasses add the loss and its parameters."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "degree": [Interval(Integral, 1, 64, closed="both")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "strategy": [StrOptions({"auto", "exact"})],
        "solver": [StrOptions({"auto", "coordinate", "newton"})],
        "multi_class": [StrOptions({"ovr", "ovo"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [None, Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "memory_limit": [str, Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    # Names that subclasses' constructors set; declared for type checkers.
    kernel: Any
    C: float
    gamma: float | str
    degree: int
    coef0: float
    fit_intercept: bool
    strategy: str
    solver: str
    multi_class: str
    decision_function_shape: str
    tol: float
    max_iter: int
    max_time: float | None
    class_weight: Any
    random_state: Any
    n_jobs: int | None
    memory_limit: int | str
    warm_start: bool
    verbose: int

    gamma_: Any

    def _loss(self) -> Loss:
        """Build the loss from the parameters."""
        raise NotImplementedError

    def _row_weight(self, total_weight: float) -> float:
        """Weight of a row of sample weight one."""
        return self.C

    # ---------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows and labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when
            ``kernel="precomputed"``. float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels, of any type that sorts.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._validate_params()
        if self.decision_function_shape == "ovo" and self.multi_class != "ovo":
            raise ValueError(
                "decision_function_shape='ovo' needs pairwise problems; got "
                f"multi_class={self.multi_class!r}. Set multi_class='ovo' too."
            )
        X, y = self._checked_training_data(X, y)
        training = training_set(
            X, y, sample_weight, pairwise=self._pairwise, estimator=type(self).__name__
        )
        previous = self._previous_coefficients(training) if self.warm_start else None
        # The row weight is per unit of sample weight: class weights change emphasis, not scale.
        weights = self._row_weight(float(training.weights.sum())) * training.weights
        weights *= class_weights(self.class_weight, training)
        kernel, rows = self._kernel_and_rows(training.X, training.weights)
        tasks = binary_tasks(training.codes, len(training.classes), self.multi_class)
        coef = np.zeros((len(tasks), len(training.codes)))
        results: list[FittedProblem] = []
        with FitProgress(type(self).__name__, self.tol) as progress:
            monitor = self._monitor(progress)
            try:
                for k, task in enumerate(tasks):
                    start = None if previous is None else previous[k]
                    problem = self._problem(task, rows, kernel, weights)
                    results.append(self._fit_task(problem, task, start, coef[k], monitor))
                    monitor.next_problem()
            except KeyboardInterrupt:  # what is complete is a usable model
                self._set_fitted(training, kernel, coef)
                self._set_outcome(results, len(tasks), monitor)
                raise
        self._set_fitted(training, kernel, coef)
        self._set_outcome(results, len(tasks), monitor)
        warn_of_outcomes(results, self.tol, type(self).__name__)
        return self

    def _problem(
        self, task: BinaryTask, rows: Any, kernel: Kernel, weights: Array
    ) -> KernelProblem:
        taking_part = slice(None) if task.rows is None else task.rows
        return KernelProblem(
            take_rows(rows, task.rows, kernel.name == "precomputed"),
            kernel,
            task.label,
            self._loss().terms(weights[taking_part]),
            thread_count(self.n_jobs),
        )

    def _fit_task(
        self,
        problem: KernelProblem,
        task: BinaryTask,
        previous: Array | None,
        coef: Array,
        monitor: Monitor,
    ) -> FittedProblem:
        """Solve one binary problem and write its coefficients, also when interrupted."""
        taking_part = slice(None) if task.rows is None else task.rows
        start = np.zeros(problem.n_rows)
        if previous is not None:
            start = problem.terms.nearest(previous[taking_part] * task.label)
        try:
            result = fit_binary(problem, start, self.solver, monitor)
        except KeyboardInterrupt:
            if monitor.latest is not None:
                coef[taking_part] = monitor.latest * task.label
            raise
        coef[taking_part] = result.net_dual * task.label
        return result

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _checked_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if isinstance(self.kernel, str) and not self._pairwise else False,
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C",
        )
        check_classification_targets(y)
        if self._pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of shape (n_samples, n_samples); "
                f"got {X.shape}."
            )
        return canonical(X), np.asarray(y)

    def _kernel_and_rows(self, X: Any, weights: Array) -> tuple[Kernel, Any]:
        """Resolve the kernel; return it with the rows it sees."""
        constant = 1.0 if self.fit_intercept else 0.0
        if callable(self.kernel):
            needed = 8 * X.shape[0] ** 2
            if needed > memory_bytes(self.memory_limit):
                raise ValueError(
                    f"A callable kernel needs its whole matrix, {needed / 2**30:.2g} GiB for "
                    f"{X.shape[0]} rows; `memory_limit` is {self.memory_limit!r}. Raise it, use "
                    "fewer rows, or a kernel by name."
                )
            self.gamma_ = None
            gram = evaluate_callable(self.kernel, X, X)
            check_symmetric(gram)
            return Kernel("precomputed", constant=constant), gram
        if self._pairwise:
            self.gamma_ = None
            check_symmetric(X)
            return Kernel("precomputed", constant=constant), X
        self.gamma_ = resolve_gamma(self.gamma, X, weights)
        kernel = Kernel(self.kernel, self.gamma_, float(self.coef0), int(self.degree), constant)
        warn_if_one_feature_dominates(X, self.kernel)
        precise = rounding_of_distances(kernel, X) > FLOAT32_ROUNDING
        (rows,) = drop_unused_columns(X)
        return kernel, rows.astype(np.float64) if precise else rows

    def _monitor(self, progress: FitProgress) -> Monitor:
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

        def listener(iteration: int, gap: float, active: int, rows: int) -> None:
            progress.report(iteration, gap, active, rows)
            if self.verbose and iteration % 10 == 0:
                print(
                    f"[{type(self).__name__}] iteration {iteration}: relative gap {gap:.2e}, "
                    f"{active} of {rows} rows active"
                )

        return Monitor(
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            memory=memory_bytes(self.memory_limit),
            seed=seed,
            listener=listener,
        )

    def _previous_coefficients(self, training: TrainingSet) -> Array | None:
        """Return the last fit's coefficients as (problems, rows), if they fit the new data."""
        if not hasattr(self, "dual_coef_") or self.n_samples_fit_ != training.n_given:
            return None
        if not np.array_equal(training.classes, self.classes_):
            return None
        problems = len(binary_tasks(training.codes, len(self.classes_), self.multi_class))
        if len(self.dual_coef_) != problems:
            return None
        coef = np.zeros((problems, training.n_given))
        coef[:, self.support_] = self.dual_coef_
        return coef if training.kept is None else coef[:, training.kept]

    def _set_fitted(self, training: TrainingSet, kernel: Kernel, coef: Array) -> None:
        support = np.flatnonzero(np.any(coef != 0, axis=0))
        n_classes = len(training.classes)
        self.classes_ = training.classes
        self.support_ = training.given_numbers(support)
        self.support_vectors_ = training.X[support, :0] if self._pairwise else training.X[support]
        self.n_support_ = np.bincount(training.codes[support], minlength=n_classes).astype(np.int32)
        self.dual_coef_ = coef[:, support]
        self.intercept_ = kernel.constant * coef.sum(axis=1) + 0.0  # no -0.0
        self.strategy_ = "exact"
        self.n_samples_fit_ = training.n_given

    def _set_outcome(self, results: list[FittedProblem], n_tasks: int, monitor: Monitor) -> None:
        complete = len(results) == n_tasks
        gaps = [r.certificate.gap for r in results]
        relative = [r.certificate.relative_gap for r in results]
        self.dual_gap_ = float(np.sum(gaps)) if complete else np.nan
        self.relative_gap_ = float(np.max(relative)) if complete else np.nan
        self.history_ = monitor.history()
        begun = int(self.history_["iteration"].max(initial=0))
        self.n_iter_ = max([r.iterations for r in results], default=begun)
        self.converged_ = complete and all(r.outcome.converged for r in results)
        self.solver_ = monitor.solver

    # ------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify; kernel values against all training rows when
            ``kernel="precomputed"``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes; with more, the largest column wins.
            ``decision_function_shape="ovo"`` gives one column per pair instead.
        """
        decisions = self._decisions(X)
        if decisions.shape[1] == 1:
            return np.ravel(decisions)
        if self.multi_class == "ovo" and self.decision_function_shape == "ovr":
            return votes(decisions, len(self.classes_))
        return decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            Labels from ``classes_``.
        """
        decisions = self._decisions(X)
        if decisions.shape[1] == 1:
            return np.asarray(self.classes_[(decisions[:, 0] > 0).astype(np.intp)])
        if self.multi_class == "ovo":
            decisions = votes(decisions, len(self.classes_))
        return np.asarray(self.classes_[np.argmax(decisions, axis=1)])

    def _decisions(self, X: Any) -> Array:
        """Evaluate every binary problem, as (rows, problems)."""
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr" if isinstance(self.kernel, str) and not self._pairwise else False,
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C",
        )
        if self.support_.size == 0:
            values = np.zeros((len(self.dual_coef_), X.shape[0]))
        elif self._pairwise:
            values = weighted_sums(X[:, self.support_], self.dual_coef_)
        elif callable(self.kernel):
            gram = evaluate_callable(self.kernel, X, self.support_vectors_)
            values = weighted_sums(gram, self.dual_coef_)
        else:
            values = self._kernel_decisions(X)
        return np.asarray(values.T + self.intercept_)

    def _kernel_decisions(self, X: Any) -> Array:
        kernel = Kernel(self.kernel, float(self.gamma_), float(self.coef0), int(self.degree))
        basis = self.support_vectors_
        single = X.dtype == basis.dtype == np.float32
        if single and rounding_of_distances(kernel, basis) > FLOAT32_ROUNDING:
            single = False
        dtype = np.float32 if single else np.float64
        X, basis = drop_unused_columns(canonical(X), canonical(basis))
        return kernel.product(
            as_rows(X, dtype),
            as_rows(basis, dtype),
            self.dual_coef_,
            threads=thread_count(self.n_jobs),
        )

    # ------------------------------------------------------------ conventions

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one ``.wm`` file.

        The file holds numbers and text only; reading it with
        :func:`widemargin.load_model` never executes code. An existing file is replaced
        only once the new one is complete.

        Parameters
        ----------
        path : str or path-like
            Where to write.
        """
        from ..persistence import save

        save(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether a fit has come to an end, be it by an interrupt."""
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.input_tags.sparse = isinstance(self.kernel, str) and not self._pairwise
        return tags
