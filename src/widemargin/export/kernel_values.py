r"""Kernel values between rows and fixed vectors, as operators of a graph.

A squared distance is :math:`\lVert x\rVert^2 + \lVert z\rVert^2 - 2x^\top z`, so that one matrix
product gives the exponents of all values. Far from the origin little is left of such a difference:
rows and vectors are moved to the mean of the vectors first, in float64. Sums of absolute
differences are taken row by row, since all differences at once would be rows × vectors × features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.rows import as_rows
from ..kernel.kernels import Kernel
from .graph import Graph

# float32 kernel values may change a decision by this, relative to the larger of it and 1.
FLOAT32_ERROR = 3e-6
# That many of the vectors are decided on in both precisions to find out.
SAMPLE = 256
# Rounding of float64.
EPSILON = float(np.finfo(np.float64).eps)
# Kernels of x − z alone.
SHIFT_INVARIANT = ("rbf", "laplacian")


@dataclass(frozen=True)
class CentredVectors:
    """Vectors to compare rows with, moved by a centre."""

    kernel: Kernel
    z: Array  # (n_vectors, n_features): vectors minus the centre
    centre: Array | None  # None leaves rows where they are
    dtype: Any  # precision of the kernel values

    @classmethod
    def of(cls, kernel: Kernel, vectors: Any, coef: Array | None = None) -> CentredVectors:
        """Place vectors; float32 values serve if ``coef`` is given and makes decisions alike."""
        z = np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors, np.float64)
        centre = z.mean(axis=0) if kernel.name in SHIFT_INVARIANT else None
        moved = z if centre is None else z - centre
        if coef is not None and float32_suffices(kernel, moved, coef):
            return cls(kernel, moved.astype(np.float32), centre, np.float32)
        if centre is not None and _harmless(kernel, z):
            return cls(kernel, z, None, np.float64)  # as they were: float32 may hold them exactly
        return cls(kernel, moved, centre, np.float64)

    def values(self, graph: Graph, x: str) -> str:
        """Return the kernel values of float64 rows, as (rows, vectors) in ``dtype``."""
        if self.centre is not None:
            x = graph.op("Sub", x, graph.constant(self.centre))
        if self.dtype == np.float32:
            x = graph.cast(x, np.float32)
        if self.kernel.name == "rbf":
            values = self._rbf(graph, x)
        elif self.kernel.name == "laplacian":
            values = self._laplacian(graph, x)
        else:
            values = self._of_products(graph, x)
        if self.kernel.constant:
            values = graph.op("Add", values, self._number(graph, self.kernel.constant))
        return values

    def _rbf(self, graph: Graph, x: str) -> str:
        gamma = self.kernel.gamma
        square = graph.op("ReduceSumSquare", x, graph.constant(np.array([1])), keepdims=1)
        left = graph.op(
            "Concat",
            graph.op("Mul", x, self._number(graph, 2.0 * gamma)),
            graph.op("Mul", square, self._number(graph, -gamma)),
            axis=1,
        )
        ones = np.ones((len(self.z), 1), dtype=self.z.dtype)
        right = graph.constant(np.hstack([self.z, ones]))
        # Squared in float64, so that rounding is that of the product alone.
        squares = np.einsum("ij,ij->i", self.z, self.z, dtype=np.float64)
        added = graph.constant((-gamma * squares).astype(self.dtype))
        return graph.op("Exp", graph.op("Gemm", left, right, added, transB=1))

    def _laplacian(self, graph: Graph, x: str) -> str:
        z = graph.constant(self.z)
        gamma, axis = self._number(graph, -self.kernel.gamma), graph.constant(np.array([1]))

        def values_of_row(row: str) -> str:
            distance = graph.op("ReduceL1", graph.op("Sub", z, row), axis, keepdims=0)
            return graph.op("Exp", graph.op("Mul", distance, gamma))

        return graph.for_each_row(x, self.dtype, len(self.z), values_of_row)

    def _of_products(self, graph: Graph, x: str) -> str:
        kernel = self.kernel
        if kernel.name == "linear":
            return graph.op("Gemm", x, graph.constant(self.z), transB=1)
        scaled = graph.op("Mul", x, self._number(graph, kernel.gamma))
        product = graph.op("Gemm", scaled, graph.constant(self.z), transB=1)
        product = graph.op("Add", product, self._number(graph, kernel.coef0))
        if kernel.name == "sigmoid":
            return graph.op("Tanh", product)
        return _power(graph, product, kernel.degree)

    def _number(self, graph: Graph, value: float) -> str:
        return graph.constant(np.array(value, dtype=self.dtype))


def float32_suffices(kernel: Kernel, z: Array, coef: Array) -> bool:
    """Whether decisions on some of the vectors are the same with all numbers in float32."""
    with np.errstate(over="ignore"):
        single, rounded = z.astype(np.float32), coef.astype(np.float32).astype(np.float64)
    some = np.arange(0, len(z), max(1, len(z) // SAMPLE))
    exact = kernel.product(as_rows(z[some], np.float64), as_rows(z, np.float64), coef)
    rough = kernel.product(as_rows(single[some], np.float32), as_rows(single, np.float32), rounded)
    return bool(np.all(np.abs(rough - exact) <= FLOAT32_ERROR * np.maximum(1.0, np.abs(exact))))


def _harmless(kernel: Kernel, z: Array) -> bool:
    """Whether float64 loses nothing that matters where the vectors are."""
    largest = float(np.einsum("ij,ij->i", z, z).max(initial=0.0))
    return kernel.name == "laplacian" or kernel.gamma * largest * EPSILON < 1e-10


def _power(graph: Graph, value: str, exponent: int) -> str:
    """Multiply: runtimes take a logarithm for powers, which costs digits and time."""
    result, square = "", value
    while exponent:
        if exponent & 1:
            result = graph.op("Mul", result, square) if result else square
        exponent >>= 1
        if exponent:
            square = graph.op("Mul", square, square)
    return result
