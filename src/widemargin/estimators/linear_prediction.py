"""Prediction with a fitted linear classifier, and its conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Array
from ..core.resources import thread_count
from ..core.rows import canonical
from ..linear.model import decisions_of
from .saving import SavableModel

ACCEPTED: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}


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
        """Tell whether a fit has left a model."""
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
