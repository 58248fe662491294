"""Rounds of epochs until the gap is small: estimated after each, proved where it may end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Outcome, Solution
from ...engines import Engine
from ..problem import ClassWeights, StoredWeights

# A certificate is worth its pass when the estimated gap is within this many times `tol`.
NEAR = 1.3


class Rounds(Protocol):
    """What an ascent does in a round, and how it certifies where it is."""

    # Epochs after which the true gap is computed at the latest, for the record; and the factor from
    # each such time to the next.
    first_check: int
    growth: float
    # What the gap is expected to be of its estimate.
    true_share: float

    @property
    def state(self) -> ClassWeights:
        """Multipliers with their weights."""
        ...

    @property
    def traffic(self) -> dict[str, int]:
        """Columns of the history about what was sent between processes."""
        ...

    def advance(self, done: int, stopping: Callable[[], bool]) -> tuple[int, float]:
        """Take a round's epochs; return how many, and the gap that they suggest."""
        ...

    def certify(self, *, proved: bool) -> Certificate:
        """Evaluate both objectives; with ``proved``, without accumulated rounding."""
        ...

    def compare(self, estimate: float, certificate: Certificate) -> None:
        """Learn from a certificate what estimates are worth."""
        ...

    def go_on(self, done: int, stopping: Callable[[], bool]) -> int:
        """Prepare the next round; return the epochs that this took."""
        ...

    def weights(self) -> Any:
        """Return the weights in the end; the state need not keep them."""
        ...


def run(
    rounds: Rounds, certificate: Certificate, engine: Engine, budget: Budget, history: History
) -> Solution[ClassWeights]:
    """Take rounds from a state with its certificate until the gap is at most ``tol``."""

    def stopping() -> bool:
        return budget.out_of_time or engine.stopping()

    def record() -> None:
        history.record(
            rounds.state,
            iteration=done,
            primal=certificate.primal,
            dual=certificate.dual,
            relative_gap=certificate.relative_gap,
            **rounds.traffic,
        )

    done, next_check = 0, rounds.first_check
    record()
    outcome = Outcome.CONVERGED if certificate.relative_gap <= budget.tol else None
    while outcome is None:
        taken, estimate = rounds.advance(done, stopping)
        done = history.iterations = done + taken
        last, late = done >= budget.max_iter, budget.out_of_time
        near = rounds.true_share * estimate <= NEAR * budget.tol
        if near or done >= next_check or last or late:
            next_check = int(rounds.growth * done)
            certificate = rounds.certify(proved=last or late)
            rounds.compare(estimate, certificate)
            if certificate.relative_gap <= budget.tol and not (last or late):
                certificate = rounds.certify(proved=True)
            record()
            if certificate.relative_gap <= budget.tol:
                outcome = Outcome.CONVERGED
            elif last or late:
                outcome = Outcome.ITERATIONS if last else Outcome.TIME
        else:
            history.report(rounds.state, iteration=done, relative_gap=estimate)
        if outcome is None:
            done += rounds.go_on(done, stopping)
    found = history.latest = StoredWeights(rounds.weights(), rounds.state.duals)
    return Solution(found, certificate, outcome, done)
