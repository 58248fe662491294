"""Sums of kernel values in float64 over rows of any precision, for certificates.

Rows in float32 are converted a few at a time: a copy of all of them would take twice their memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.rows import as_rows
from .kernels import Kernel

# Bytes of rows that are converted at a time.
BLOCK_BYTES = 2**20
# Fewer rows at a time would take longer to convert than to use.
FEWEST_ROWS = 256


def exact_sums(
    kernel: Kernel,
    X: Any,
    coef: Array,
    support: NDArray[np.int64],
    threads: int,
    queries: NDArray[np.int64] | None = None,
) -> Array:
    """Sum ``coef[i] κ(x[support[i]], x[j])`` over i in float64, for some or all rows j of ``X``.

    ``coef`` has the shape (n_outputs, n_support), the sums (n_outputs, n_queries).
    """
    coef = np.atleast_2d(coef)
    if X.dtype == np.float64:
        rows = as_rows(X)
        return kernel.product(rows, rows, coef, support, threads, queries)
    step = _rows_at_a_time(X)
    count = X.shape[0] if queries is None else len(queries)
    sums = np.zeros((len(coef), count))
    for at in _pieces(count, step):
        some = as_rows(X[at] if queries is None else X[queries[at]], np.float64)
        for among in _pieces(len(support), step):
            # The rows have no name: those of the last piece are gone before the next are made.
            sums[:, at] += kernel.product(
                some, as_rows(X[support[among]], np.float64), coef[:, among], threads=threads
            )
    return sums


def _pieces(count: int, step: int) -> Iterator[slice]:
    return (slice(first, first + step) for first in range(0, count, step))


def _rows_at_a_time(X: Any) -> int:
    # A stored value of a CSR matrix has an index beside it.
    of_row = 16 * X.nnz / X.shape[0] if sp.issparse(X) else 8 * X.shape[1]
    return max(FEWEST_ROWS, int(BLOCK_BYTES / max(of_row, 1)))
