"""The tournament of :mod:`.weston_watkins` on rows that an engine keeps.

Rows are dealt out once: to bundles, and for every round to its matches, so that each row lies in as
many places as there are bundles. From then on rows stay; to a match go the weights and multipliers
of its two bundles, and back come theirs after it. They pass through this process, which therefore
can go on whatever is lost elsewhere. What was sent is counted (``bytes_moved``).

The model is that of one memory: the same matches in the same order, with the same orders of rows.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ... import _native
from ...core.arrays import Array
from ...core.blocks import RowBlock
from ...core.certificates import Certificate
from ..monitor import MulticlassMonitor
from ..posed import Posed, RowsOnEngine
from ..solution import MulticlassSolution
from .bundle_state import BundleState, Layout, put_weights, weights_of
from .class_bundles import SCALES, SPARSE_SHARE, Pass, shuffle_seed
from .dual_ascent import ascend
from .far_rows import BundleRows, Deal, MatchRows, Pair
from .tournament import Match, rounds
from .weston_watkins import Turn, dealt, turns


def solve(rows: RowsOnEngine, monitor: MulticlassMonitor) -> MulticlassSolution:
    """Maximise the dual on an engine's rows, from zero."""
    state = FarBundles(rows)
    return ascend(FarTournament(), state, state.certificate_of_zero(), monitor, rows.engine)


@dataclass(frozen=True)
class Totals:
    """Sums over all rows.

    Attributes
    ----------
    n_rows : int
        Their number.
    lost_anyway, lost_at_zero : float
        Losses of rows that are all zeros, and of all rows where weights are zero.
    """

    n_rows: int
    lost_anyway: float
    lost_at_zero: float


class FarBundles:
    """Bundles whose rows lie on an engine, and their weights and multipliers here.

    Attributes
    ----------
    problem : Totals
        Of the rows.
    states : list of BundleState
        Of all bundles.
    bytes_moved : int
        Bytes of weights and multipliers sent to matches and back.
    """

    def __init__(self, rows: RowsOnEngine) -> None:
        self.engine, self.pose = rows.engine, rows.pose
        class_rows, starts = np.zeros(rows.pose.n_classes, dtype=np.int64), [0]
        for counts in self.engine.reduce(rows.blocks, class_counts, operator.add):
            class_rows[: len(counts)] += counts
            starts.append(starts[-1] + int(counts.sum()))
        bundles = tuple(dealt(class_rows))
        _require_room([int(class_rows[classes].sum()) for classes in bundles], rows)
        dense = 8 * self.pose.size * self.pose.n_classes <= rows.memory // 2
        self.layout = Layout(bundles, self.pose.size, dense)
        deal = Deal(self.pose, self.layout, tuple(starts[:-1]))
        self._parts = self.engine.regroup(rows.blocks, deal.split, deal.combine, len(bundles))
        facts = self.engine.reduce(self._parts, Facts(self.pose), operator.add)
        self.problem = Totals(starts[-1], *np.sum([fact[1:] for fact in facts], axis=0).tolist())
        self.states = [BundleState.zero(self.layout, k, n) for k, (n, *_) in enumerate(facts)]
        self.schedule, self._matches = rounds(len(bundles)), []
        for matches in self.schedule:
            pair = Pair(tuple(matches), dense, starts[-1])
            self._matches.append(
                self.engine.regroup(self._parts, pair.split, pair.combine, len(matches))
            )
        self.scale, self.bytes_moved = 1.0, 0
        self._seeds: tuple[int, ...] = ()

    def shuffle(self, seed: int) -> None:
        """Put the rows of every bundle into another order."""
        self._seeds = (*self._seeds, seed)

    def play(self, number: int, turn: Turn) -> list[tuple[float, float]]:
        """Play a round; return the losses met and the gain of each match."""
        question = Play(self.pose, self.layout, tuple(self.states), turn, self._seeds)
        played: list[Played] = self.engine.reduce(self._matches[number], question, operator.add)
        for result in played:
            for k, state in zip(result.match, result.states, strict=True):
                self.bytes_moved += self.states[k].n_bytes + state.n_bytes
                self.states[k] = state
        return [(result.loss, result.gain) for result in played]

    def refresh(self) -> None:
        """Recompute the weights from the multipliers."""
        question = Recompute(self.pose, self.layout, tuple(self.states))
        weights = self.engine.reduce(self._parts, question, _added)
        self.states = [
            BundleState(own, state.duals) for own, state in zip(weights, self.states, strict=True)
        ]
        self.scale = 1.0

    def dual_sum(self) -> float:
        """Return the sum of all multipliers."""
        return self.problem.lost_anyway + sum(state.dual_sum() for state in self.states)

    def certificate_of_zero(self) -> Certificate:
        """Return the certificate before the first step."""
        return Certificate(self.problem.lost_at_zero, self.problem.lost_anyway)

    def certify(self) -> Certificate:
        """Evaluate both objectives, and settle the scale of the weights."""
        half = 0.5 * sum(state.squared_norm() for state in self.states)
        losses = self.engine.reduce(
            self._parts, LossesOf(self.pose, self.layout, tuple(self.states)), operator.add
        )
        scales = np.array(SCALES)
        primals = scales**2 * half + losses
        best = int(np.argmin(primals))
        self.scale = float(scales[best])
        return Certificate(float(primals[best]), self.dual_sum() - half)

    def weights(self) -> Any:
        """Return the weights as (classes, size), sparse where most are zero."""
        parts = [state.weights for state in self.states]
        stored = sum(w.nnz if sp.issparse(w) else np.count_nonzero(w) for w in parts)
        if stored <= (1 - SPARSE_SHARE) * self.layout.n_classes * self.layout.size:
            blocks = sp.vstack([sp.csr_array(w) for w in parts], format="csr")
            return sp.csr_array(blocks[self.layout.number] * self.scale)
        dense = np.vstack([w.toarray() if sp.issparse(w) else w for w in parts])
        return np.asarray(dense[self.layout.number] * self.scale)

    def duals(self) -> None:
        """Return nothing: multipliers stay with the bundles."""
        return None


class FarTournament:
    """Every bundle meets every other, and itself, in each epoch."""

    def epoch(self, state: FarBundles, what: Pass) -> tuple[float, float]:
        """Play all rounds, in a new order."""
        state.shuffle(what.seed)
        loss = gain = 0.0
        for number, turn in turns(state.schedule, what, state.layout.dense):
            for met, gained in state.play(number, turn):
                loss, gain = loss + met, gain + gained
            if what.stopping():
                break
        return loss, gain


def _require_room(bundle_rows: list[int], rows: RowsOnEngine) -> None:
    """Raise if the largest match is larger than a task may be."""
    share = sum(sorted(bundle_rows)[-2:]) / max(1, sum(bundle_rows))
    needed = share * rows.stored_bytes
    if needed > rows.memory:
        raise ValueError(
            f"`solver='tournament'` needs the rows of two bundles of classes in one task: "
            f"{needed / 1e6:,.0f} MB, and the memory limit is {rows.memory / 1e6:,.0f} MB. Raise "
            "the limit if tasks have as much, or use solver='newton' or SparkLinearSVMClassifier, "
            "which go by smaller blocks."
        )


def class_counts(block: RowBlock) -> list[Any]:
    """Count the rows of each class in a block."""
    return [np.bincount(block.codes)]


@dataclass(frozen=True)
class Facts:
    """Rows of a bundle, and what they lose: those of zeros, and all at weights of zero."""

    pose: Posed

    def __call__(self, rows: BundleRows) -> list[tuple[int, float, float]]:
        """Pass over the rows of a bundle."""
        problem = rows.problem(self.pose)
        at_zero = float(problem.bound.sum()) * problem.losses_per_row
        return [(rows.n_rows, problem.lost_anyway, at_zero)]


@dataclass(frozen=True)
class Played:
    """How a match ended."""

    match: Match
    states: tuple[BundleState, BundleState]
    loss: float
    gain: float


@dataclass(frozen=True)
class Play:
    """The matches of a round."""

    pose: Posed
    layout: Layout
    states: tuple[BundleState, ...]
    turn: Turn
    seeds: tuple[int, ...]

    def __call__(self, rows: MatchRows) -> list[Played]:
        """Play one."""
        native = rows.problem(self.pose).native(self.layout.number[rows.codes])
        first, second = rows.match
        home, away = self._shuffled(first, rows.home), self._shuffled(second, rows.away)
        loss, gain = self.turn.play(native, home, away)
        states = BundleState.of(home, self.layout), BundleState.of(away, self.layout)
        return [Played(rows.match, states, loss, gain)]

    def _shuffled(self, k: int, rows: Any) -> _native.ClassBundle:
        bundle = self.states[k].bundle(self.layout, k, rows)
        for seed in self.seeds:  # each order is made of the one before
            bundle.shuffle(shuffle_seed(seed, k))
        return bundle


@dataclass(frozen=True)
class Recompute:
    """What the rows of a bundle add to the weights of all."""

    pose: Posed
    layout: Layout
    states: tuple[BundleState, ...]

    def __call__(self, rows: BundleRows) -> list[Any]:
        """Pass over the rows of a bundle."""
        native = rows.problem(self.pose).native(self.layout.number[rows.codes])
        nothing = np.empty(0, dtype=np.int64)
        home = self.layout.empty(rows.bundle, np.arange(rows.n_rows))
        home.set_duals(*self.states[rows.bundle].duals)
        weights = []
        for k in range(len(self.layout.bundles)):
            away = home if k == rows.bundle else self.layout.empty(k, nothing)
            native.add_weights("ww", home, away)
            weights.append(weights_of(away, self.layout.size))
        return weights


@dataclass(frozen=True)
class LossesOf:
    """Losses of a bundle's rows with all weights, at several scales of these."""

    pose: Posed
    layout: Layout
    states: tuple[BundleState, ...]

    def __call__(self, rows: BundleRows) -> Array:
        """Pass over the rows of a bundle."""
        if rows.n_rows == 0:
            return np.zeros(len(SCALES))
        native = rows.problem(self.pose).native(self.layout.number[rows.codes])
        bundles = [self._bundle(k) for k in range(len(self.states))]
        return np.array(native.total_losses("ww", bundles, None, SCALES, self.pose.threads))

    def _bundle(self, k: int) -> _native.ClassBundle:
        bundle = self.layout.empty(k, np.empty(0, dtype=np.int64))
        put_weights(bundle, self.states[k].weights, self.layout)
        return bundle


def _added(one: list[Any], other: list[Any]) -> list[Any]:
    """Add up weights of all bundles."""
    return [
        a + b if sp.issparse(a) == sp.issparse(b) else np.asarray(a + b)
        for a, b in zip(one, other, strict=True)
    ]
