"""Kernel values per second of one core, checked against float64.

python -m benchmarks.speed.kernel_product
"""

from __future__ import annotations

import time

import numpy as np

from widemargin import _native
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

QUERIES, BASIS, REPEATS = 8_000, 6_000, 7


def main() -> None:
    print(f"instruction set: {_native.instruction_set()}; RBF, one thread, best of {REPEATS}")
    columns = ("features", "float32 Gpair/s", "float64 Gpair/s", "float32 error")
    print("  ".join(columns))
    for features in (8, 18, 22, 54, 123, 784):
        random = np.random.default_rng(0)
        X, Z = random.random((QUERIES, features)), random.random((BASIS, features))
        coef = random.normal(size=(1, BASIS))
        kernel = Kernel("rbf", 2.0 / features)
        single, single_values = rate(kernel, X.astype(np.float32), Z.astype(np.float32), coef)
        # The same float32 rows, so that the difference is arithmetic and not rounding of input.
        double, double_values = rate(
            kernel, X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float), coef
        )
        error = np.abs(single_values - double_values).max() / np.abs(coef).sum()
        print(f"{features:>8}  {single:>15.3f}  {double:>15.3f}  {error:>13.1e}")


def rate(
    kernel: Kernel, X: np.ndarray, Z: np.ndarray, coef: np.ndarray
) -> tuple[float, np.ndarray]:
    queries, basis = as_rows(X), as_rows(Z)
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        values = kernel.product(queries, basis, coef, threads=1)
        best = min(best, time.perf_counter() - start)
    return QUERIES * BASIS / best / 1e9, values


if __name__ == "__main__":
    main()
