"""Run the network of every binary problem, and report how each ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import Fit, warn
from ..core.history import Columns, History
from ..core.outcome import Certificate, Outcome, Solution
from ..gossip import NetworkFaults, PrivateDescent, Simulation
from ..gossip.simulation import HISTORY
from ..linear.history import Score
from ..linear.model import split_weights
from ..linear.problems import LinearProblems
from .gossip_privacy import private_attributes, warn_of_releases
from .gossip_sites import NetworkRules, Placement

COLUMNS: Columns = {
    "problem": int,
    **{name: int if name in ("round", "messages", "bytes") else float for name in HISTORY},
}
UNKNOWN = Certificate(np.nan, np.nan)


class Ending(Enum):
    """Why a network stopped; the text is the advice where the gap is not within ``tol``."""

    STOPPED = (
        "The sites stopped because by their own estimate the gap is {estimate:.3g}, which is no "
        "proof: lower `tol` to have them go on."
    )
    FLAT = (
        "The sites stopped because the objective that they see falls by {estimate:.3g} of itself "
        "only, which is no bound on the gap: lower `tol`, or take solver='consensus', which has "
        "a bound."
    )
    QUIET = (
        "The sites stopped because ‖w‖ changed by less than `epsilon` for `quiet` steps in a row, "
        "which proves nothing about the distance to the optimum: lower `epsilon`, or take "
        "stopping='gap'."
    )
    ROUNDS = (
        "The number of rounds in `max_iter` was reached: raise it, loosen `tol`, scale the "
        "features, or take a topology in which news spreads faster (a smaller `mixing_time_`)."
    )
    TIME = "`max_time` was reached: raise it, or loosen `tol`."
    DIVERGED = (
        "The models grew beyond all bounds, and those of the last checkpoint before were kept. "
        "Scale the features. Where steps are too long, or messages get lost, take "
        "Tracking(step=0.1), or solver='consensus', which has none."
    )
    DECEIVED = (
        "By `lies` there are sites that lie, and other sites believe them, however long it runs: "
        "take solver='consensus' and a topology in which every site has three neighbours or more, "
        "so that it limits what one of them can do."
    )
    INTERRUPTED = "It was interrupted."


def ending_of(simulation: Simulation, max_rounds: int) -> Ending:
    """Return why a run ended that was not interrupted."""
    network = simulation.network
    if simulation.faults.lies and simulation.method.trusts(simulation.topology):
        return Ending.DECEIVED
    if simulation.diverged:
        return Ending.DIVERGED
    if network.stopped:
        if simulation.stopping.rule == "norm":
            return Ending.QUIET
        return Ending.FLAT if network.dual() is None else Ending.STOPPED
    return Ending.ROUNDS if network.round >= max_rounds else Ending.TIME


@dataclass(frozen=True)
class NetworkOutcome:
    """Result of the network of one binary problem."""

    models: Array  # one row per site
    mean: Array  # over the sites that are present
    certificate: Certificate  # of the worst site; NaN after an interrupt
    estimated_gap: float  # the largest by a site's own estimate
    ending: Ending
    rounds: int
    messages: int
    n_bytes: int

    @classmethod
    def of(cls, simulation: Simulation, ending: Ending) -> NetworkOutcome:
        """Keep the state at the last checkpoint."""
        last = simulation.last
        assert last is not None
        record = dict(zip(HISTORY, simulation.records[-1], strict=True))
        return cls(
            last.models,
            last.models[last.judged].mean(axis=0),
            # While a network runs, not all of its sites are judged.
            UNKNOWN if ending is Ending.INTERRUPTED else simulation.certificate,
            float(record["estimated_gap"]),
            ending,
            int(record["round"]),
            int(record["messages"]),
            int(record["bytes"]),
        )

    def within(self, tol: float) -> bool:
        """Return whether every site is proved to be within ``tol`` of the optimum."""
        return bool(self.certificate.relative_gap <= tol)

    def outcome(self, tol: float) -> Outcome:
        """Return the outcome in the terms of all solvers."""
        if self.within(tol):
            return Outcome.CONVERGED
        known = {Ending.ROUNDS: Outcome.ITERATIONS, Ending.TIME: Outcome.TIME}
        return known.get(self.ending, Outcome.STALLED)


def warn_of_missing_sites(faults: NetworkFaults, rounds: int, estimator: str) -> None:
    """Warn of sites that are missing at the end."""
    schedule = sorted(faults.schedule, key=lambda entry: entry[0])
    late = [tuple(entry) for entry in schedule if entry[0] >= rounds]
    last = {site: event for when, event, site in schedule if when < rounds}
    down = sorted(int(site) for site, event in last.items() if event == "crash")
    messages = []
    if down:
        messages.append(
            f"Sites {down} crashed and did not return: their neighbours wait for them, and their "
            "models are not judged. Have them 'return', or 'leave'."
        )
    if late:
        messages.append(
            f"Events of `schedule` lie after the last round, {rounds}, and did not happen: {late}."
        )
    if messages:
        warn(f"{estimator}: {' '.join(messages)}")


def warn_of_outcomes(outcomes: list[NetworkOutcome], tol: float, estimator: str) -> None:
    """Warn of what did not converge, once for all binary problems."""
    failed = [each for each in outcomes if not each.within(tol)]
    if not failed:
        return
    worst = max(failed, key=lambda each: np.nan_to_num(each.certificate.relative_gap, nan=np.inf))
    count = f" in {len(failed)} of {len(outcomes)} binary problems" if len(outcomes) > 1 else ""
    advice = worst.ending.value.format(estimate=worst.estimated_gap)
    warn(
        f"{estimator} did not converge{count}: relative gap of the worst site "
        f"{worst.certificate.relative_gap:.3g}, wanted tol={tol:g}. {advice}",
        ConvergenceWarning,
    )


@dataclass(frozen=True)
class Simulating:
    """Runs the network of one binary problem.

    ``score`` rates models on rows that are not trained on; ``report`` receives (problems done,
    problems) if there are several.
    """

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
            k,
            self.problems.n_problems,
        )


class GossipFit(Fit[NetworkOutcome]):
    """Runs one network after the other; a round is an iteration, and iterates are outcomes."""

    def __init__(self, name: str, simulate: Simulating, budget: Budget, history: History) -> None:
        super().__init__(name, simulate.problems.n_problems, simulate, budget, history)
        self.constant = simulate.problems.constant
        self.placement, self.rules = simulate.placement, simulate.rules

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
        outcomes, placement, constant = self.outcomes, self.placement, self.constant
        certificates = [each.certificate for each in outcomes]
        gap = max(each.relative_gap for each in certificates)
        coef, intercept = split_weights(np.stack([each.mean for each in outcomes]), constant)
        site_coef, site_intercept = split_weights(
            np.stack([each.models for each in outcomes]), constant
        )
        attributes: dict[str, Any] = {
            "coef_": coef,
            "intercept_": intercept,
            "site_coef_": site_coef,
            "site_intercept_": site_intercept,
            "sites_": placement.labels,
            "topology_": placement.topology,
            "mixing_time_": self.rules.mixing_time(placement.topology),
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
            "privacy_": None,
        }
        method = self.rules.method
        if isinstance(method, PrivateDescent):
            return private_attributes(method, attributes, self.n_problems, attributes["n_iter_"])
        return attributes

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Warn of sites that are missing at the end, and of what did not converge."""
        outcomes = self.outcomes
        rounds = max(each.rounds for each in outcomes)
        warn_of_missing_sites(self.rules.faults, rounds, self.name)
        if isinstance(self.rules.method, PrivateDescent):
            warn_of_releases(self.rules.method, self.placement.topology, rounds, self.name)
            return
        warn_of_outcomes(outcomes, self.budget.tol, self.name)
