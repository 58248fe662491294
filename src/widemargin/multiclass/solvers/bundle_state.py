"""Bundles of classes on the way from one memory to another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.rows import as_rows

# Bytes of a weight in a list, with its feature, and of one among all.
LISTED_BYTES, PLAIN_BYTES = 12, 8


@dataclass(frozen=True)
class Layout:
    """Which classes are in which bundle.

    Attributes
    ----------
    bundles : tuple of arrays
        Classes of each.
    size : int
        Length of a class's weights.
    dense : bool
        Whether all weights have a place, and not only those that are not zero.
    """

    bundles: tuple[NDArray[np.int64], ...]
    size: int
    dense: bool

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return sum(map(len, self.bundles))

    @cached_property
    def number(self) -> NDArray[np.int32]:
        """Number of each class in the native core."""
        number = np.empty(self.n_classes, dtype=np.int32)
        number[np.concatenate(self.bundles)] = np.arange(self.n_classes, dtype=np.int32)
        return number

    @cached_property
    def bundle_of(self) -> NDArray[np.int64]:
        """Bundle of each class."""
        bundle = np.empty(self.n_classes, dtype=np.int64)
        for k, classes in enumerate(self.bundles):
            bundle[classes] = k
        return bundle

    def empty(self, k: int, rows: NDArray[np.int64]) -> _native.ClassBundle:
        """Return a bundle without weights, of some rows of a problem."""
        first = sum(map(len, self.bundles[:k]))
        return _native.ClassBundle(first, len(self.bundles[k]), self.size, self.dense, rows)


@dataclass(frozen=True)
class BundleState:
    """Weights and multipliers of a bundle.

    Attributes
    ----------
    weights : array or CSR array of shape (classes of the bundle, size)
        Whichever takes less.
    duals : tuple of arrays
        Multipliers of the bundle's rows: values, classes, where each row begins.
    """

    weights: Any
    duals: tuple[Array, NDArray[np.int32], NDArray[np.int64]]

    @classmethod
    def of(cls, bundle: _native.ClassBundle, layout: Layout) -> BundleState:
        """Take down a bundle."""
        return cls(weights_of(bundle, layout.size), bundle.duals())

    @classmethod
    def zero(cls, layout: Layout, k: int, n_rows: int) -> BundleState:
        """Return what a bundle begins with."""
        weights = sp.csr_array((len(layout.bundles[k]), layout.size))
        start = np.zeros(n_rows + 1, dtype=np.int64)
        return cls(weights, (np.zeros(0), np.zeros(0, dtype=np.int32), start))

    def bundle(self, layout: Layout, k: int, rows: NDArray[np.int64]) -> _native.ClassBundle:
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

    def dual_sum(self) -> float:
        """Return the sum of all multipliers, added up one by one as the native core does."""
        values = self.duals[0]
        return float(np.add.accumulate(values)[-1]) if len(values) else 0.0

    def squared_norm(self) -> float:
        """Return the sum of all squared weights."""
        values = self.weights.data if sp.issparse(self.weights) else self.weights
        return float(np.vdot(values, values))


def weights_of(bundle: _native.ClassBundle, size: int) -> Any:
    """Return the weights of a bundle, as a matrix or a sparse one, whichever takes less."""
    if LISTED_BYTES * bundle.weight_count() >= PLAIN_BYTES * bundle.width * size:
        return bundle.dense_weights()
    values, features, start = bundle.sparse_weights()
    narrow = features.astype(np.int32) if size < 2**31 else features
    return sp.csr_array((values, narrow, start), shape=(bundle.width, size))


def put_weights(bundle: _native.ClassBundle, weights: Any, layout: Layout, n_rows: int = 0) -> None:
    """Give some weights to a bundle that has none, and rows below ``n_rows``.

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
