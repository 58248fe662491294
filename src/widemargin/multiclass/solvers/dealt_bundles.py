"""The tournament of :mod:`.tournament` on rows that an engine keeps in other processes.

Rows are dealt out once: to bundles, and for every round to its matches, so that each row is stored
as many times as there are bundles. After that rows stay where they are. A match receives the
weights and multipliers of its two bundles and sends them back when it ends. They pass through this
process, so the fit survives the loss of any other. The bytes sent are counted (``bytes_moved``).

In one memory, :class:`.tournament.MatchedBundles` plays on rows that no match copies and bundles
that stay in the native core, because rebuilding them for every match costs more than playing it.
The model is the same: the same matches in the same order, with the same orders of rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ... import _native
from ...core.arrays import Array
from ...core.blocks import RowBlock
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Solution
from ..problem import ClassWeights, MulticlassProblem
from .bundles import (
    SCALES,
    BundleLayout,
    BundleState,
    best_scale,
    put_weights,
    shuffle_seed,
    smaller_weights,
)
from .dealt_rows import BundleRows, DealToBundles, MatchRows, PairBundles
from .dual_ascent import ascend
from .tournament import Match, Round, Tournament, dealt_classes, rounds

NO_ROWS = np.empty(0, dtype=np.int64)


def solve(problem: MulticlassProblem, budget: Budget, history: History) -> Solution[ClassWeights]:
    """Maximise the dual on rows of another process, from zero."""
    state = DealtBundles(problem, budget.memory)
    return ascend(Tournament(), state, state.certify_zero(), problem.engine, budget, history)


class DealtBundles:
    """Bundles whose rows are on an engine and whose weights and multipliers are in this process.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    fixed_loss, loss_at_zero : float
        Losses of rows that are all zeros, and of all rows where weights are zero.
    states : list of BundleState
        Weights and multipliers of all bundles.
    bytes_moved : int
        Bytes of weights and multipliers sent to matches and back.
    """

    def __init__(self, problem: MulticlassProblem, memory: int) -> None:
        self.engine, self.objective = problem.engine, problem.objective
        class_rows, starts = np.zeros(self.objective.n_classes, dtype=np.int64), [0]
        for counts in self.engine.reduce(problem.blocks, class_counts, operator.add):
            class_rows[: len(counts)] += counts
            starts.append(starts[-1] + int(counts.sum()))
        self.n_rows = starts[-1]
        bundles = dealt_classes(class_rows)
        _require_room([int(class_rows[classes].sum()) for classes in bundles], problem, memory)
        self.layout = BundleLayout.within(memory, bundles, self.objective.size)
        deal = DealToBundles(self.objective, self.layout, tuple(starts[:-1]))
        self._parts = self.engine.regroup(problem.blocks, deal.split, deal.combine, len(bundles))
        losses = self.engine.reduce(self._parts, known_losses, operator.add)
        totals = np.sum([each[1:] for each in losses], axis=0)
        self.fixed_loss, self.loss_at_zero = float(totals[0]), float(totals[1])
        self.states = [BundleState.zero(self.layout, k, n) for k, (n, *_) in enumerate(losses)]
        self.schedule, self._matches = rounds(len(bundles)), []
        for matches in self.schedule:
            pair = PairBundles(tuple(matches), self.layout.dense, self.n_rows)
            self._matches.append(
                self.engine.regroup(self._parts, pair.split, pair.combine, len(matches))
            )
        self.scale, self.bytes_moved = 1.0, 0
        self._threads = self.engine.share(1).threads
        self._seeds: tuple[int, ...] = ()

    def shuffle(self, seed: int) -> None:
        """Put the rows of every bundle into another order."""
        self._seeds = (*self._seeds, seed)

    def play(
        self, position: int, played: Round, stopping: Callable[[], bool]
    ) -> list[tuple[float, float]]:
        """Play a round of the schedule; return the losses met and the gain of each match."""
        question = PlayMatch(self.layout, tuple(self.states), played, self._seeds)
        results: list[Played] = self.engine.reduce(self._matches[position], question, operator.add)
        for result in results:
            for k, state in zip(result.match, result.states, strict=True):
                self.bytes_moved += self.states[k].n_bytes + state.n_bytes
                self.states[k] = state
        return [(result.loss, result.gain) for result in results]

    @property
    def traffic(self) -> dict[str, int]:
        """Columns of the history about what was sent."""
        return {"bytes_moved": self.bytes_moved}

    def refresh(self) -> None:
        """Recompute the weights from the multipliers."""
        question = WeightsFrom(self.layout, tuple(self.states))
        weights = self.engine.reduce(self._parts, question, _added)
        self.states = [
            BundleState(own, state.duals) for own, state in zip(weights, self.states, strict=True)
        ]
        self.scale = 1.0

    def dual_sum(self) -> float:
        """Return the sum of all multipliers."""
        return self.fixed_loss + sum(state.dual_sum() for state in self.states)

    def certify_zero(self) -> Certificate:
        """Return the certificate of weights of zero."""
        return Certificate(self.loss_at_zero, self.fixed_loss)

    def certify(self) -> Certificate:
        """Evaluate both objectives, and choose the scale of the weights."""
        half = 0.5 * sum(state.squared_norm() for state in self.states)
        question = LossesAt(self.layout, tuple(self.states), self._threads)
        losses = self.engine.reduce(self._parts, question, operator.add)
        self.scale, certificate = best_scale(half, losses, self.dual_sum() - half)
        return certificate

    @property
    def weights(self) -> Any:
        """The weights as (classes, size), sparse where most are zero."""
        sparse = self.layout.is_sparse(sum(state.stored for state in self.states))
        parts = [sp.csr_array(s.weights) if sparse else s.weights for s in self.states]
        return self.layout.combined(parts, sparse=sparse, scale=self.scale)

    def take_weights(self) -> Any:
        """Return the weights."""
        return self.weights

    @property
    def duals(self) -> None:
        """None: multipliers stay with the bundles."""
        return None


def _require_room(bundle_rows: list[int], problem: MulticlassProblem, memory: int) -> None:
    """Raise if the largest match is larger than a task may be."""
    share = sum(sorted(bundle_rows)[-2:]) / max(1, sum(bundle_rows))
    needed = share * problem.stored_bytes
    if needed > memory:
        raise ValueError(
            f"`solver='tournament'` needs the rows of two bundles of classes in one task: "
            f"{needed / 1e6:,.0f} MB, and the memory limit is {memory / 1e6:,.0f} MB. Raise "
            "the limit if tasks have as much, or use solver='newton' or SparkLinearSVMClassifier, "
            "which go by smaller blocks."
        )


def class_counts(block: RowBlock) -> list[Any]:
    """Count the rows of each class in a block."""
    return [np.bincount(block.codes)]


def known_losses(rows: BundleRows) -> list[tuple[int, float, float]]:
    """Return a bundle's rows, the loss of those of zeros, and the loss of all at zero weights."""
    problem = rows.problem
    return [(problem.n_rows, problem.fixed_loss, problem.loss_at_zero)]


@dataclass(frozen=True)
class Played:
    """How a match ended."""

    match: Match
    states: tuple[BundleState, BundleState]
    loss: float
    gain: float


@dataclass(frozen=True)
class PlayMatch:
    """Plays one match of a round."""

    layout: BundleLayout
    states: tuple[BundleState, ...]
    round: Round
    seeds: tuple[int, ...]

    def __call__(self, rows: MatchRows) -> list[Played]:
        """Let the two bundles of these rows meet."""
        native = rows.problem.native(self.layout.number)
        first, second = rows.match
        home, away = self._shuffled(first, rows.home), self._shuffled(second, rows.away)
        loss, gain = self.round.play(native, home, away)
        states = BundleState.of(home, self.layout), BundleState.of(away, self.layout)
        return [Played(rows.match, states, loss, gain)]

    def _shuffled(self, k: int, rows: Any) -> _native.ClassBundle:
        bundle = self.states[k].bundle(self.layout, k, rows)
        for seed in self.seeds:  # each order is made of the one before
            bundle.shuffle(shuffle_seed(seed, k))
        return bundle


@dataclass(frozen=True)
class WeightsFrom:
    """Computes what the rows of a bundle add to the weights of all bundles."""

    layout: BundleLayout
    states: tuple[BundleState, ...]

    def __call__(self, rows: BundleRows) -> list[Any]:
        """Pass over the rows of a bundle."""
        native = rows.problem.native(self.layout.number)
        home = self.layout.empty(rows.bundle, np.arange(rows.n_rows))
        home.set_duals(*self.states[rows.bundle].duals)
        weights = []
        for k in range(len(self.layout.bundles)):
            away = home if k == rows.bundle else self.layout.empty(k, NO_ROWS)
            native.add_weights("ww", home, away)
            weights.append(smaller_weights(away, self.layout.size))
        return weights


@dataclass(frozen=True)
class LossesAt:
    """Computes the losses of a bundle's rows with all weights, at several scales of these."""

    layout: BundleLayout
    states: tuple[BundleState, ...]
    threads: int

    def __call__(self, rows: BundleRows) -> Array:
        """Pass over the rows of a bundle."""
        if rows.n_rows == 0:
            return np.zeros(len(SCALES))
        native = rows.problem.native(self.layout.number)
        bundles = [self._bundle(k) for k in range(len(self.states))]
        return np.array(native.total_losses("ww", bundles, None, SCALES, self.threads))

    def _bundle(self, k: int) -> _native.ClassBundle:
        bundle = self.layout.empty(k, NO_ROWS)
        put_weights(bundle, self.states[k].weights, self.layout)
        return bundle


def _added(one: list[Any], other: list[Any]) -> list[Any]:
    """Add up weights of all bundles."""
    return [
        a + b if sp.issparse(a) == sp.issparse(b) else np.asarray(a + b)
        for a, b in zip(one, other, strict=True)
    ]
