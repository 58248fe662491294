"""What the kernel classifiers share: parameters and the fit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..core.arrays import Array
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import drop_unused_columns, sparse_if_faster
from ..engines import resolve as resolve_engine
from ..kernel.divide.strategies import Strategy
from ..kernel.kernels import Kernel, resolve_gamma, rounding_of_distances
from ..kernel.matrices import check_symmetric, evaluate_callable
from ..kernel.solvers.monitor import Monitor
from .divided import resolve_strategy
from .divided_fit import DividedFit
from .earlier_fit import earlier_fit_kept
from .exact_fit import ExactFit, FitInputs
from .expansion import Expansion, set_expansion
from .feature_scales import warn_if_one_feature_dominates
from .kernel_model import KernelModel
from .kernel_parameters import KernelMachineParameters
from .multiclass import binary_tasks
from .path import fit_path
from .prediction import FLOAT32_ROUNDING
from .resuming import checkpoints_of
from .training_set import TrainingSet, class_weights, training_set
from .validation import ValidationSet, validation_rows


class KernelMachine(KernelModel, KernelMachineParameters):
    """Base of the kernel classifiers; subclasses add the loss and its parameters."""

    gamma_: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Train on rows and labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) when
            ``kernel="precomputed"``. float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels: integers, strings, booleans or whole floats.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.
        X_val, y_val : array-like, optional
            Rows and labels that are not trained on: a divided fit scores the model of each level
            on them and stops at the first level that is no better than the one before.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        with earlier_fit_kept(self):
            X, y = self._checked_training_data(X, y)
            training = training_set(
                X, y, sample_weight, pairwise=self._pairwise, estimator=type(self).__name__
            )
            strategy = resolve_strategy(self.strategy, len(training.codes), type(self).__name__)
            seed = self._seed()
            training, validation = validation_rows(self, strategy, training, X, X_val, y_val, seed)
            inputs = self._fit_inputs(
                training, *self._kernel_and_rows(training.X, training.weights)
            )
            if self.warm_start:
                inputs = replace(inputs, previous=self._previous_coefficients(training))
            with FitProgress(type(self).__name__, self.tol) as progress:
                self._run(inputs, self._fit_of(inputs, strategy, validation, seed, progress))
        return self

    def fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any = None) -> list[Self]:
        """Train one classifier for each of several values of ``C``.

        Costs less than as many fits: the data are prepared once, and the problems are solved in
        ascending order of ``C``, each from the best multiple of the last solution. Every model is
        solved to ``tol`` as by :meth:`fit`. This classifier itself is left as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or their kernel matrix, as for :meth:`fit`.
        y : array-like of shape (n_samples,)
            Class labels.
        Cs : array-like of shape (n_values,)
            Values of ``C``, in any order.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row.

        Returns
        -------
        list of n_values classifiers
            Fitted copies of this one, in the order of ``Cs``. ``max_time`` is for each of them.
        """
        models: list[Self] = fit_path(self, X, y, Cs, sample_weight)
        return models

    def _check_parameters(self) -> None:
        self._validate_params()
        if self.decision_function_shape == "ovo" and self.multi_class != "ovo":
            raise ValueError(
                "decision_function_shape='ovo' needs pairwise problems; got "
                f"multi_class={self.multi_class!r}. Set multi_class='ovo' too."
            )

    def _fit_inputs(self, training: TrainingSet, kernel: Kernel, rows: Any) -> FitInputs:
        # The row weight is per unit of sample weight: class weights change emphasis, not scale.
        weights = self._row_weight(float(training.weights.sum())) * training.weights
        weights *= class_weights(self.class_weight, training)
        return FitInputs(
            estimator=type(self).__name__,
            training=training,
            tasks=binary_tasks(training.codes, len(training.classes), self.multi_class),
            kernel=kernel,
            rows=rows,
            weights=weights,
            loss=self._loss(),
            threads=thread_count(self.n_jobs),
            previous=None,
        )

    def _run(self, inputs: FitInputs, fit: ExactFit | DividedFit) -> None:
        """Solve every binary problem and keep what comes out, also of an interrupt."""
        try:
            fit.fit_problems()
        except KeyboardInterrupt:
            if fit.usable:  # else an earlier fit, or none, is better than nothing
                self._set_fitted(inputs, fit)
            raise
        self._set_fitted(inputs, fit)
        fit.warn()

    def _seed(self) -> int:
        if self.random_state is None and self.checkpoint is not None:
            return 0  # a fit that is to be resumed must make the same choices again
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _fit_of(
        self,
        inputs: FitInputs,
        strategy: Strategy | None,
        validation: ValidationSet | None,
        seed: int,
        progress: FitProgress,
    ) -> ExactFit | DividedFit:
        monitor = self._monitor(progress, seed)
        if strategy is None:
            for name, value in (("checkpoint", self.checkpoint), ("engine", self.engine)):
                if value not in (None, "local"):
                    warnings.warn(
                        f"`{name}` is for a training set that is divided; this one is solved as a "
                        "whole. Set `strategy` to 'sodm' or 'dc', for example.",
                        stacklevel=3,
                    )
            return ExactFit(inputs, monitor, self.solver)
        store = None
        if self.checkpoint is not None:
            store = checkpoints_of(self, inputs, strategy, validation, seed)
        return DividedFit(
            inputs,
            monitor,
            self.solver,
            strategy,
            resolve_engine(self.engine, inputs.threads),
            max_time=self.max_time,
            pairwise=self._pairwise,
            validation=validation,
            checkpoint=store,
            progress=progress,
            verbose=self.verbose,
        )

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
            gram = evaluate_callable(self.kernel, X, X)
            check_symmetric(gram)
            return Kernel("precomputed", constant=constant), gram
        if self._pairwise:
            check_symmetric(X)
            return Kernel("precomputed", constant=constant), X
        gamma = resolve_gamma(self.gamma, X, weights)
        kernel = Kernel(self.kernel, gamma, float(self.coef0), int(self.degree), constant)
        warn_if_one_feature_dominates(X, f"the {self.kernel} kernel sees almost nothing else")
        precise = rounding_of_distances(kernel, X) > FLOAT32_ROUNDING
        (rows,) = drop_unused_columns(sparse_if_faster(X))
        return kernel, rows.astype(np.float64) if precise else rows

    def _monitor(self, progress: FitProgress, seed: int) -> Monitor:
        def listener(iteration: int, gap: float, active: int, rows: int) -> None:
            progress.report(iteration, gap, active, rows)
            if self.verbose and iteration % 10 == 0:
                print(
                    f"[{type(self).__name__}] iteration {iteration}: relative gap {gap:.2e}, "
                    f"{active} of {rows} rows active"
                )

        told = -1

        def counter(what: str, done: int, of: int) -> None:
            nonlocal told
            progress.report_count(what, done, of)
            if self.verbose and done != told:
                print(f"[{type(self).__name__}] {what}: {done} of {of}")
                told = done

        return Monitor(
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            memory=memory_bytes(self.memory_limit),
            seed=seed,
            listener=listener,
            counter=counter,
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

    def _set_fitted(self, inputs: FitInputs, fit: ExactFit | DividedFit) -> None:
        training, coef = inputs.training, fit.coef
        support = np.flatnonzero(np.any(coef != 0, axis=0))
        attributes = fit.attributes()
        part = attributes["support_part_"]
        attributes["support_part_"] = (
            None if part is None else np.ascontiguousarray(part[:, support])
        )
        set_expansion(
            self,
            inputs.kernel,
            Expansion(
                classes=training.classes,
                support=training.given_numbers(support),
                vectors=training.X[support, :0] if self._pairwise else training.X[support],
                codes=training.codes[support],
                coef=coef[:, support],
                n_samples=training.n_given,
            ),
            attributes,
        )
