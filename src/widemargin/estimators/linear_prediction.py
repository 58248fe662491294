"""Prediction with a fitted linear classifier, and its conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Array
from ..core.resources import thread_count
from ..core.rows import canonical
from ..engines import LocalEngine
from .saving import SavableModel

# Stored values that are multiplied at a time: blocks in float64, whatever the rows are in.
BLOCK_VALUES = 1 << 20
ACCEPTED: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}


def decisions_of(X: Any, coef: Array, intercept: Array | float, threads: int = 1) -> Array:
    """Multiply rows with the weights of every problem, block by block; as (rows, problems)."""
    n_rows = X.shape[0]
    out = np.empty((n_rows, len(coef)))
    stored = X.nnz if sp.issparse(X) else X.size
    step = max(1, BLOCK_VALUES * n_rows // max(1, int(stored)))
    columns = np.ascontiguousarray(coef.T)

    def fill(start: int) -> None:
        # Sparse blocks are copies, and dense ones are where they are float32.
        block = X[start : start + step].astype(np.float64, copy=False)
        out[start : start + step] = block @ columns

    LocalEngine(threads).map(list(range(0, n_rows, step)), fill)
    out += intercept
    return out


class LinearModel(SavableModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that multiplies rows with weights: all but the fit."""

    n_jobs: int | None

    def decision_function(self: Any, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify. float32 rows are not copied as a whole.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes; with more, the largest column wins.
        """
        decisions = self._decisions(X)
        return np.ravel(decisions) if decisions.shape[1] == 1 else decisions

    def predict(self: Any, X: Any) -> NDArray[Any]:
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
        return np.asarray(self._labels(self._decisions(X)))

    def _decisions(self: Any, X: Any) -> Array:
        """Evaluate every binary problem, as (rows, problems)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ACCEPTED)
        return decisions_of(X, self.coef_, self.intercept_, thread_count(self.n_jobs))

    def _labels(self: Any, decisions: Array) -> NDArray[Any]:
        if decisions.shape[1] == 1:
            return np.asarray(self.classes_[(decisions[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes_[np.argmax(decisions, axis=1)])

    def _checked_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, **ACCEPTED)
        check_classification_targets(y)
        return canonical(X), np.asarray(y)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether a fit has come to an end, be it by an interrupt."""
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
