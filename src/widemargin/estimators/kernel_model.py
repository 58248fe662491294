"""Base of all fitted kernel classifiers: checks of rows, prediction, compression, files."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Array
from ..core.budget import seed_of
from ..core.rows import canonical
from ..kernel.kernels import is_precomputed
from ..kernel.model.compression import compressed
from ..kernel.model.prediction import decisions, labels, votes
from .saving import SavableModel


class KernelModel(SavableModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that sums kernel values with its support vectors."""

    kernel: Any
    multi_class: str
    decision_function_shape: str
    random_state: Any
    classes_: NDArray[Any]

    @property
    def _pairwise(self) -> bool:
        return is_precomputed(self)

    def _accepted(self) -> dict[str, Any]:
        """Return the forms of X that the kernel takes, as arguments of the validation."""
        sparse = isinstance(self.kernel, str) and not self._pairwise
        return {
            "accept_sparse": "csr" if sparse else False,
            "accept_large_sparse": True,
            "dtype": [np.float64, np.float32],
        }

    def _checked_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, **self._accepted(), order="C")
        check_classification_targets(y)
        if self._pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of shape (n_samples, n_samples); "
                f"got {X.shape}."
            )
        return canonical(X), np.asarray(y)

    def _decisions(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._accepted(), order="C")
        return decisions(self, X)

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
        values = self._decisions(X)
        if values.shape[1] == 1:
            return np.ravel(values)
        if self.multi_class == "ovo" and self.decision_function_shape == "ovr":
            return votes(values, len(self.classes_))
        return values

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
        return labels(self, self._decisions(X))

    def compress(self, n_basis: int) -> Self:
        """Return a fitted classifier that decides alike on fewer points.

        Prediction costs one kernel value per point, so that 2,000 points instead of 40,000 support
        vectors are twenty times faster. How much was lost is in ``compression_``.

        Parameters
        ----------
        n_basis : int
            Points to keep, at most the number of support vectors; fewer are kept where the kernel
            cannot tell more apart.

        Returns
        -------
        object
            A new estimator of the same class and parameters, on some of the support vectors. Its
            gaps are NaN, and ``compression_`` holds n_basis, n_support_before, error (root mean
            square over the support vectors, relative), largest_error, and same_labels (share of
            the support vectors that are classified as before).
        """
        check_is_fitted(self)
        small: Self = compressed(self, n_basis, seed_of(self.random_state))
        return small

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has ended, if only by an interrupt."""
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.input_tags.sparse = isinstance(self.kernel, str) and not self._pairwise
        return tags
