r"""How well parts keep the distribution of the whole set, by kernel values only.

With the mean :math:`\mu = \tfrac1M \sum_i \phi(x_i)` and the second moment
:math:`\Sigma = \tfrac1M \sum_i \phi(x_i) \phi(x_i)^\top` of the rows in the kernel's space, a part
is measured by

.. math:: \frac{\lVert \mu_k - \mu \rVert}{s}, \qquad
          \frac{\lVert \Sigma_k - \Sigma \rVert_F}{s_2},

where :math:`s` and :math:`s_2` are the standard deviations of :math:`\phi(x)` and
:math:`\phi(x) \phi(x)^\top` over the set. Inner products of the latter are
:math:`\kappa(x, z)^2`, so one pass over kernel values gives both. A random part of
m rows has both near :math:`\sqrt{(1/m - 1/M)\,M/(M-1)}` (the root of the expected square).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length, check_random_state

from ...core.arrays import Array
from ...core.resources import thread_count
from ...core.rows import as_rows, take_rows
from ...kernel.kernels import Kernel

# Rows of the kernel matrix computed at a time.
BLOCK = 256


@dataclass(frozen=True)
class PartitionQuality:
    r"""Comparison of the parts with the whole set.

    Attributes
    ----------
    sizes : array of shape (n_parts,)
        Number of rows of each part.
    classes : array of shape (n_classes,)
        Labels.
    class_shares : array of shape (n_parts, n_classes)
        Share of each class in each part.
    share_distance : array of shape (n_parts,)
        Half the sum of the absolute differences between a part's class shares and the set's: the
        share of the part's rows that would have to change class.
    first_moment, second_moment : array of shape (n_parts,)
        Distance of the part's mean and second moment from those of the set, in the kernel's
        space, in standard deviations.
    chance : array of shape (n_parts,)
        Expected value of both for random parts of these sizes. Smaller moments mean that the
        distribution is kept better than by random parts; clusters have much larger ones.
    between : float
        Share of the sum of all :math:`|\kappa(x_i, x_j)|` that lies between parts: D(π) of DC-SVM,
        relative to the whole.
    angle : float
        τ, the smallest angle in radians between rows of different strata in the kernel's space
        (SODM, section 3.2); between rows of different parts if no strata were given. NaN if there
        is only one.
    rows_used : int
        Number of rows that moments, ``between`` and ``angle`` were computed on.
    """

    sizes: NDArray[np.int64]
    classes: NDArray[Any]
    class_shares: Array
    share_distance: Array
    first_moment: Array
    second_moment: Array
    chance: Array
    between: float
    angle: float
    rows_used: int


def partition_quality(
    X: Any,
    y: Any,
    part: Any,
    kernel: Kernel,
    *,
    stratum: Any = None,
    max_rows: int = 10_000,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> PartitionQuality:
    """Measure how well parts keep the distribution of the whole set.

    Sizes and class shares are counted on all rows. The rest costs a kernel value per pair of rows
    and is exact up to ``max_rows`` rows; beyond that it is computed on a random sample of
    ``max_rows`` rows, and ``angle`` is an upper bound.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows; the kernel matrix if the kernel is precomputed.
    y : array-like of shape (n_rows,)
        Labels.
    part : array-like of int of shape (n_rows,)
        Part of each row, as in :attr:`Partition.part`.
    kernel : Kernel
        Kernel to measure with, such as :attr:`Partition.kernel`; ``Kernel("linear")`` looks
        at means and second moments of the features themselves.
    stratum : array-like of int of shape (n_rows,), optional
        Stratum of each row, for ``angle``.
    max_rows : int, default=10000
        Maximum number of rows to compute kernel values of.
    random_state : int, RandomState instance or None, default=0
        Draws the sample of rows.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    PartitionQuality
        The measured values.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import Clustered, ODMClassifier, Stratified
    >>> from widemargin.inspection.diagnostics import leaf_partition, partition_quality
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> worst = []
    >>> for strategy in (Stratified(levels=1), Clustered(levels=1)):
    ...     leaves = leaf_partition(ODMClassifier(strategy=strategy, random_state=0), X, y)
    ...     quality = partition_quality(X, y, leaves.part, leaves.kernel)
    ...     worst.append((quality.first_moment / quality.chance).max())
    >>> bool(worst[0] < 1.0 < 5.0 < worst[1])
    True
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    y, part = np.asarray(y), _numbers(part, "part")
    strata = part if stratum is None else _numbers(stratum, "stratum")
    check_consistent_length(X, y, part, strata)
    if kernel.name == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"With a precomputed kernel X must be the square kernel matrix; got shape {X.shape}."
        )
    if max_rows < 2:
        raise ValueError(f"`max_rows` must be at least 2; got {max_rows}.")
    classes, codes = np.unique(y, return_inverse=True)
    sizes = np.bincount(part)
    counts = np.zeros((sizes.size, classes.size))
    np.add.at(counts, (part, codes), 1.0)
    with np.errstate(invalid="ignore"):  # an empty part has no shares
        shares = counts / sizes[:, None]
    whole = counts.sum(axis=0) / counts.sum()

    used = np.arange(part.size)
    if used.size > max_rows:
        used = check_random_state(random_state).choice(part.size, max_rows, replace=False)
    used = used[np.argsort(part[used], kind="stable")]  # parts side by side
    sums = _KernelSums(
        take_rows(X, used, kernel.name == "precomputed"),
        kernel,
        part[used],
        strata[used],
        sizes.size,
        thread_count(n_jobs),
    )
    drawn = np.bincount(part[used], minlength=sizes.size)
    return PartitionQuality(
        sizes=sizes,
        classes=classes,
        class_shares=shares,
        share_distance=0.5 * np.abs(shares - whole).sum(axis=1),
        first_moment=_distances(sums.values, sums.diagonal, drawn),
        second_moment=_distances(sums.squares, sums.diagonal**2, drawn),
        chance=_expected(drawn),
        between=1.0 - float(np.trace(sums.sizes) / sums.sizes.sum()),
        angle=float(np.arccos(np.clip(sums.cosine, -1.0, 1.0))),
        rows_used=int(used.size),
    )


class _KernelSums:
    """Sums of kernel values over pairs of parts, and the largest cosine between strata.

    Parameters
    ----------
    X : array or CSR matrix
        Rows sorted by part, or their kernel matrix.
    kernel : Kernel
        The kernel.
    part, stratum : array of shape (n_rows,)
        Part and stratum of each row.
    n_parts : int
        Number of parts; some may have no row.
    threads : int
        Threads; the result does not depend on it.

    Attributes
    ----------
    values, squares, sizes : array of shape (n_parts, n_parts)
        Sums of κ, κ² and |κ|.
    diagonal : array of shape (n_rows,)
        κ(x, x).
    cosine : float
        Largest cosine of the angle between rows of different strata; NaN if there is only one.
    """

    def __init__(
        self,
        X: Any,
        kernel: Kernel,
        part: NDArray[np.int64],
        stratum: NDArray[np.int64],
        n_parts: int,
        threads: int,
    ) -> None:
        rows, shape = as_rows(X), (n_parts, n_parts)
        self.diagonal = kernel.diagonal(rows)
        self.values, self.squares, self.sizes = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.cosine = np.nan
        with np.errstate(divide="ignore"):  # a row at the origin has no angle: cosine 0
            scale = np.where(self.diagonal > 0, 1.0 / np.sqrt(self.diagonal), 0.0)
        present, first = np.unique(part, return_index=True)
        for start in range(0, part.size, BLOCK):
            here = np.arange(start, min(start + BLOCK, part.size))
            block = kernel.block(rows, rows, here, None, threads).astype(np.float64)
            for total, values in (
                (self.values, block),
                (self.squares, block**2),
                (self.sizes, np.abs(block)),
            ):
                by_part = np.add.reduceat(values, first, axis=1)
                np.add.at(total, (part[here][:, None], present[None]), by_part)
            cosine = block * scale[here, None] * scale
            other = stratum[here, None] != stratum
            if other.any():
                self.cosine = float(np.fmax(self.cosine, cosine[other].max()))


def _distances(sums: Array, diagonal: Array, sizes: NDArray[np.int64]) -> Array:
    """Return ‖mean of a part − mean of all‖ over the standard deviation of all."""
    total = sizes.sum()
    with np.errstate(invalid="ignore", divide="ignore"):  # parts without rows: NaN
        own = sums.diagonal() / sizes**2.0
        cross = sums.sum(axis=1) / (sizes * total)
        mean = sums.sum() / total**2
        spread = diagonal.mean() - mean
        squared = np.maximum(own - 2.0 * cross + mean, 0.0) / spread
    return np.asarray(np.sqrt(squared))


def _expected(sizes: NDArray[np.int64]) -> Array:
    total = sizes.sum()
    with np.errstate(divide="ignore"):
        squared = (1.0 / sizes - 1.0 / total) * total / (total - 1.0)
    return np.asarray(np.sqrt(squared))


def _numbers(values: Any, name: str) -> NDArray[np.int64]:
    numbers = np.asarray(values)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.min(initial=0) < 0:
        raise ValueError(
            f"`{name}` must be a one-dimensional array of numbers 0, 1, …; got shape "
            f"{numbers.shape} and type {numbers.dtype}. Leave rows of no part (−1) out."
        )
    return numbers.astype(np.int64)
