"""Kernel models that can be put on fewer points."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ..core.budget import seed_of
from ..kernel.model.basis_refit import RowsToFit
from ..kernel.model.compressed_model import compressed


class Compressible:
    """A classifier or regressor that sums kernel values with its support vectors."""

    random_state: Any
    compression_: dict[str, Any]

    def compress(
        self, n_basis: int, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Return a fitted model that decides or predicts alike on fewer points.

        Prediction costs one kernel value per point, so that 2,000 points instead of 40,000 support
        vectors are twenty times faster. How much was lost is in ``compression_``.

        Given training rows, the coefficients are those that minimise the model's objective on
        them, instead of the distance to its decisions. That needs fewer points for the same
        accuracy, and may be better than the model as it was where this is a mean or has clusters.

        Parameters
        ----------
        n_basis : int
            Points to keep, at most the number of support vectors; fewer are kept where the kernel
            cannot tell more apart.
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows to fit the coefficients to: the training rows or some of them, drawn at random,
            which then stand for all. They are read in blocks; a memory map stays on disk.
        y : array-like of shape (n_rows,), optional
            Their labels or targets.
        sample_weight : array-like of shape (n_rows,), optional
            Their weights.

        Returns
        -------
        object
            A new estimator of the same class and parameters, on some of the support vectors. Its
            gaps are NaN, and ``compression_`` holds n_basis, n_support_before, error (root mean
            square over the support vectors, relative to decisions without the intercept),
            largest_error, and of classifiers same_labels (share of the support vectors that are
            classified as before); with rows also n_rows, n_iter and
            converged (of Newton's method).
        """
        check_is_fitted(self)
        rows = None
        if X is not None or y is not None:
            rows = self._rows_to_fit(X, y, sample_weight)
        elif sample_weight is not None:
            raise ValueError("`sample_weight` goes with X and y; got it alone.")
        small: Self = compressed(self, n_basis, seed_of(self.random_state), rows_to_fit=rows)
        return small

    @abstractmethod
    def _rows_to_fit(self, X: Any, y: Any, sample_weight: Any) -> RowsToFit:
        """Pose the problems on rows, for a model that is fitted."""
