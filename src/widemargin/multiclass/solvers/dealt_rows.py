"""Rows of a tournament on an engine: dealt out to bundles, and to the matches of every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.blocks import RowBlock
from ..problem import InMemoryProblem, MulticlassObjective
from .bundles import BundleLayout
from .tournament import Match


@dataclass(frozen=True)
class BundleRows:
    """Rows of a bundle's classes."""

    problem: InMemoryProblem  # the problem on these rows
    numbers: NDArray[np.int64]  # number of each row among all rows
    bundle: int  # number of the bundle

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.problem.n_rows


@dataclass(frozen=True)
class MatchRows:
    """Rows of the two bundles of a match."""

    # The problem on these rows; where weights are sparse, rows keep their numbers among all rows,
    # and the rows between them are empty.
    problem: InMemoryProblem
    # Rows of the first bundle, and of the second.
    home: NDArray[np.int64]
    away: NDArray[np.int64]
    match: Match


@dataclass(frozen=True)
class DealToBundles:
    """Deals the rows of blocks out to bundles."""

    objective: MulticlassObjective  # what is minimised
    layout: BundleLayout
    starts: tuple[int, ...]  # number of the first row of each block

    def split(self, position: int, block: RowBlock) -> list[tuple[int, BundleRows]]:
        """Divide a block by bundles; the first sends something to each, so that all exist."""
        problem = self.objective.on(block)
        bundle = self.layout.bundle_of[block.codes]
        pieces = []
        for k in range(len(self.layout.bundles)):
            rows = np.flatnonzero(bundle == k)
            if len(rows) or position == 0:
                own = replace(
                    problem, X=block.X[rows], codes=block.codes[rows], bound=problem.bound[rows]
                )
                pieces.append((k, BundleRows(own, self.starts[position] + rows, k)))
        return pieces

    def combine(self, pieces: list[BundleRows]) -> BundleRows:
        """Put the rows of a bundle together."""
        numbers = np.concatenate([piece.numbers for piece in pieces])
        return BundleRows(_stacked(pieces), numbers, pieces[0].bundle)


@dataclass(frozen=True)
class PairBundles:
    """Brings the bundles of a round's matches together."""

    matches: tuple[Match, ...]
    dense: bool
    n_rows: int

    def split(self, _: int, rows: BundleRows) -> list[tuple[int, BundleRows]]:
        """Send a bundle to its match; one may sit out."""
        return [(k, rows) for k, match in enumerate(self.matches) if rows.bundle in match]

    def combine(self, pieces: list[BundleRows]) -> MatchRows:
        """Make two bundles a match."""
        home, away = sorted(pieces, key=lambda rows: rows.bundle)
        both, match = _stacked([home, away]), (home.bundle, away.bundle)
        if self.dense:
            first, second = np.split(np.arange(both.n_rows), [home.n_rows])
            return MatchRows(both, first, second, match)
        # Rows take up classes with equal losses by their numbers, which they must keep.
        numbers = np.concatenate([home.numbers, away.numbers])
        codes, bound = np.zeros(self.n_rows, dtype=np.int32), np.zeros(self.n_rows)
        codes[numbers], bound[numbers] = both.codes, both.bound
        X = _with_empty_rows(sp.csr_matrix(both.X), numbers, self.n_rows)
        spread = replace(both, X=X, codes=codes, bound=bound)
        return MatchRows(spread, home.numbers, away.numbers, match)


def _stacked(pieces: Sequence[BundleRows]) -> InMemoryProblem:
    """Put rows of one kind on top of each other."""
    problems = [piece.problem for piece in pieces]
    X: Any = [problem.X for problem in problems]
    sparse = sp.issparse(X[0])
    return replace(
        problems[0],
        X=sp.csr_matrix(sp.vstack(X, format="csr")) if sparse else np.vstack(X),
        codes=np.concatenate([problem.codes for problem in problems]),
        bound=np.concatenate([problem.bound for problem in problems]),
    )


def _with_empty_rows(X: Any, numbers: NDArray[np.int64], n_rows: int) -> Any:
    """Return rows under other numbers, between which rows are empty."""
    order = np.argsort(numbers)
    X = X[order]
    lengths = np.zeros(n_rows, dtype=np.int64)
    lengths[numbers[order]] = np.diff(X.indptr)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_matrix((X.data, X.indices, indptr), shape=(n_rows, X.shape[1]))
