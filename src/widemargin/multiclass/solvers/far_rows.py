"""Rows of a tournament that is played on an engine: dealt out to bundles, and to matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.blocks import RowBlock
from ..posed import Posed
from ..problem import MulticlassProblem
from .bundle_state import Layout
from .tournament import Match


@dataclass(frozen=True)
class SomeRows:
    """Some rows.

    Attributes
    ----------
    X : array or CSR matrix
        The rows.
    codes, bound : array
        Their classes, and the weights of their losses.
    """

    X: Any
    codes: NDArray[np.int32]
    bound: Array

    def problem(self, pose: Posed) -> MulticlassProblem:
        """Pose the problem on these rows alone."""
        return MulticlassProblem(
            self.X, self.codes, pose.n_classes, "ww", self.bound, pose.constant, pose.threads
        )


@dataclass(frozen=True)
class BundleRows(SomeRows):
    """Rows of a bundle's classes.

    Attributes
    ----------
    numbers : array of int64
        What number each has among all rows.
    bundle : int
        Number of the bundle.
    """

    numbers: NDArray[np.int64]
    bundle: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)


@dataclass(frozen=True)
class MatchRows(SomeRows):
    """Rows of two bundles; where weights are kept in lists, all numbers, most of them empty rows.

    Attributes
    ----------
    home, away : array of int64
        Which of them are the first bundle's, and the second's.
    match : pair of int
        The bundles.
    """

    home: NDArray[np.int64]
    away: NDArray[np.int64]
    match: Match


@dataclass(frozen=True)
class Deal:
    """Deals rows out to bundles.

    Attributes
    ----------
    starts : tuple of int
        Number of the first row of each block.
    """

    pose: Posed
    layout: Layout
    starts: tuple[int, ...]

    def split(self, position: int, block: RowBlock) -> list[tuple[int, BundleRows]]:
        """Divide a block by bundles; the first sends something to each, so that all are there."""
        bundle = self.layout.bundle_of[block.codes]
        bound = self.pose.bound(block.codes, block.weight)
        pieces = []
        for k in range(len(self.layout.bundles)):
            rows = np.flatnonzero(bundle == k)
            if len(rows) or position == 0:
                numbers = self.starts[position] + rows
                piece = BundleRows(block.X[rows], block.codes[rows], bound[rows], numbers, k)
                pieces.append((k, piece))
        return pieces

    def combine(self, pieces: list[BundleRows]) -> BundleRows:
        """Put the rows of a bundle together."""
        return BundleRows(
            stacked([piece.X for piece in pieces]),
            np.concatenate([piece.codes for piece in pieces]),
            np.concatenate([piece.bound for piece in pieces]),
            np.concatenate([piece.numbers for piece in pieces]),
            pieces[0].bundle,
        )


@dataclass(frozen=True)
class Pair:
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
        X = stacked([home.X, away.X])
        codes = np.concatenate([home.codes, away.codes])
        bound = np.concatenate([home.bound, away.bound])
        match = (home.bundle, away.bundle)
        if self.dense:
            first, second = np.split(np.arange(len(codes)), [home.n_rows])
            return MatchRows(X, codes, bound, first, second, match)
        # Rows take up classes with equal losses by their numbers, which they must keep.
        numbers = np.concatenate([home.numbers, away.numbers])
        spread = _with_empty_rows(sp.csr_matrix(X), numbers, self.n_rows)
        all_codes, all_bounds = np.zeros(self.n_rows, dtype=np.int32), np.zeros(self.n_rows)
        all_codes[numbers], all_bounds[numbers] = codes, bound
        return MatchRows(spread, all_codes, all_bounds, home.numbers, away.numbers, match)


def stacked(pieces: list[Any]) -> Any:
    """Put rows of one kind on top of each other."""
    if sp.issparse(pieces[0]):
        return sp.csr_matrix(sp.vstack(pieces, format="csr"))
    return np.ascontiguousarray(np.vstack(pieces))


def _with_empty_rows(X: Any, numbers: NDArray[np.int64], n_rows: int) -> Any:
    """Return rows under other numbers, between which rows are empty."""
    order = np.argsort(numbers)
    X = X[order]
    lengths = np.zeros(n_rows, dtype=np.int64)
    lengths[numbers[order]] = np.diff(X.indptr)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_matrix((X.data, X.indices, indptr), shape=(n_rows, X.shape[1]))
