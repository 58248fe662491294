"""Bases of all fitted models: checks of rows, decisions, labels and files."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.arrays import Array
from ..core.parameters import advice_on
from ..core.rows import canonical
from ..core.sklearn_base import BaseEstimator, ClassifierMixin
from ..core.training_set import TrainingSet, training_set


def _spread(y: NDArray[Any]) -> bool:
    """Whether so many different whole numbers fit into the range of labels as half the rows."""
    return y.size == 0 or 2 * (int(y.max()) - int(y.min()) + 1) > y.size


class TrainedModel(BaseEstimator):
    """A classifier or regressor but for its fit and what it predicts."""

    _fitted: ClassVar[str]  # an attribute that a fit leaves, if it ends only by an interrupt

    n_jobs: int | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    dual_gap_: float
    relative_gap_: float
    converged_: bool
    n_iter_: int
    solver_: str
    history_: dict[str, NDArray[Any]]

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, or of what it holds.

        Parameters
        ----------
        **params : dict
            Parameters by name; ``strategy__levels`` is the parameter ``levels`` of ``strategy``.

        Returns
        -------
        self : object
            This estimator.
        """
        advice = advice_on(type(self), params)
        if advice is not None:
            raise ValueError(advice)
        super().set_params(**params)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one ``.wm`` file.

        The file holds numbers and text only; reading it with
        :func:`widemargin.load_model` never executes code. An existing file is replaced
        only once the new one is complete.

        Parameters
        ----------
        path : str or path-like
            Path of the file.
        """
        from ..persistence import save

        save(self, path)

    @property
    def _pairwise(self) -> bool:
        """Whether X is a matrix of kernel values."""
        return False

    @property
    def _sparse(self) -> bool:
        """Whether rows may be sparse."""
        return True

    def _accepted(self) -> dict[str, Any]:
        """Return the forms of X that are taken, as arguments of the validation."""
        return {
            "accept_sparse": "csr" if self._sparse else False,
            "accept_large_sparse": True,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }

    def _checked_rows(self, X: Any) -> Any:
        """Return rows to predict, once fitted."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._accepted())

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has left a model."""
        return hasattr(self, self._fitted)

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.input_tags.sparse = self._sparse
        return tags


class Predictor(ClassifierMixin, TrainedModel):
    """A classifier but for its fit."""

    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Array:
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
        decisions = self._decisions(self._checked_rows(X))
        return np.ravel(decisions) if decisions.shape[1] == 1 else decisions

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
        return self._predict(self._checked_rows(X))

    @abstractmethod
    def _decisions(self, X: Any) -> Array:
        """Evaluate every binary problem on checked rows, as (rows, problems)."""

    def _predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of checked rows."""
        return self._labels(self._decisions(X))

    def _labels(self, decisions: Array) -> NDArray[Any]:
        """Return the labels that decisions imply."""
        if decisions.shape[1] == 1:
            return np.asarray(self.classes_[(decisions[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes_[np.argmax(decisions, axis=1)])

    def _checked_training_data(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, **self._accepted())
        y = np.asarray(y)
        # Integers are classes by their type; scikit-learn's check takes as long as a small fit, and
        # would only warn if they were mostly different.
        if y.dtype.kind not in "biu" or (_spread(y) and 2 * len(np.unique(y)) > len(y)):
            check_classification_targets(y)
        return canonical(X), y

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, TrainingSet]:
        """Return the checked rows, and those of positive weight with labels and weights."""
        X, y = self._checked_training_data(X, y)
        return X, self._weighed(X, y, sample_weight)

    def _weighed(self, X: Any, y: NDArray[Any], sample_weight: Any) -> TrainingSet:
        """Return the rows of positive weight with labels and weights."""
        name, pairwise = type(self).__name__, self._pairwise
        return training_set(X, y, sample_weight, pairwise=pairwise, estimator=name)
