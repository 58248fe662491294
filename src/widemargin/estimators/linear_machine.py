"""What the linear classifiers share: parameters and the fit."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import as_rows, canonical
from ..linear.problem import LossConstants
from ..linear.solvers import SolverOptions, refuse
from .linear_divided import fit_on_engine
from .linear_fit import LinearFit, LinearInputs, LinearSettings
from .linear_parameters import LinearMachineParameters
from .linear_path import fit_path
from .linear_prediction import ACCEPTED, LinearModel
from .linear_streaming import fit_stream, partial_fit
from .linear_validation import LinearValidation
from .training_set import (
    UNEVEN_PENALTY,
    TrainingSet,
    class_weights,
    earlier_fit_kept,
    training_set,
    warn_if_one_feature_dominates,
)
from .validation import codes_of, hold_out


class LinearMachine(LinearModel, LinearMachineParameters):
    """Base of the linear classifiers; subclasses add the loss and its parameters."""

    _persisted_private: ClassVar[tuple[str, ...]] = ("_learnt_constant",)

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
            Training rows. float32 stays float32, and rows in C order or CSR are not copied.
        y : array-like of shape (n_samples,)
            Class labels: integers, strings, booleans or whole floats.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row; rows of weight zero are left out.
        X_val, y_val : array-like, optional
            Rows and labels that are not trained on; they choose the iterate, in place of rows
            kept out by ``validation_fraction``.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        with earlier_fit_kept(self):
            X, y = self._checked_training_data(X, y)
            training = training_set(
                X, y, sample_weight, pairwise=False, estimator=type(self).__name__
            )
            seed = self._seed()
            training, validation = self._validation(training, X, X_val, y_val, seed)
            inputs = replace(self._inputs(training), validation=validation)
            if self.warm_start:
                inputs = replace(inputs, start=self._previous_weights(training.classes))
            if not self._local:
                fit_on_engine(self, inputs, training.classes, seed)
                return self
            with FitProgress(type(self).__name__, self.tol) as progress:
                self._run(LinearFit(inputs, self._settings(seed, progress)), training.classes)
        return self

    def fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any = None) -> list[Self]:
        """Train one classifier for each of several values of ``C``.

        Costs less than as many fits: the data are prepared once, and the problems are solved in
        ascending order of ``C``, each from the last solution. Every model is solved to ``tol`` as
        by :meth:`fit`. This classifier itself is left as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
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
        self._refuse_engine("fit_path")
        models: list[Self] = fit_path(self, X, y, Cs, sample_weight)
        return models

    def fit_stream(
        self,
        batches: Any,
        classes: ArrayLike | None = None,
        *,
        n_features: int | None = None,
        spool_dir: str | PathLike[str] | None = None,
    ) -> Self:
        """Train on rows that do not fit into memory.

        The rows are written to a temporary folder once, block by block, and the solver reads them
        from there as often as it needs. It is the same problem, and the same certified gap, as
        that of :meth:`fit`; memory is needed for a few numbers per row only.

        Parameters
        ----------
        batches : iterable, path-like, tuple or callable
            Tuples ``(X, y)`` or ``(X, y, sample_weight)``, gone through once; or the path of a
            LIBSVM, CSV, TSV, Parquet or NPZ file; or one such tuple of arrays, mapped ones not
            being copied. See :func:`widemargin.data.spool`.
        classes : array-like, optional
            All labels that may occur; any other is an error. None takes those that do occur.
        n_features : int, optional
            Number of features required; None takes what there is.
        spool_dir : path-like, optional
            Folder for the temporary one; None is the system's. As much space is needed as the rows
            take in memory.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._refuse_engine("fit_stream")
        with earlier_fit_kept(self):
            fit_stream(self, batches, classes, n_features=n_features, spool_dir=spool_dir)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Go on learning from some rows, which are not kept.

        What earlier rows say is remembered by the second-order expansion of their loss at the
        weights they led to: a matrix per binary problem, or its diagonal beyond 1,000 features.
        The new weights minimise this plus the loss of the new rows. They approach the optimum over
        all rows seen, each weighing ``C``, but nothing certifies how far they are from it:
        ``relative_gap_`` is NaN. The hinge is smoothed. A row passed twice counts twice.

        A first call, also after :meth:`fit`, begins anew. Larger batches learn better than single
        rows, and faster; batches that each hold one class only learn worse.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, optional
            All labels that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row.

        Returns
        -------
        self : object
            The classifier after these rows.
        """
        self._refuse_engine("partial_fit")
        with earlier_fit_kept(self):
            partial_fit(self, X, y, classes, sample_weight)
        return self

    @property
    def _local(self) -> bool:
        return isinstance(self.engine, str) and self.engine == "local"

    def _refuse_engine(self, method: str) -> None:
        if not self._local:
            raise ValueError(
                f"`{method}` works in this process alone; got engine={self.engine!r}. Set "
                "engine='local', or use `fit`."
            )

    def _check_parameters(self) -> None:
        self._validate_params()
        if not self._local and self.validation_fraction is not None:
            raise ValueError(
                "`validation_fraction` is for engine='local' alone; got it with "
                f"engine={self.engine!r}. Leave it out."
            )
        refuse(self.solver, smooth=LossConstants.of(self._loss(), 1.0).smooth)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _validation(
        self, training: TrainingSet, X: Any, X_val: Any, y_val: Any, seed: int
    ) -> tuple[TrainingSet, LinearValidation | None]:
        """Settle the validation rows: given, kept out of the training rows, or none."""
        if X_val is None and y_val is None:
            if self.validation_fraction is None:
                return training, None
            training, X_val, codes = hold_out(
                training, X, float(self.validation_fraction), seed, pairwise=False
            )
        elif X_val is None or y_val is None:
            raise ValueError("X_val and y_val go together; got only one of them.")
        elif self.validation_fraction is not None:
            raise ValueError(
                "X_val and y_val take the place of rows kept out; validation_fraction="
                f"{self.validation_fraction} is set too. Give one of them."
            )
        else:
            X_val, y_val = validate_data(self, X_val, y_val, reset=False, **ACCEPTED)
            codes = codes_of(y_val, training)
        n_classes, constant = len(training.classes), self._constant
        return training, LinearValidation(canonical(X_val), codes, n_classes, constant)

    def _inputs(self, training: TrainingSet) -> LinearInputs:
        warn_if_one_feature_dominates(training.X, UNEVEN_PENALTY)
        weights: Array | None = training.weights * class_weights(self.class_weight, training)
        # The row weight is per unit of sample weight: class weights change emphasis, not scale.
        row_weight = self._row_weight(float(training.weights.sum()))
        if np.all(weights == 1.0):
            weights = None
        return self._inputs_of(training.X, training.codes, training.classes, weights, row_weight)

    def _inputs_of(
        self,
        X: Any,
        codes: NDArray[Any],
        classes: NDArray[Any],
        weights: Array | None,
        row_weight: float,
    ) -> LinearInputs:
        return LinearInputs(
            estimator=type(self).__name__,
            X=X,
            rows=as_rows(X),
            codes=codes,
            n_classes=len(classes),
            constants=LossConstants.of(self._loss(), row_weight),
            weights=weights,
            constant=self._constant,
            threads=thread_count(self.n_jobs),
            memory=memory_bytes(self.memory_limit),
        )

    def _settings(self, seed: int, progress: FitProgress) -> LinearSettings:
        name = type(self).__name__

        def listener(iteration: int, gap: float) -> None:
            progress.report(iteration, gap)
            if self.verbose:
                print(f"[{name}] iteration {iteration}: relative gap {gap:.2e}")

        told = -1

        def counter(done: int, of: int) -> None:
            nonlocal told
            progress.report_count("binary problems", done, of)
            if self.verbose and done != told:
                print(f"[{name}] binary problems: {done} of {of}")
                told = done

        return LinearSettings(
            solver=self.solver,
            options=SolverOptions(self.n_parts, self.batch_size),
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            seed=seed,
            listener=listener,
            counter=counter,
        )

    def _run(self, fit: LinearFit, classes: NDArray[Any]) -> None:
        """Solve every binary problem and keep what comes out, also of an interrupt."""
        try:
            fit.fit_problems()
        except KeyboardInterrupt:
            if fit.usable:  # else an earlier fit, or none, is better than nothing
                self._set_fitted(fit, classes)
            raise
        self._set_fitted(fit, classes)
        fit.warn()

    def _set_fitted(self, fit: LinearFit, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        for learnt in (
            "curvature_",
            "n_samples_seen_",
            "_learnt_constant",
        ):  # of `partial_fit`, which this ends
            if hasattr(self, learnt):
                delattr(self, learnt)
        for name, value in fit.attributes().items():
            setattr(self, name, value)

    def _previous_weights(self, classes: NDArray[Any]) -> Array | None:
        """Return the last fit's weights as (problems, size), if they fit the new data."""
        if not hasattr(self, "coef_") or not np.array_equal(classes, self.classes_):
            return None
        if self.coef_.shape[1] != self.n_features_in_:
            return None
        if not self.fit_intercept:
            return np.asarray(self.coef_)
        return np.column_stack([self.coef_, self.intercept_ / self.intercept_scaling])
