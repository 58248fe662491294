"""Margins of several problems on the same rows: a kernel value serves all problems that want it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.rows import as_rows
from ..certificates import SAMPLE, rounding_of_sample
from ..exact_sums import exact_sums
from ..kernels import Kernel
from .row_groups import RowGroup, SharedProblem, row_groups

# One array for each problem, in a list or as the lines of a matrix.
Arrays: TypeAlias = "Sequence[Array] | Array"


class SharedMargins:
    """Multiplies the Q of every problem with its duals.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows.
    kernel : Kernel
        A kernel by name.
    threads : int
        Threads; results do not depend on it.

    Attributes
    ----------
    rows : Rows
        The rows in the precision of the data.
    entries : int
        Kernel values evaluated so far.
    """

    def __init__(self, X: Any, kernel: Kernel, threads: int) -> None:
        self.X, self.kernel, self.threads = X, kernel, threads
        self.rows, self.n_rows, self.entries = as_rows(X), int(X.shape[0]), 0

    def of(
        self,
        problems: Sequence[SharedProblem],
        net_dual: Arrays,
        *,
        single: bool = False,
    ) -> list[Array]:
        """Compute Q ``net_dual`` for several problems, kernel values shared.

        These are float64; with ``single``, they have the precision of the rows.
        """
        margin = [np.zeros(len(each.label)) for each in problems]
        for group in row_groups(problems, self.n_rows):
            for p, place, at in self.of_group(group, problems, net_dual, None, single=single):
                margin[p][place] = at
        return margin

    def rounding(
        self, problems: Sequence[SharedProblem], net_dual: Arrays, margin: Arrays
    ) -> Array:
        """Estimate how far the margins of each problem are off, by samples of its rows."""
        random, worst = np.random.default_rng(0), np.zeros(len(problems))
        for group in row_groups(problems, self.n_rows):
            count = self.n_rows if group.rows is None else len(group.rows)
            drawn = np.sort(random.choice(count, min(SAMPLE, count), replace=False))
            for p, place, at in self.of_group(group, problems, net_dual, drawn, single=False):
                off = at - margin[p][place]
                worst[p] = np.fmax(worst[p], rounding_of_sample(off))
        return worst

    def of_group(
        self,
        group: RowGroup,
        problems: Sequence[SharedProblem],
        net_dual: Arrays,
        picked: NDArray[np.int64] | None,
        *,
        single: bool,
    ) -> Iterator[tuple[int, NDArray[np.int64] | slice, Array]]:
        """Yield the problems of a group, where its rows (or some) are there, and their margins."""
        queries = group.rows
        if picked is not None:
            queries = picked if group.rows is None else group.rows[picked]
        sums = self._sums(group, problems, net_dual, queries, single)
        for p, place, total in zip(group.problems, group.places, sums, strict=True):
            if picked is not None:
                place = picked if isinstance(place, slice) else place[picked]
            yield int(p), place, total * problems[p].label[place]

    def _sums(
        self,
        group: RowGroup,
        problems: Sequence[SharedProblem],
        net_dual: Arrays,
        queries: NDArray[np.int64] | None,
        single: bool,
    ) -> Array:
        """Sum over the support of each of a group's problems, for some of the group's rows."""
        coef = np.zeros((len(group.problems), self.n_rows))
        for k, p in enumerate(group.problems):
            own = slice(None) if problems[p].rows is None else problems[p].rows
            coef[k, own] = net_dual[p] * problems[p].label
        support = np.flatnonzero(coef.any(axis=0))
        count = self.n_rows if queries is None else len(queries)
        self.entries += len(support) * count
        coef = coef[:, support]
        if not single:
            return exact_sums(self.kernel, self.X, coef, support, self.threads, queries)
        return self.kernel.product(self.rows, self.rows, coef, support, self.threads, queries)

    def add(
        self,
        group: RowGroup,
        problems: Sequence[SharedProblem],
        margin: Arrays,
        block: NDArray[np.int64],
        changes: Array,
        outside: NDArray[np.int64],
    ) -> None:
        """Add what changes of a block's signed duals do to the margins of some of a group's rows.

        ``changes`` has a line for every problem and a column for every row of the block;
        ``outside`` are numbers within the group.
        """
        mine = changes[group.problems]
        moved, among = np.flatnonzero(mine.any(axis=0)), np.flatnonzero(mine.any(axis=1))
        if not len(moved) or not len(outside):
            return
        sums = self.kernel.product(
            self.rows,
            self.rows,
            mine[np.ix_(among, moved)],
            block[moved],
            self.threads,
            outside if group.rows is None else group.rows[outside],
        )
        self.entries += len(moved) * len(outside)
        for k, total in zip(among, sums, strict=True):
            p, places = group.problems[k], group.places[k]
            place = outside if isinstance(places, slice) else places[outside]
            margin[p][place] += total * problems[p].label[place]
