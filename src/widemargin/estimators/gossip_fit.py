"""Run the network of every binary problem, and say what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.budget import LEAST_SHARE as LEAST_TIME
from ..gossip import NetworkFaults, Simulation, Stopping, Talking
from ..gossip.methods import GossipMethod
from ..gossip.simulation import HISTORY, Checkpoint
from .gossip_outcomes import Ending, NetworkOutcome, ending_of
from .gossip_sites import Placement
from .linear_fit import LinearInputs


@dataclass(frozen=True)
class GossipSettings:
    """How the sites learn and talk, and for how long.

    Attributes
    ----------
    method : GossipMethod
        How they learn.
    talking, faults, stopping
        As the simulation takes them.
    max_iter, max_time
        Rounds per binary problem, and seconds of all or None.
    seed : int
        Decides what is drawn.
    listener : callable
        Told (round, relative gap, disagreement) at checkpoints.
    counter : callable
        Told (problems done, problems) where there are several.
    """

    method: GossipMethod
    talking: Talking
    faults: NetworkFaults
    stopping: Stopping
    max_iter: int
    max_time: float | None
    seed: int
    listener: Callable[[int, float, float], None]
    counter: Callable[[int, int], None]


class GossipFit:
    """Runs one network after the other.

    Attributes
    ----------
    outcomes : list of NetworkOutcome
        Of the problems that were begun, in order; the last may have been interrupted.
    """

    def __init__(
        self, inputs: LinearInputs, placement: Placement, settings: GossipSettings
    ) -> None:
        self.inputs, self.placement, self.settings = inputs, placement, settings
        self.outcomes: list[NetworkOutcome] = []

    def fit_problems(self) -> None:
        """Run all networks."""
        n_problems, started = self.inputs.n_problems, time.perf_counter()
        for k in range(n_problems):
            if n_problems > 1:
                self.settings.counter(k, n_problems)
            simulation = self._simulation(k)
            ending = Ending.INTERRUPTED
            stopping = self._clock(started, n_problems - k)
            try:
                self._run(simulation, stopping)
                ending = ending_of(simulation, self.settings.max_iter)
            finally:  # the network itself is let go: many may follow
                if simulation.last is not None:
                    self.outcomes.append(NetworkOutcome.of(simulation, simulation.last, ending))

    def _simulation(self, k: int) -> Simulation:
        inputs, placement, settings = self.inputs, self.placement, self.settings
        validation = inputs.validation
        accuracy: Callable[[Array], Array] | None = None
        if validation is not None:

            def accuracy(models: Array) -> Array:
                return np.array([validation.score(w, k) for w in models])

        return Simulation(
            inputs.problem(k, inputs.threads),
            placement.start,
            placement.topology,
            settings.method,
            settings.talking,
            settings.faults,
            settings.stopping,
            settings.seed,
            accuracy,
        )

    def _run(self, simulation: Simulation, stopping: Callable[[], bool] | None) -> None:
        def listener(checkpoint: Checkpoint) -> None:
            disagreement = simulation.records[-1][HISTORY.index("disagreement")]
            gap = simulation.certificate.relative_gap
            self.settings.listener(checkpoint.round, gap, disagreement)

        last = simulation.run(self.settings.max_iter, stopping, listener)
        if not np.isfinite(last.models).all():  # not even the first round's
            raise ValueError(
                "Models must stay finite; they overflowed in the first round. Scale the features, "
                "or lower `C`."
            )

    def _clock(self, started: float, waiting: int) -> Callable[[], bool] | None:
        """Return what tells a problem that its share of the time is over."""
        if self.settings.max_time is None:
            return None
        now = time.perf_counter()
        left = started + self.settings.max_time - now
        least = LEAST_TIME / self.inputs.n_problems * self.settings.max_time
        deadline = now + max(left / waiting, least)
        return lambda: time.perf_counter() >= deadline

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: every problem has been begun."""
        return len(self.outcomes) == self.inputs.n_problems

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        outcomes, placement = self.outcomes, self.placement
        models = np.stack([each.models for each in outcomes])
        means = np.stack([each.mean for each in outcomes])
        certificates = [each.certificate for each in outcomes]
        gap = max(each.relative_gap for each in certificates)
        coef, intercept = self._split(means)
        site_coef, site_intercept = self._split(models)
        return {
            "coef_": coef,
            "intercept_": intercept,
            "site_coef_": site_coef,
            "site_intercept_": site_intercept,
            "sites_": placement.labels,
            "topology_": placement.topology,
            "mixing_time_": float(placement.topology.mixing_time(self.settings.talking.weights)),
            "label_skew_": placement.label_skew,
            "dual_gap_": float(sum(each.gap for each in certificates)),
            "relative_gap_": float(gap),
            "estimated_gap_": float(max(each.estimated_gap for each in outcomes)),
            "converged_": bool(gap <= self.settings.stopping.tol),
            "n_iter_": max(each.rounds for each in outcomes),
            "n_messages_": sum(each.messages for each in outcomes),
            "n_bytes_": sum(each.n_bytes for each in outcomes),
            "history_": self._history(),
            "solver_": self.settings.method.name,
        }

    def _split(self, w: Array) -> tuple[Array, Array]:
        """Split weights, the last axis, into those of features and intercepts."""
        n_features, constant = int(self.inputs.X.shape[1]), self.inputs.constant
        intercept = constant * w[..., n_features] if constant else np.zeros(w.shape[:-1])
        return np.ascontiguousarray(w[..., :n_features]), intercept + 0.0  # no -0.0

    def _history(self) -> dict[str, Any]:
        histories = [each.history for each in self.outcomes]
        problem = [np.full(len(each["round"]), k) for k, each in enumerate(histories)]
        columns = {name: np.concatenate([each[name] for each in histories]) for name in HISTORY}
        return {"problem": np.concatenate(problem), **columns}
