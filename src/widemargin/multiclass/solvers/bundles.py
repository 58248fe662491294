"""Bundles of classes: which classes they hold, and their weights and multipliers as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.outcome import Certificate
from ...core.rows import as_rows

# Weights are returned as sparse ones if at least this share of them is zero.
SPARSE_SHARE = 0.75
# On the way to the solution the weights are too short more often than too long, and the objective
# of slightly longer ones is known for little more.
SCALES = (1.0, 1.0015, 1.003, 1.006, 1.012, 1.03)
# Bytes of a weight with its feature number in a sparse matrix.
SPARSE_BYTES = 12
# Bytes of a weight in a dense matrix.
DENSE_BYTES = 8


def shuffle_seed(seed: int, k: int) -> int:
    """Return a seed for the order of bundle ``k``'s rows."""
    return seed + 1_000_003 * k


@dataclass(frozen=True)
class BundleLayout:
    """The classes of each bundle."""

    # Classes of each bundle. The native core numbers classes in this order.
    bundles: tuple[NDArray[np.int64], ...]
    size: int  # length of a class's weights
    # Whether every weight has a place from the start, and not only those that are not zero.
    dense: bool

    @classmethod
    def within(cls, memory: int, bundles: Sequence[NDArray[np.int64]], size: int) -> BundleLayout:
        """Lay weights out densely if they take at most half of the memory."""
        n_classes = sum(map(len, bundles))
        return cls(tuple(bundles), size, DENSE_BYTES * size * n_classes <= memory // 2)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return sum(map(len, self.bundles))

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Classes by their numbers in the native core."""
        return np.concatenate(self.bundles)

    @cached_property
    def number(self) -> NDArray[np.int32]:
        """Number of each class in the native core."""
        number = np.empty(self.n_classes, dtype=np.int32)
        number[self.classes] = np.arange(self.n_classes, dtype=np.int32)
        return number

    @cached_property
    def bundle_of(self) -> NDArray[np.int64]:
        """Bundle of each class."""
        bundle = np.empty(self.n_classes, dtype=np.int64)
        for k, classes in enumerate(self.bundles):
            bundle[classes] = k
        return bundle

    def _stacked(self, parts: list[Any]) -> sp.csr_array:
        """Put the rows of sparse parts into the order of the classes, and let go of the parts."""
        counts = np.zeros(self.n_classes, dtype=np.int64)
        for classes, part in zip(self.bundles, parts, strict=True):
            counts[classes] = np.diff(sp.csr_array(part).indptr)
        start = np.concatenate([[0], np.cumsum(counts)])
        values: Array = np.empty(start[-1])
        features: NDArray[Any] = np.empty(start[-1], dtype=index_dtype(self.size))
        for k, classes in enumerate(self.bundles):
            part, parts[k] = sp.csr_array(parts[k]), None
            for row, c in enumerate(classes):
                here = slice(part.indptr[row], part.indptr[row + 1])
                values[start[c] : start[c + 1]] = part.data[here]
                features[start[c] : start[c + 1]] = part.indices[here]
        return in_rows(values, features, start, (self.n_classes, self.size))

    def empty(self, k: int, rows: NDArray[np.int64]) -> _native.ClassBundle:
        """Return bundle ``k`` without weights, for some rows of a problem."""
        first = sum(map(len, self.bundles[:k]))
        return _native.ClassBundle(first, len(self.bundles[k]), self.size, self.dense, rows)

    def is_sparse(self, stored: int) -> bool:
        """Return whether so many weights that are not zero are few."""
        return stored <= (1 - SPARSE_SHARE) * self.n_classes * self.size

    def combined(
        self, parts: list[Any], *, sparse: bool, scale: float, mean: Array | None = None
    ) -> Any:
        """Put the weights of all bundles together: (classes, size), plus a mean, times a scale.

        The matrix of a single bundle is overwritten, and a list of several sparse ones emptied:
        large weights cost no second copy.
        """
        if sparse:
            rows = parts[0] if len(parts) == 1 else self._stacked(parts)
            rows.data *= scale
            return rows
        if len(parts) == 1:  # a single bundle keeps the order of the classes
            (out,) = parts
        else:
            out = np.empty((self.n_classes, self.size))
            for classes, part in zip(self.bundles, parts, strict=True):
                out[classes] = part.toarray() if sp.issparse(part) else part
        if mean is not None:
            out += mean
        out *= scale
        return out


def best_scale(half_norm: float, losses: Sequence[float], dual: float) -> tuple[float, Certificate]:
    """Return the best of ``SCALES`` and its certificate, given the losses at each of them."""
    scales = np.array(SCALES)
    primals = scales**2 * half_norm + np.array(losses)
    best = int(np.argmin(primals))
    return float(scales[best]), Certificate(float(primals[best]), dual)


@dataclass(frozen=True)
class BundleState:
    """Weights and multipliers of a bundle that travels between processes."""

    weights: Any  # (classes of the bundle, size): whichever takes less
    # Multipliers of the bundle's rows: values, classes, where each row begins.
    duals: tuple[Array, NDArray[np.int32], NDArray[np.int64]]

    @classmethod
    def of(cls, bundle: _native.ClassBundle, layout: BundleLayout) -> BundleState:
        """Copy the state of a bundle."""
        return cls(smaller_weights(bundle, layout.size), bundle.duals())

    @classmethod
    def zero(cls, layout: BundleLayout, k: int, n_rows: int) -> BundleState:
        """Return the state that bundle ``k`` begins with."""
        weights = sp.csr_array((len(layout.bundles[k]), layout.size))
        start = np.zeros(n_rows + 1, dtype=np.int64)
        return cls(weights, (np.zeros(0), np.zeros(0, dtype=np.int32), start))

    def bundle(self, layout: BundleLayout, k: int, rows: NDArray[np.int64]) -> _native.ClassBundle:
        """Build the bundle again."""
        bundle = layout.empty(k, rows)
        bundle.set_duals(*self.duals)
        put_weights(bundle, self.weights, layout, int(rows.max(initial=-1)) + 1)
        return bundle

    @property
    def n_bytes(self) -> int:
        """Bytes that travel."""
        arrays = [self.weights, *self.duals]
        if sp.issparse(self.weights):
            arrays = [self.weights.data, self.weights.indices, self.weights.indptr, *self.duals]
        return sum(int(array.nbytes) for array in arrays)

    @property
    def stored(self) -> int:
        """Number of weights that are not zero."""
        sparse = sp.issparse(self.weights)
        return int(self.weights.nnz if sparse else np.count_nonzero(self.weights))

    def dual_sum(self) -> float:
        """Return the sum of all multipliers, added one by one as the native core does."""
        values = self.duals[0]
        return float(np.add.accumulate(values)[-1]) if len(values) else 0.0

    def squared_norm(self) -> float:
        """Return the sum of all squared weights."""
        values = self.weights.data if sp.issparse(self.weights) else self.weights
        return float(np.vdot(values, values))


def smaller_weights(bundle: _native.ClassBundle, size: int) -> Any:
    """Return the weights of a bundle as a dense or sparse matrix, whichever takes less."""
    if SPARSE_BYTES * bundle.weight_count() >= DENSE_BYTES * bundle.width * size:
        return bundle.dense_weights()
    return sparse_weights(bundle, size)


def index_dtype(largest: int) -> type:
    """Return the type for numbers up to a largest one."""
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def in_rows(
    values: Array, features: NDArray[Any], start: NDArray[Any], shape: tuple[int, int]
) -> sp.csr_array:
    """Return a CSR array of these arrays without copies of them.

    SciPy would widen the feature numbers to the type of ``start``.
    """
    narrow = start.astype(np.promote_types(features.dtype, index_dtype(int(start[-1]))))
    return sp.csr_array((values, features, narrow), shape=shape)


def sparse_weights(bundle: _native.ClassBundle, size: int) -> sp.csr_array:
    """Return the weights of a bundle as a sparse matrix."""
    values, features, start = bundle.sparse_weights()
    return in_rows(values, features, start, (bundle.width, size))


def put_weights(
    bundle: _native.ClassBundle, weights: Any, layout: BundleLayout, n_rows: int = 0
) -> None:
    """Give weights to a bundle that has none; its rows are numbered below ``n_rows``.

    The native core computes weights from rows and their multipliers. With unit vectors as rows,
    multipliers are the weights, up to their sign.
    """
    by_feature = sp.csr_array(weights.T)
    if by_feature.nnz == 0:
        return
    by_feature.sort_indices()
    size, n_rows = layout.size, max(layout.size, n_rows)  # rows beyond the unit vectors are empty
    begins = np.minimum(np.arange(n_rows + 1), size)
    units = as_rows(sp.csr_matrix((np.ones(size), np.arange(size), begins), (n_rows, size)))
    label, ones = np.zeros(n_rows, dtype=np.int32), np.ones(n_rows)
    problem = _native.MulticlassProblem64(units, label, ones, ones, layout.n_classes, 0.0)
    holder = _native.ClassBundle(bundle.first, bundle.width, size, False, np.arange(size))
    classes = (by_feature.indices + bundle.first).astype(np.int32)
    holder.set_duals(-by_feature.data, classes, by_feature.indptr.astype(np.int64))
    problem.add_weights("llw_fixed_mean", holder, bundle)
