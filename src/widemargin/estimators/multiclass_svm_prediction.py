"""Prediction with a weight vector for every class, dense or sparse, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.resources import single_threaded_blas, thread_count
from ..engines import LocalEngine
from ..linear.model import BLOCK_VALUES
from .linear_model import LinearPredictor


def for_blocks_of_scores(
    X: Any, coef: Any, intercept: Array, use: Callable[[int, Array], None], threads: int
) -> None:
    """Evaluate rows block by block, and pass on each block's first row and scores.

    Blocks depend on the data alone, so that results do not depend on ``threads``.
    """
    n_rows, n_scores = X.shape[0], coef.shape[0]
    stored = int(X.nnz if sp.issparse(X) else X.size)
    step = min(BLOCK_VALUES * n_rows // max(1, stored), BLOCK_VALUES // n_scores)
    step = max(1, step)
    columns = coef.T
    if sp.issparse(X):  # SciPy would bring the weights into this order for every block
        columns = columns.tocsr() if sp.issparse(coef) else np.ascontiguousarray(columns)

    def evaluate(start: int) -> None:
        # Sparse blocks are copies, and dense ones are where they are float32.
        scores = X[start : start + step].astype(np.float64, copy=False) @ columns
        scores = scores.toarray() if sp.issparse(scores) else np.ascontiguousarray(scores)
        scores += intercept
        use(start, scores)

    with single_threaded_blas():
        LocalEngine(threads).map(list(range(0, n_rows, step)), evaluate)


def best_columns(scores: Array, k: int) -> NDArray[np.intp]:
    """Return the columns of the k largest entries of each row, best first.

    Of equal entries the one on the left comes first.
    """
    if k == 1:
        return np.asarray(scores.argmax(axis=1)[:, None])
    n_rows, n_columns = scores.shape
    least = np.partition(scores, n_columns - k, axis=1)[:, n_columns - k, None]
    # Not `>=`: where numbers beyond float64 have made NaNs, there must still be k of them.
    rows, columns = np.nonzero(~(scores < least))
    order = np.lexsort((-scores[rows, columns], rows))  # stable: columns ascend already
    begins = np.searchsorted(rows, np.arange(n_rows))
    return np.asarray(columns[order][begins[:, None] + np.arange(k)])


class MulticlassPredictor(LinearPredictor):
    """A classifier with a weight vector for every class: all but the fit."""

    density_: float

    def _predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of checked rows, in memory that does not grow with the classes."""
        return np.asarray(self.classes_[self._best(X, 1)[:, 0]])

    def predict_top_k(self, X: Any, k: int) -> NDArray[Any]:
        """Predict the k labels that suit each row best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        k : int
            Number of labels, from 1 to the number of classes.

        Returns
        -------
        array of shape (n_samples, k)
            Labels from ``classes_``, best first; of equally good ones the first in ``classes_``.
        """
        X = self._checked_rows(X)
        n_classes = len(self.classes_)
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= n_classes:
            raise ValueError(
                f"`k` must be an integer from 1 to the number of classes, {n_classes}; got {k!r}."
            )
        return np.asarray(self.classes_[self._best(X, int(k))])

    def densify(self) -> Self:
        """Turn ``coef_`` into an array.

        Returns
        -------
        self : object
            The classifier.
        """
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def sparsify(self) -> Self:
        """Turn ``coef_`` into a CSR array, which pays where ``density_`` is low.

        Returns
        -------
        self : object
            The classifier.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_array(self.coef_)
        return self

    def _best(self, X: Any, k: int) -> NDArray[np.intp]:
        """Return the places of the best k classes of each checked row."""
        best = np.empty((X.shape[0], k), dtype=np.intp)

        def rank(start: int, scores: Array) -> None:
            if scores.shape[1] == 1:  # two classes: positive is the second
                scores = np.hstack([-scores, scores])
            best[start : start + len(scores)] = best_columns(scores, k)

        for_blocks_of_scores(X, self.coef_, self.intercept_, rank, thread_count(self.n_jobs))
        return best

    def _decisions(self, X: Any) -> Array:
        decisions = np.empty((X.shape[0], self.coef_.shape[0]))

        def keep(start: int, scores: Array) -> None:
            decisions[start : start + len(scores)] = scores

        for_blocks_of_scores(X, self.coef_, self.intercept_, keep, thread_count(self.n_jobs))
        return decisions
