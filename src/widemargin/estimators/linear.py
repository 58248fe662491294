"""The linear classifiers, ODM and SVM, and the ways to train them."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.parameters import with_parameters
from ..core.rows import canonical
from ..core.training_set import TrainingSet, earlier_fit_kept
from ..linear.model import Validation
from .linear_fit import budget_of, calibrate_linear, fit_path, posed, set_fitted, train_linear
from .linear_model import LinearMachineParameters, LinearPredictor
from .linear_streaming import fit_stream, partial_fit
from .parameters import SquaredHingeLoss, WeightedMarginDistributionLoss
from .path import FitsPaths
from .validation import codes_of, hold_out


def _keeps_no_rows(estimator: Any) -> bool:
    """Return true if an estimator can learn from rows that are not kept."""
    if estimator.calibrate is not None:
        raise AttributeError(
            "`partial_fit` keeps no rows, and so cannot calibrate on rows left out; got "
            f"calibrate={estimator.calibrate!r}. Set calibrate=None, or calibrate the fitted model "
            "on rows it has not seen, by sklearn.calibration.CalibratedClassifierCV("
            "FrozenEstimator(model))."
        )
    return True


class LinearMachine(FitsPaths, LinearPredictor, LinearMachineParameters):
    """Base of the linear classifiers; subclasses add the loss and its parameters."""

    _persisted_private: ClassVar[tuple[str, ...]] = ("_learnt_constant",)

    curvature_: Array
    n_samples_seen_: int

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
            X, training = self._training_set(X, y, sample_weight)
            seed = self._seed()
            training, validation = self._validation(training, X, X_val, y_val, seed)
            problems = posed(self, training, seed)
            start = self._previous_weights(training.classes) if self.warm_start else None
            budget = budget_of(self, problems, seed)
            try:
                keep = partial(set_fitted, self, training.classes)
                own = self._training_budget(budget)
                train_linear(self, problems, keep, own, score=validation, start=start)
            finally:
                if isinstance(self.engine, str):  # made for this fit, without others' parts
                    problems.engine.release()
            if self.calibrate is not None:
                calibrate_linear(self, training, budget, validation)
        return self

    def _fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Self]:
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

    @available_if(_keeps_no_rows)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Go on learning from some rows, which are not kept.

        What earlier rows say is remembered by the second-order expansion of their loss at the
        weights they led to: a matrix per binary problem, or its diagonal beyond 1,000 features.
        The new weights minimise this plus the loss of the new rows. They approach the optimum over
        all rows seen, each weighing ``C``, but nothing certifies how far they are from it:
        ``relative_gap_`` is NaN. The hinge is smoothed. A row passed twice counts twice.

        A first call, also after :meth:`fit`, starts from nothing. Larger batches learn better than
        single rows, and faster; batches that each hold one class only learn worse.

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

    def _check_parameters(self) -> None:
        self._validate_params()
        if not self._local and self.validation_fraction is not None:
            raise ValueError(
                "`validation_fraction` is for engine='local' alone; got it with "
                f"engine={self.engine!r}. Leave it out."
            )
        self._refuse_solver()

    def _validation(
        self, training: TrainingSet, X: Any, X_val: Any, y_val: Any, seed: int
    ) -> tuple[TrainingSet, Validation | None]:
        """Return the rows to train on, and those to validate by, if there are any."""
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
            X_val, y_val = validate_data(self, X_val, y_val, reset=False, **self._accepted())
            codes = codes_of(y_val, training)
        return training, Validation.in_memory(
            canonical(X_val), codes, len(training.classes), self._constant
        )

    def _previous_weights(self, classes: NDArray[Any]) -> Array | None:
        """Return the last fit's weights as (problems, size), if they fit the new data."""
        if not hasattr(self, "coef_") or not np.array_equal(classes, self.classes_):
            return None
        if self.coef_.shape[1] != self.n_features_in_:
            return None
        if not self.fit_intercept:
            return np.asarray(self.coef_)
        return np.column_stack([self.coef_, self.intercept_ / self.intercept_scaling])


@with_parameters
class LinearODMClassifier(LinearMachine, WeightedMarginDistributionLoss):
    r"""Linear classifier that optimises the distribution of margins.

    The Optimal margin Distribution Machine without a kernel, solved in the primal: costs grow with
    the stored values of the rows, not with the square of their number.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + \tfrac{C}{2} \sum_i v_i \left[
              (1 - \theta - m_i)_+^2 + \upsilon\,(m_i - 1 - \theta)_+^2 \right],
              \qquad m_i = y_i\, w^\top x_i.

    The fit ends when the duality gap, relative to the objective, is at most ``tol``. There is no
    step size to choose.

    See Also
    --------
    LinearSVMClassifier : The same with the losses of a support vector machine.
    ODMClassifier : The same with a kernel.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import LinearODMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearODMClassifier()).fit(X, y)
    >>> bool(model[-1].relative_gap_ < 1e-3)
    True
    """


@with_parameters
class LinearSVMClassifier(LinearMachine, SquaredHingeLoss):
    r"""Linear support vector machine, solved to a certified duality gap.

    .. math:: \min_w \tfrac12 \lVert w \rVert^2 + C \sum_i v_i\, (1 - m_i)_+^q,
              \qquad m_i = y_i\, w^\top x_i,

    with q = 1 (hinge) or 2 (squared hinge): the problems of :class:`sklearn.svm.LinearSVC`, with
    the same constants.

    See Also
    --------
    LinearODMClassifier : The same with the margin-distribution loss.
    SVMClassifier : The same with a kernel.
    sklearn.svm.LinearSVC : LIBLINEAR's solver of the same problems.

    Notes
    -----
    Scale the features first: the penalty treats all weights alike.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVMClassifier().fit(X, y).score(X, y) > 0.9
    True
    """
