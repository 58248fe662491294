"""Rows of one binary problem, and the parts they are divided into."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.losses import Loss
from ..core.rows import take_rows
from .kernels import Kernel
from .one_class import one_class_problem
from .problem import KernelProblem


@dataclass(frozen=True)
class Samples:
    """All that training on some rows needs."""

    # (n_rows, n_features): rows, or their square kernel matrix when the kernel is precomputed.
    X: Any
    kernel: Kernel
    label: Array  # (n_rows,): +1.0 or −1.0
    weight: Array  # (n_rows,): weight of each row's loss in the whole problem
    loss: Loss
    # (n_rows,): class of each row, where a model is made of several problems on a cluster.
    code: NDArray[np.int32] | None = None
    # (n_rows,): what each row's decision should be, in a regression; labels are then +1.
    target: Array | None = None
    nu: float | None = None  # share of outliers, in a one-class problem; labels are then +1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.label.shape[0])

    @property
    def pairwise(self) -> bool:
        """Whether X holds kernel values."""
        return self.kernel.name == "precomputed"

    def take(self, rows: NDArray[np.int64]) -> Samples:
        """Copy some of the rows; all of them, in order, are not copied."""
        if rows.size == self.n_rows and np.array_equal(rows, np.arange(self.n_rows)):
            return self
        return replace(
            self,
            X=take_rows(self.X, rows, self.pairwise),
            label=self.label[rows],
            weight=self.weight[rows],
            target=None if self.target is None else self.target[rows],
            code=None if self.code is None else self.code[rows],
        )

    # Parts share one training set here. Where parts own their rows, as on a cluster, OwnedRows has
    # the same form and keeps those alone: `only` narrows it and `joined` puts sources together.

    def labels(self, rows: NDArray[np.int64]) -> Array:
        """Return what parts should have equal shares of: labels, or the signs of targets."""
        return self.label[rows] if self.target is None else np.sign(self.target[rows])

    def weights(self, rows: NDArray[np.int64]) -> Array:
        """Return the weights of some rows."""
        return self.weight[rows]

    def only(self, rows: NDArray[np.int64]) -> Source:
        """Return a source of some rows, by the same numbers."""
        return self

    def joined(self, others: list[Source]) -> Source:
        """Return a source of the rows of several."""
        return self

    def values(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[Any]:
        """Look up precomputed kernel values."""
        return np.asarray(self.X[np.ix_(rows, columns)])

    def problem(self, factor: float, threads: int) -> KernelProblem:
        """Pose the problem on these rows, their weights multiplied by a factor."""
        if self.nu is not None:
            return one_class_problem(self.X, self.kernel, factor * self.weight, self.nu, threads)
        terms = replace(self.loss.terms(factor * self.weight), offset=self.target)
        return KernelProblem(self.X, self.kernel, self.label, terms, threads)

    @property
    def row_bytes(self) -> int:
        """Memory that a copy of one row takes, on average."""
        if sp.issparse(self.X):
            stored = self.X.data.nbytes + self.X.indices.nbytes
            return int(stored // max(1, self.n_rows)) + 8
        return int(self.X.itemsize * self.X.shape[1])


@dataclass(frozen=True)
class OwnedRows:
    """Rows that lie with their part, under their numbers in the whole training set."""

    numbers: NDArray[np.int64]  # (n_rows,): the rows' numbers, ascending
    samples: Samples

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.samples.kernel

    @property
    def pairwise(self) -> bool:
        """False: a kernel matrix cannot be taken apart by rows."""
        return False

    @property
    def row_bytes(self) -> int:
        """Memory that a copy of one row takes, on average."""
        return self.samples.row_bytes

    def take(self, rows: NDArray[np.int64]) -> Samples:
        """Copy some of the rows; all of them, in order, are not copied."""
        return self.samples.take(self._positions(rows))

    def labels(self, rows: NDArray[np.int64]) -> Array:
        """Return what parts should have equal shares of: labels, or the signs of targets."""
        return self.samples.labels(self._positions(rows))

    def weights(self, rows: NDArray[np.int64]) -> Array:
        """Return the weights of some rows."""
        return self.samples.weight[self._positions(rows)]

    def only(self, rows: NDArray[np.int64]) -> Source:
        """Return a source of some rows, by the same numbers."""
        return OwnedRows(rows, self.take(rows))

    def joined(self, others: list[Source]) -> Source:
        """Return a source of the rows of several."""
        every = [self, *(other for other in others if isinstance(other, OwnedRows))]
        numbers = np.concatenate([each.numbers for each in every])
        order = np.argsort(numbers, kind="stable")
        own = [each.samples for each in every]
        blocks = [samples.X for samples in own]
        X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
        samples = replace(
            own[0],
            X=X[order],
            label=np.concatenate([each.label for each in own])[order],
            weight=np.concatenate([each.weight for each in own])[order],
            target=_together([each.target for each in own], order),
            code=_together([each.code for each in own], order),
        )
        return OwnedRows(numbers[order], samples)

    def values(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[Any]:
        """Look up precomputed kernel values, of which there are none."""
        raise TypeError("rows that lie with their part have no kernel matrix")

    def _positions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if rows.size == self.numbers.size and np.array_equal(rows, self.numbers):
            return np.arange(rows.size)
        return np.searchsorted(self.numbers, rows)


def _together(values: list[Any], order: NDArray[np.int64]) -> NDArray[Any] | None:
    return None if values[0] is None else np.concatenate(values)[order]


Source = Samples | OwnedRows


@dataclass(frozen=True)
class PartReport:
    """Result of solving a part, in numbers."""

    # Objectives of the part's own problem.
    primal: float
    dual: float
    iterations: int
    # Names of the solver's outcome and of the solver.
    outcome: str
    solver: str
    # Sums of |change of a dual| since the start, and of |dual|.
    moved: float
    size: float
    # Lowest eigenvalue of the part's kernel matrix if that is indefinite, else 0.
    lowest_eigenvalue: float = 0.0
    offset: float = 0.0  # the best offset, in a one-class problem


@dataclass(frozen=True)
class Part:
    """Some rows, their duals, and what the part stands for."""

    rows: NDArray[np.int64]  # (n_rows,): row numbers in the whole training set, ascending
    net_dual: Array  # (n_rows,): one dual per row
    # Weight of the training rows that the part stands for; more than that of its own rows once a
    # merge has dropped some.
    mass: float
    source: Source
    report: PartReport | None = None  # report of the last solve; None before the first

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.size)

    def samples(self) -> Samples:
        """Fetch the rows."""
        return self.source.take(self.rows)

    def keep(self, mask: NDArray[np.bool_]) -> Part:
        """Drop rows; the mass stays, because the part still stands for them."""
        rows = self.rows[mask]
        return Part(rows, self.net_dual[mask], self.mass, self.source.only(rows))

    def pieces(self, target: NDArray[np.int64]) -> list[tuple[int, Part]]:
        """Break the part up by a target number per row, its mass shared out by weight."""
        if self.n_rows == 0:
            return []
        weight = self.source.weights(self.rows)
        share = self.mass / float(weight.sum())
        order = np.argsort(target, kind="stable")  # rows stay ascending within a piece
        numbers, first = np.unique(target[order], return_index=True)
        pieces = []
        for number, here in zip(numbers, np.split(order, first[1:]), strict=True):
            rows, mass = self.rows[here], share * float(weight[here].sum())
            piece = Part(rows, self.net_dual[here], mass, self.source.only(rows))
            pieces.append((int(number), piece))
        return pieces


def whole_set(samples: Samples, start: Array | None = None) -> Part:
    """Make one part of a training set, its duals zero or as given."""
    net_dual = np.zeros(samples.n_rows) if start is None else start
    return Part(np.arange(samples.n_rows), net_dual, float(samples.weight.sum()), samples)


def join(parts: list[Part]) -> Part:
    """Put parts together, rows in ascending order."""
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows, kind="stable")
    net_dual = np.concatenate([part.net_dual for part in parts])
    mass = float(sum(part.mass for part in parts))
    source = parts[0].source.joined([part.source for part in parts[1:]])
    return Part(rows[order], net_dual[order], mass, source)
