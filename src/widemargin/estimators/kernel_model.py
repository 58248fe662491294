"""What all kernel classifiers share but the fit: checks, prediction, files, conventions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.rows import canonical
from .compressed import compressed
from .prediction import KernelPrediction
from .saving import SavableModel


class KernelModel(KernelPrediction, SavableModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that sums kernel values with its support vectors."""

    kernel: Any
    random_state: Any

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _accepted(self) -> dict[str, Any]:
        """Say which forms of X the kernel takes, as scikit-learn's validation asks it."""
        sparse = isinstance(self.kernel, str) and not self._pairwise
        return {
            "accept_sparse": "csr" if sparse else False,
            "accept_large_sparse": True,
            "dtype": [np.float64, np.float32],
        }

    def _checked_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(
            self,
            X,
            y,
            **self._accepted(),
            order="C",
        )
        check_classification_targets(y)
        if self._pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of shape (n_samples, n_samples); "
                f"got {X.shape}."
            )
        return canonical(X), np.asarray(y)

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
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        small: Self = compressed(self, n_basis, seed)
        return small

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether a fit has come to an end, be it by an interrupt."""
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.input_tags.sparse = isinstance(self.kernel, str) and not self._pairwise
        return tags
