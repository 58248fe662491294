"""Rows in every layout that the native core reads, with the same values in each."""

from functools import cache

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from reference import kernels
from widemargin.core.rows import Rows, as_rows
from widemargin.kernel.kernels import Kernel

Array = npt.NDArray[np.float64]

DTYPES = ("float32", "float64")
LAYOUTS = ("dense", "csr32", "csr64")
# Around the panel of 8 or 16 rows, strips of 2 and 4 panels, tiles of 4 and 12 rows, tasks of 256.
SIZES = (0, 1, 5, 15, 16, 17, 30, 49, 63, 64, 70, 255, 257)
FEATURES = (1, 2, 3, 17, 40)
KERNELS = (
    Kernel("linear"),
    Kernel("rbf", gamma=0.3),
    Kernel("laplacian", gamma=0.2),
    Kernel("poly", gamma=0.2, coef0=0.7, degree=3),
    Kernel("sigmoid", gamma=0.1, coef0=-0.2),
)


@cache
def values(n_features: int, dtype: str, seed: int) -> Array:
    """Draw 257 rows of which half the entries, and all of rows 3 and 16, are zero."""
    rng = np.random.default_rng((seed, n_features))
    X = rng.normal(size=(257, n_features)) * (rng.random((257, n_features)) < 0.5)
    X[[3, 16]] = 0.0
    return X.astype(dtype)


def in_layout(X: npt.NDArray[np.floating], layout: str) -> Rows:
    """Hand the values to the native core, as dense rows or with 32- or 64-bit CSR indices."""
    if layout == "dense":
        return as_rows(X)
    matrix = sp.csr_matrix(X)
    matrix.indices = matrix.indices.astype(np.int32 if layout == "csr32" else np.int64)
    matrix.indptr = matrix.indptr.astype(matrix.indices.dtype)
    return as_rows(matrix)


def expected_block(kernel: Kernel, X: npt.ArrayLike, Z: npt.ArrayLike) -> Array:
    """Evaluate the kernel with the reference, in float64."""
    A, B = np.asarray(X, np.float64), np.asarray(Z, np.float64)
    if kernel.name == "linear":
        block = kernels.linear(A, B)
    elif kernel.name == "rbf":
        block = kernels.rbf(A, B, kernel.gamma)
    elif kernel.name == "laplacian":
        block = kernels.laplacian(A, B, kernel.gamma)
    elif kernel.name == "poly":
        block = kernels.polynomial(A, B, kernel.gamma, kernel.degree, kernel.coef0)
    else:
        block = kernels.sigmoid(A, B, kernel.gamma, kernel.coef0)
    return block + kernel.constant


@cache
def expected_values(kernel: Kernel, n_features: int, dtype: str) -> Array:
    """Evaluate the kernel between both draws of ``values``, once for all sizes and layouts."""
    return expected_block(kernel, values(n_features, dtype, 0), values(n_features, dtype, 1))
