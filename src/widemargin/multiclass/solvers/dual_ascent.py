r"""Ascent in the dual: visit rows, and give each the best multipliers for several classes at once.

A visit costs one product of the row with the weights of these classes, and an update of those whose
multiplier changed. What is left to find is one number (native/class_step.hpp). Formulations differ
in which classes a visit may take together and which visits may be made at the same time:

===========  ========================  ===================================================
method       classes of a visit        at the same time
===========  ========================  ===================================================
together     all (ww, cs, llw)         nothing; only passes for certificates use threads
independent  of one bundle (ovr)       bundles
tournament   of another bundle (ww)    matches of a round: pairs of bundles
===========  ========================  ===================================================

Losses seen on the way estimate the gap; the true one is computed, by a pass over all rows, when the
estimate is near or the epochs since the last have doubled. Before a solve ends, the weights are
recomputed from the multipliers.

Reference: Keerthi et al. (2008) for visits to rows; Alber et al. (2017) for ``ww`` and ``llw`` in
parallel. Departures: a visit takes all classes of a bundle jointly, not one; in a match the rows of
both bundles are mixed (one bundle after the other undoes what the first has done: on letter, C=1,
the gap after 30 epochs is .90 against .09); the sum-to-zero constraint of ``llw`` is eliminated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import scipy.sparse as sp

from ...core.certificates import Certificate
from ...core.outcome import Outcome
from ...core.resources import single_threaded_blas
from ...engines import Engine, LocalEngine
from ..monitor import MulticlassMonitor, State
from ..problem import MulticlassProblem
from ..solution import MulticlassSolution
from .class_bundles import ClassBundles, Pass, feasible

# A certificate is worth its pass when the estimated gap is within this many times `tol`.
NEAR = 1.3
# After an epoch over all multipliers, those that are not zero are visited again, while that gains
# this share of what the epoch gained, and this often at most.
WORTHWHILE, MOST_AGAIN = 0.1, 10
# They are visited in rows that gained this share of the mean when they were last visited.
SKIPPED_SHARE = 0.8


class Rows(Protocol):
    """What is asked of the rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def lost_anyway(self) -> float:
        """Loss of rows that are all zeros."""
        ...


class AscentState(State, Protocol):
    """Multipliers with their weights, wherever they are."""

    @property
    def problem(self) -> Rows:
        """Whose they are."""
        ...

    def dual_sum(self) -> float:
        """Return the sum of all multipliers."""
        ...

    def refresh(self) -> None:
        """Recompute the weights from the multipliers."""
        ...

    def certify(self) -> Certificate:
        """Evaluate both objectives."""
        ...


class Epochs(Protocol):
    """What an epoch is."""

    def epoch(self, state: Any, what: Pass) -> tuple[float, float]:
        """Visit every row for every class once; return the losses met and the gain."""
        ...


class Method(Epochs, Protocol):
    """A formulation: how its classes are bundled, and what an epoch is."""

    def bundles(self, problem: MulticlassProblem, engine: Engine, memory: int) -> ClassBundles:
        """Return the state to start from."""
        ...


def solve(
    method: Method,
    problem: MulticlassProblem,
    monitor: MulticlassMonitor,
    start: sp.csr_array | None = None,
    *,
    memory: int = 1 << 30,
    engine: Engine | None = None,
) -> MulticlassSolution:
    """Maximise the dual, from multipliers in ``start`` or from zero."""
    engine = LocalEngine(problem.threads) if engine is None else engine
    with single_threaded_blas():
        state = method.bundles(problem, engine, memory)
        if start is None:
            certificate = state.certificate_of_zero()
        else:
            state.start_from(feasible(start, problem))
            certificate = state.certify()
        return ascend(method, state, certificate, monitor, engine)


def ascend(
    method: Epochs,
    state: AscentState,
    certificate: Certificate,
    monitor: MulticlassMonitor,
    engine: Engine,
) -> MulticlassSolution:
    """Maximise the dual from a state with its certificate."""

    def stopping() -> bool:
        return monitor.out_of_time or engine.stopping()

    monitor.record(0, certificate, state)
    outcome = Outcome.CONVERGED if certificate.relative_gap <= monitor.tol else None
    epochs, next_check, dual = 0, 3, certificate.dual
    true_share = 1.0  # of an estimate, when it was last compared with a certificate
    while outcome is None:
        epochs += 1
        loss, gain = method.epoch(state, Pass(monitor.seed + epochs, stopping))
        dual += gain
        met = loss + state.problem.lost_anyway
        half = state.dual_sum() - dual
        estimate = (half + met - dual) / (half + met) if half + met > 0 else 0.0
        tired, late = epochs >= monitor.max_iter, monitor.out_of_time
        near = true_share * estimate <= NEAR * monitor.tol
        if near or epochs >= next_check or tired or late:
            next_check = 2 * epochs
            if tired or late:
                state.refresh()
            certificate = state.certify()
            true_share = min(1.0, certificate.relative_gap / max(estimate, monitor.tol))
            if certificate.relative_gap <= monitor.tol and not (tired or late):
                state.refresh()
                certificate = state.certify()
            dual = certificate.dual
            monitor.record(epochs, certificate, state)
            if certificate.relative_gap <= monitor.tol:
                outcome = Outcome.CONVERGED
            elif tired or late:
                outcome = Outcome.ITERATIONS if tired else Outcome.TIME
        else:
            monitor.tell(epochs, estimate, state)
        if outcome is None:
            again, gained = _visit_again(method, state, monitor, epochs, gain, stopping)
            epochs, dual = epochs + again, dual + gained
    return MulticlassSolution(state.weights(), state.duals(), certificate, outcome, epochs)


def _visit_again(
    method: Epochs,
    state: AscentState,
    monitor: MulticlassMonitor,
    epochs: int,
    first_gain: float,
    stopping: Callable[[], bool],
) -> tuple[int, float]:
    """Visit multipliers that are not zero; return how often, and the gain."""
    gain, total = first_gain, 0.0
    allowed = min(MOST_AGAIN, monitor.max_iter - epochs - 1)  # the last epoch is over all
    for again in range(1, allowed + 1):
        least = SKIPPED_SHARE * gain / state.problem.n_rows if again > 1 else 0.0
        seed = monitor.seed + epochs + again
        _, gain = method.epoch(state, Pass(seed, stopping, True, least))
        total += gain
        if gain < WORTHWHILE * first_gain or stopping():
            return again, total
    return allowed, total
