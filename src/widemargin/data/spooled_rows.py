"""Rows on disk: the files that hold them, and the arrays mapped from these."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from .disk_array import DiskArray
from .formats.arrays import csr_of_parts
from .formats.blocks import Block


class DenseRowFile:
    """Dense rows, one after the other."""

    def __init__(self, directory: Path, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._values = DiskArray(directory / "values", dtype)
        self.files = [self._values]

    def append(self, block: Block) -> None:
        """Write the rows of a block."""
        self._values.append(block.X)

    def mapped(self, n_rows: int, n_features: int | None) -> NDArray[Any]:
        """Return the matrix."""
        width = self._values.length // n_rows if n_features is None else n_features
        return self._values.mapped((n_rows, width))


class SparseRowFiles:
    """CSR rows: values, int32 column indices and int64 row starts."""

    def __init__(self, directory: Path, dtype: np.dtype[Any], block_bytes: int) -> None:
        self.dtype = dtype
        self._values = DiskArray(directory / "values", dtype)
        self._indices = DiskArray(directory / "indices", np.int32)
        self._starts = DiskArray(directory / "row_starts", np.int64)
        self._starts.append(np.zeros(1, dtype=np.int64))
        self.files = [self._values, self._indices, self._starts]
        self._block_bytes = block_bytes
        self._first_column = 0
        self._last_index = -1

    def append(self, block: Block) -> None:
        """Write the rows of a block, counting columns from 0."""
        X: csr_matrix = block.X
        if self._values.length and block.first_column != self._first_column:
            shift = self._first_column - block.first_column
            self._indices.rewrite(lambda indices: indices + np.int32(shift), self._block_bytes)
            self._last_index += shift
        self._first_column = block.first_column
        indices = X.indices if block.first_column == 0 else X.indices - block.first_column
        if indices.size:
            self._last_index = max(self._last_index, int(indices.max()))
        self._starts.append(X.indptr[1:].astype(np.int64) + self._values.length)
        self._values.append(X.data)
        self._indices.append(indices)

    def mapped(self, n_rows: int, n_features: int | None) -> csr_matrix:
        """Return the matrix, built without reading or copying what is in the files."""
        # Rows without any value still need a column for scikit-learn to accept them.
        width = max(self._last_index + 1, 1) if n_features is None else n_features
        X = csr_of_parts(
            self._values.mapped((self._values.length,)),
            self._indices.mapped((self._indices.length,)),
            self._starts.mapped((self._starts.length,)),
            (n_rows, width),
        )
        X.has_canonical_format = True
        return X


RowFiles = DenseRowFile | SparseRowFiles


@dataclass(eq=False, repr=False)
class SpooledRows:
    """Rows that the operating system reads from disk as a solver reads them.

    A context manager: leaving it, or `close`, removes the spool. Arrays taken from it must not be
    used afterwards.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Features, float32 or float64, all finite. Of a spool: mapped from its files and read-only,
        dense in C order or in canonical CSR format with int32 indices and int64 row starts. Arrays
        that needed no spool are the caller's own.
    codes : ndarray of shape (n_rows,)
        Position of each row's label in ``classes``, int16; of a regression, the targets, float64.
    classes : ndarray of shape (n_classes,)
        Sorted labels; none of a regression.
    class_totals : ndarray of shape (n_classes,)
        Total weight of the rows of each class; without weights, their number.
    weights : ndarray of shape (n_rows,) or None
        Weights, all positive, float64; None if the source has none.
    feature_names : tuple of str or None
        Column names, where the source has them.
    notes : tuple of str
        Decisions of the reader, e.g. which column holds the labels.
    zero_based : bool or None
        Whether the feature indices of a LIBSVM file were taken to count from 0.
    nbytes : int
        Bytes of the spool.
    """

    X: Any
    codes: NDArray[Any]
    classes: NDArray[Any]
    class_totals: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    feature_names: tuple[str, ...] | None
    notes: tuple[str, ...]
    zero_based: bool | None
    nbytes: int
    _directory: TemporaryDirectory[str]

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

    def __exit__(self, *_: object) -> None:
        self.close()
