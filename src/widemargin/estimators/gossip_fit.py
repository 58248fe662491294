"""Run the network of every binary problem, and keep what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import Fit
from ..core.history import Columns, History
from ..core.outcome import Solution
from ..gossip import NetworkFaults, Simulation, Stopping, Talking, Topology
from ..gossip.methods import GossipMethod
from ..gossip.simulation import HISTORY
from ..linear.history import Score
from ..linear.model import split_weights
from ..linear.problems import LinearProblems
from .gossip_outcomes import (
    Ending,
    NetworkOutcome,
    ending_of,
    warn_of_missing_sites,
    warn_of_outcomes,
)
from .gossip_sites import Placement

COLUMNS: Columns = {
    "problem": int,
    **{name: int if name in ("round", "messages", "bytes") else float for name in HISTORY},
}
# Vectors of a model's length, for every one that a message carries: on a link, beside messages that
# are late; at a site; and for a site's models of all binary problems as they become attributes.
# Push-Sum remembers what was sent, received, acknowledged and not yet acknowledged.
PER_LINK = {"consensus": 2, "gadget": 6, "tracking": 6}
PER_SITE = 10
PER_PROBLEM = 3


@dataclass(frozen=True)
class NetworkRules:
    """How the sites learn, talk and stop.

    Attributes
    ----------
    method : GossipMethod
        How they learn.
    talking, faults, stopping
        As the simulation takes them.
    """

    method: GossipMethod
    talking: Talking
    faults: NetworkFaults
    stopping: Stopping

    def check_memory(self, topology: Topology, size: int, n_problems: int, limit: int) -> None:
        """Raise if sites and links would need more bytes than allowed, before they are built."""
        late = self.talking.exchanges * self.faults.delay * (1.0 + self.faults.duplication)
        if self.method.name != "consensus":
            late *= 2  # remembered at the sender, too
        per_link = PER_LINK[self.method.name] + late
        vectors = self.method.vectors * (per_link * topology.n_links + PER_SITE * topology.n_sites)
        needed = 8 * size * (vectors + PER_PROBLEM * n_problems * topology.n_sites)
        if needed > limit:
            raise ValueError(
                f"{topology.n_sites:,} sites and their {topology.n_links // 2:,} links need about "
                f"{needed / 2**30:.2g} GiB for models of {size:,} weights, more than "
                f"`memory_limit`, {limit / 2**30:.2g} GiB. Take a topology with fewer links, such "
                "as 'ring' or ('random_regular', {'degree': 4}), or fewer sites, or raise "
                "`memory_limit`."
            )


@dataclass(frozen=True)
class Simulating:
    """Runs the network of one binary problem; the parameters are those of :class:`GossipFit`."""

    problems: LinearProblems
    placement: Placement
    rules: NetworkRules
    score: Score | None = None
    report: Callable[[int, int], None] | None = None

    def __call__(self, k: int, budget: Budget, history: History) -> Solution[NetworkOutcome]:
        """Run the network of problem ``k``."""
        if self.report is not None and self.problems.n_problems > 1:
            self.report(k, self.problems.n_problems)
        simulation = self._simulation(k, budget)

        def record(_: Any = None) -> None:
            for row in simulation.records[len(history.rows) :]:
                left = NetworkOutcome.of(simulation, Ending.INTERRUPTED)
                history.record(left, **dict(zip(HISTORY, row, strict=True)))

        stopping = None if budget.max_time is None else (lambda: budget.out_of_time)
        last = simulation.run(budget.max_iter, stopping, record)
        if not np.isfinite(last.models).all():  # not even the first round's
            raise ValueError(
                "Models must stay finite; they overflowed in the first round. Scale the features, "
                "or lower `C`."
            )
        record()
        ending = ending_of(simulation, budget.max_iter)
        outcome = NetworkOutcome.of(simulation, ending)
        return Solution(
            outcome,
            outcome.certificate,
            outcome.outcome(budget.tol),
            outcome.rounds,
            self.rules.method.name,
        )

    def _simulation(self, k: int, budget: Budget) -> Simulation:
        placement, rules, score = self.placement, self.rules, self.score
        accuracy: Callable[[Array], Array] | None = None
        if score is not None:

            def accuracy(models: Array) -> Array:
                return np.array([score(w, k) for w in models])

        return Simulation(
            self.problems.in_one_place(k, budget.threads),
            placement.start,
            placement.topology,
            rules.method,
            rules.talking,
            rules.faults,
            rules.stopping,
            budget.seed,
            accuracy,
        )


class GossipFit(Fit[NetworkOutcome]):
    """Runs one network after the other; the iterates are what networks leave.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problems : LinearProblems
        The binary problems, on all sites' rows.
    placement : Placement
        The rows over the sites.
    rules : NetworkRules
        How the sites learn, talk and stop.
    budget, history
        As in :class:`~widemargin.core.fit.Fit`; a round is an iteration.
    score : callable, optional
        Scores models by other rows than those trained on.
    report : callable, optional
        Receives (problems done, problems) where there are several.
    """

    def __init__(
        self,
        name: str,
        problems: LinearProblems,
        placement: Placement,
        rules: NetworkRules,
        budget: Budget,
        history: History,
        *,
        score: Score | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        simulate = Simulating(problems, placement, rules, score, report)
        super().__init__(name, problems.n_problems, simulate, budget, history)
        self.problems, self.placement, self.rules = problems, placement, rules

    @property
    def outcomes(self) -> list[NetworkOutcome]:
        """What is left of the networks that were begun, in order."""
        found = [self.iterate(k) for k in range(self.n_problems)]
        return [each for each in found if each is not None]

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: every problem has been begun."""
        return len(self.outcomes) == self.n_problems

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        outcomes, placement, constant = self.outcomes, self.placement, self.problems.constant
        certificates = [each.certificate for each in outcomes]
        gap = max(each.relative_gap for each in certificates)
        coef, intercept = split_weights(np.stack([each.mean for each in outcomes]), constant)
        site_coef, site_intercept = split_weights(
            np.stack([each.models for each in outcomes]), constant
        )
        talking = self.rules.talking
        return {
            "coef_": coef,
            "intercept_": intercept,
            "site_coef_": site_coef,
            "site_intercept_": site_intercept,
            "sites_": placement.labels,
            "topology_": placement.topology,
            "mixing_time_": float(placement.topology.mixing_time(talking.weights)),
            "label_skew_": placement.label_skew,
            "dual_gap_": float(sum(each.gap for each in certificates)),
            "relative_gap_": float(gap),
            "estimated_gap_": float(max(each.estimated_gap for each in outcomes)),
            "converged_": bool(gap <= self.budget.tol),
            "n_iter_": max(each.rounds for each in outcomes),
            "n_messages_": sum(each.messages for each in outcomes),
            "n_bytes_": sum(each.n_bytes for each in outcomes),
            "history_": self.history.table(),
            "solver_": self.rules.method.name,
        }

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Say which sites are missing at the end, and what did not converge."""
        outcomes = self.outcomes
        rounds = max(each.rounds for each in outcomes)
        warn_of_missing_sites(self.rules.faults, rounds, self.name)
        warn_of_outcomes(outcomes, self.budget.tol, self.name)
