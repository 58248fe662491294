"""Rows on disk, as solvers read them."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["SpooledRows"]


class SpooledRows:
    """Rows that the operating system reads from disk as a solver asks for them.

    A context manager: leaving it, or `close`, removes the spool. Arrays taken from it must not be
    used afterwards.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Features, float32 or float64, all finite. Of a spool: mapped from its files and read-only,
        dense in C order or in canonical CSR format with int32 indices and int64 row starts. Arrays
        that needed no spool are the caller's own.
    codes : ndarray of shape (n_rows,)
        Position of each row's label in ``classes``, int16.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    class_totals : ndarray of shape (n_classes,)
        Total weight of the rows of each class; without weights, their number.
    weights : ndarray of shape (n_rows,) or None
        Weights, all positive, float64; None if the source has none.
    feature_names : tuple of str or None
        Column names, where the source has them.
    notes : tuple of str
        What had to be decided on the way, e.g. which column holds the labels.
    nbytes : int
        Bytes of the spool.
    """

    def __init__(
        self,
        *,
        X: Any,
        codes: NDArray[np.int16],
        classes: NDArray[Any],
        class_totals: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        feature_names: tuple[str, ...] | None,
        notes: tuple[str, ...],
        nbytes: int,
        directory: TemporaryDirectory[str],
    ) -> None:
        self.X = X
        self.codes = codes
        self.classes = classes
        self.class_totals = class_totals
        self.weights = weights
        self.feature_names = feature_names
        self.notes = notes
        self.nbytes = nbytes
        self._directory = directory

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def close(self) -> None:
        """Remove the spool; closing twice does no harm."""
        self.__dict__.update(X=None, codes=None, weights=None)
        self._directory.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
