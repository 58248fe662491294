"""How the run of a network ended, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.fit import warn
from ..core.outcome import Certificate, Outcome
from ..gossip import NetworkFaults, Simulation
from ..gossip.simulation import HISTORY

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
        "`max_iter` rounds were over: raise it, loosen `tol`, scale the features, or take a "
        "topology in which news spreads faster (a smaller `mixing_time_`)."
    )
    TIME = "`max_time` was over: raise it, or loosen `tol`."
    DIVERGED = (
        "The models grew beyond all bounds, and those of the last checkpoint before were kept. "
        "Scale the features. Where steps are too long, or messages get lost, take "
        "Tracking(step=0.1), or solver='consensus', which has none."
    )
    DECEIVED = (
        "By `lies` there are sites that lie, and this solver believes them, however long it runs: "
        "take solver=Gadget(robust='clip') or Gadget(robust='trim'), which limit what one "
        "neighbour can do."
    )
    INTERRUPTED = "It was interrupted."


def ending_of(simulation: Simulation, max_rounds: int) -> Ending:
    """Tell why a run ended that was not interrupted."""
    network = simulation.network
    if simulation.faults.lies and getattr(simulation.method, "robust", None) is None:
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
    """What is left of the network of one binary problem.

    Attributes
    ----------
    models : array of shape (n_sites, size)
        The model of every site.
    mean : array of shape (size,)
        The mean over the sites that are present.
    certificate : Certificate
        The worst site's; NaN after an interrupt.
    estimated_gap : float
        The largest relative gap that a site believed in.
    ending : Ending
        Why it stopped.
    rounds, messages, n_bytes : int
        Rounds that it took, and what was sent.
    """

    models: Array
    mean: Array
    certificate: Certificate
    estimated_gap: float
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
        """Tell whether every site is proved to be as near to the optimum as wanted."""
        return bool(self.certificate.relative_gap <= tol)

    def outcome(self, tol: float) -> Outcome:
        """Return the outcome in the terms of all solvers."""
        if self.within(tol):
            return Outcome.CONVERGED
        known = {Ending.ROUNDS: Outcome.ITERATIONS, Ending.TIME: Outcome.TIME}
        return known.get(self.ending, Outcome.STALLED)


def warn_of_missing_sites(faults: NetworkFaults, rounds: int, estimator: str) -> None:
    """Say which sites are missing at the end."""
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
    """Say what did not converge, once for all binary problems."""
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
