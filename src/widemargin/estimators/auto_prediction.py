"""Predictions of :class:`AutoClassifier`: the preprocessor, then the model."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from .auto_relevance import weighted
from .auto_table import single
from .probabilities import calibrates


class AutoPredictor(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A preprocessor with a model, but for their fit."""

    calibrate: str | None
    preprocessor_: Any
    feature_weights_: Array | None
    model_: Any
    classes_: NDArray[Any]
    n_features_in_: int

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            A table with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples,)
            Labels from ``classes_``.
        """
        X = self._features(X)
        return np.asarray(self.model_.predict(X))

    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function of the chosen classifier.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            A table with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes; with more, the largest column wins.
        """
        X = self._features(X)
        return np.asarray(self.model_.decision_function(X))

    @available_if(calibrates)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes.

        Available unless ``calibrate`` is None. The most probable class is always the one that
        :meth:`predict` returns.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            A table with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        X = self._features(X)
        return np.asarray(self.model_.predict_proba(X))

    @available_if(calibrates)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes.

        Available unless ``calibrate`` is None.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            A table with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Logarithms of what :meth:`predict_proba` returns.
        """
        X = self._features(X)
        return np.asarray(self.model_.predict_log_proba(X))

    def save(self, path: str | PathLike[str]) -> None:
        """Write preprocessing and model to one ``.wm`` file.

        The file holds numbers and text only; reading it with :func:`widemargin.load_model` never
        executes code.

        Parameters
        ----------
        path : str or path-like
            Path of the file.
        """
        from ..persistence import save

        save(self, path)

    def _features(self, X: Any) -> Any:
        check_is_fitted(self)
        return weighted(single(self.preprocessor_.transform(X)), self.feature_weights_)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has left a model."""
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags
