"""Files of a spool that hold the features: one for dense rows, three for CSR rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from .blocks import Block
from .spool_files import SpoolFile

__all__ = ["DenseRowFile", "RowFiles", "SparseRowFiles", "csr_of_mapped"]


class DenseRowFile:
    """Dense rows, one after the other."""

    def __init__(self, directory: Path, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._values = SpoolFile(directory / "values", dtype)
        self.files = [self._values]

    def append(self, block: Block) -> None:
        """Write the rows of a block."""
        self._values.append(block.X)

    def mapped(self, n_rows: int, n_features: int | None) -> NDArray[Any]:
        """Return the matrix."""
        width = self._values.length // n_rows if n_features is None else n_features
        return self._values.mapped((n_rows, width))


class SparseRowFiles:
    """CSR rows: values, int32 column indices and int64 row starts.

    Parameters
    ----------
    directory : Path
        Where to write.
    dtype : dtype
        Type of the values.
    block_bytes : int
        Bytes to hold in memory at a time.
    """

    def __init__(self, directory: Path, dtype: np.dtype[Any], block_bytes: int) -> None:
        self.dtype = dtype
        self._values = SpoolFile(directory / "values", dtype)
        self._indices = SpoolFile(directory / "indices", np.int32)
        self._starts = SpoolFile(directory / "row_starts", np.int64)
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
        X = csr_of_mapped(
            self._values.mapped((self._values.length,)),
            self._indices.mapped((self._indices.length,)),
            self._starts.mapped((self._starts.length,)),
            (n_rows, width),
        )
        X.has_canonical_format = True
        return X


def csr_of_mapped(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> csr_matrix:
    """Return a CSR matrix of arrays that are neither read nor copied."""
    # The constructor would convert indices and row starts to one type, in memory.
    X = csr_matrix(shape, dtype=data.dtype)
    X.data, X.indices, X.indptr = data, indices, indptr
    return X


RowFiles = DenseRowFile | SparseRowFiles
