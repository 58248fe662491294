r"""Ascent in the dual: visit rows, and give each the best multipliers for several classes at once.

A visit costs one product of the row with the weights of these classes, and an update of those whose
multiplier changed. What is left to find is one number (native/multiclass/class_step.hpp).
Formulations differ in which classes a visit may take together and which visits may be made at the
same time:

===========  ========================  ===================================================
scheme       classes of a visit        at the same time
===========  ========================  ===================================================
together     all (ww, cs, llw, odm)    nothing; only passes for certificates use threads
independent  of one bundle (ovr)       bundles
tournament   of another bundle (ww)    matches of a round: pairs of bundles
===========  ========================  ===================================================

Losses seen on the way estimate the gap; the true one is computed, by a pass over all rows, when the
estimate is near or the epochs since the last have doubled. Before a solve ends, the weights are
recomputed from the multipliers.

Visits change weights that the next visit reads, so these solvers need all rows in one memory, and
one native call visits them all; only a tournament on another engine (:mod:`.dealt_bundles`) has
rows in several.

Reference: Keerthi et al. (2008) for visits to rows; Alber et al. (2017) for ``ww`` and ``llw`` in
parallel. Departures: a visit takes all classes of a bundle jointly, not one; in a match the rows of
both bundles are mixed (one bundle after the other undoes what the first has done: on letter, C=1,
the gap after 30 epochs is .90 against .09); the sum-to-zero constraint of ``llw`` is eliminated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from ... import _native
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Solution
from ...core.resources import single_threaded_blas
from ...engines import Engine
from ..problem import ClassWeights, InMemoryProblem, MulticlassProblem
from . import certified_rounds
from .class_bundles import ClassBundles, Pass
from .tournament import dealt_classes

# After an epoch over all multipliers, non-zero ones are visited again while that gains this share
# of the epoch's gain,
WORTHWHILE = 0.1
# at most this often.
MOST_AGAIN = 10
# They are visited in rows that gained this share of the mean when they were last visited, for the
# first time after an epoch this one.
SKIPPED_SHARE, FIRST_SKIPPED_SHARE = 0.8, 0.5
# Most new classes that a visit adds, so that weights stay sparse on the way to a sparse solution;
FEWEST_NEW = 16
# more are allowed if it takes them to hold, at their bounds, this multiple of a row's total.
NEW_MASS = 2.0
# Epochs after which the true gap is computed at the latest, for the record.
FIRST_CHECK = 12
# Parts of an epoch, after each of which the printed algorithm updates the mean of all classes.
PRINTED_PARTS = 10


class AscentState(ClassWeights, Protocol):
    """Multipliers with their weights, on any engine."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def fixed_loss(self) -> float:
        """Loss of rows that are all zeros."""
        ...

    @property
    def traffic(self) -> dict[str, int]:
        """Columns of the history about what was sent between processes."""
        ...

    def take_weights(self) -> Any:
        """Return the weights, which the state need not keep."""
        ...

    def dual_sum(self) -> float:
        """Return the dual objective and ½Σ‖w‖² together: for hinges, the sum of multipliers."""
        ...

    def refresh(self) -> None:
        """Recompute the weights from the multipliers."""
        ...

    def certify(self) -> Certificate:
        """Evaluate both objectives."""
        ...


class Epochs(Protocol):
    """What an epoch visits."""

    # Whether it is a published algorithm, which has no epochs over non-zero multipliers between.
    printed: ClassVar[bool]

    def epoch(self, state: Any, what: Pass) -> tuple[float, float]:
        """Visit every row for every class once; return the losses met and the gain."""
        ...


class BundledEpochs(Epochs, Protocol):
    """What an epoch visits, and how it bundles the classes of rows in one memory."""

    def bundles(self, problem: InMemoryProblem, engine: Engine, memory: int) -> ClassBundles:
        """Return the state to start from."""
        ...


def solve(
    epochs: BundledEpochs,
    problem: MulticlassProblem,
    budget: Budget,
    history: History,
    start: ClassWeights | None = None,
) -> Solution[ClassWeights]:
    """Maximise the dual on rows in this memory, from the multipliers of ``start`` or from zero."""
    with single_threaded_blas():
        state = epochs.bundles(problem.in_memory, problem.engine, budget.memory)
        if start is None:
            certificate = state.certify_zero()
        else:
            state.start_from(problem.in_memory.feasible(start.duals))
            certificate = state.certify()
        return ascend(epochs, state, certificate, problem.engine, budget, history)


def ascend(
    epochs: Epochs,
    state: AscentState,
    certificate: Certificate,
    engine: Engine,
    budget: Budget,
    history: History,
) -> Solution[ClassWeights]:
    """Maximise the dual from a state with its certificate."""
    rounds = AscentRounds(epochs, state, certificate.dual, budget)
    return certified_rounds.run(rounds, certificate, engine, budget, history)


class AscentRounds:
    """Rounds of one epoch over all multipliers, and a few over those that are not zero."""

    first_check, growth = FIRST_CHECK, 2.0

    def __init__(self, epochs: Epochs, state: AscentState, dual: float, budget: Budget) -> None:
        self.epochs, self.state, self.budget = epochs, state, budget
        self.dual = dual  # the objective, kept up to date by the gains
        self.gain = 0.0  # of the last epoch over all
        self.true_share = 1.0

    @property
    def traffic(self) -> dict[str, int]:
        """Columns of the history about what was sent between processes."""
        return self.state.traffic

    def advance(self, done: int, stopping: Callable[[], bool]) -> tuple[int, float]:
        """Visit every multiplier once."""
        loss, self.gain = self.epochs.epoch(self.state, Pass(self.budget.seed + done + 1, stopping))
        self.dual += self.gain
        met = loss + self.state.fixed_loss
        half = self.state.dual_sum() - self.dual
        return 1, (half + met - self.dual) / (half + met) if half + met > 0 else 0.0

    def certify(self, *, proved: bool) -> Certificate:
        """Evaluate both objectives; with ``proved``, of weights recomputed from the multipliers."""
        if proved:
            self.state.refresh()
        certificate = self.state.certify()
        self.dual = certificate.dual
        return certificate

    def compare(self, estimate: float, certificate: Certificate) -> None:
        """Take the share of the estimate that was true for that of the next ones."""
        self.true_share = min(1.0, certificate.relative_gap / max(estimate, self.budget.tol))

    def go_on(self, done: int, stopping: Callable[[], bool]) -> int:
        """Visit multipliers that are not zero, while that is worthwhile."""
        gain = self.gain
        most = 0 if self.epochs.printed else MOST_AGAIN
        allowed = min(most, self.budget.max_iter - done - 1)  # the last epoch is over all
        for again in range(1, allowed + 1):
            share = SKIPPED_SHARE if again > 1 else FIRST_SKIPPED_SHARE
            least = share * gain / self.state.n_rows
            seed = self.budget.seed + done + again
            _, gain = self.epochs.epoch(self.state, Pass(seed, stopping, True, least))
            self.dual += gain
            if gain < WORTHWHILE * self.gain or stopping():
                return again
        return allowed

    def weights(self) -> Any:
        """Return the weights, which take as much memory again if the state keeps them."""
        return self.state.take_weights()


class AllTogether:
    """One bundle of all classes: the default of all but ``ovr``.

    Multipliers of a row are bound to each other: Crammer and Singer's by a common bound, Lee, Lin
    and Wahba's by the sum of the weights, Weston and Watkins's by the row's own class. Solving for
    all of them in one visit needs fewer visits, and those cost less, than a tournament's: on 1,000
    classes 7 epochs against 34.
    """

    printed: ClassVar[bool] = False

    def bundles(self, problem: InMemoryProblem, engine: Engine, memory: int) -> ClassBundles:
        """Put all classes into one bundle."""
        return ClassBundles(
            problem, [np.arange(problem.objective.n_classes)], engine, memory=memory
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows in random order."""
        state.shuffle(what.seed)
        (everything,) = state.parts
        # All multipliers of a row of `llw` move together.
        fewest_new = 0 if state.formulation == "llw" else FEWEST_NEW
        return state.visit(everything, everything, what, fewest_new=fewest_new, new_mass=NEW_MASS)


class Independent:
    """Bundles that each have all rows, and do not interact: for ``ovr``."""

    formulation, parts = "ovr", 1
    printed: ClassVar[bool] = False

    def bundles(self, problem: InMemoryProblem, engine: Engine, memory: int) -> ClassBundles:
        """Deal the classes out."""
        class_rows = np.bincount(problem.codes, minlength=problem.objective.n_classes)
        return ClassBundles(
            problem,
            dealt_classes(class_rows),
            engine,
            formulation=self.formulation,
            all_rows=True,
            memory=memory,
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows for every bundle, in parts after each of which the mean is updated."""
        state.shuffle(what.seed)
        loss = gain = 0.0
        for part in range(self.parts):

            def visit(bundle: _native.ClassBundle, part: int = part) -> tuple[float, float]:
                return state.visit(bundle, bundle, what, part=part, parts=self.parts)

            for met, gained in state.engine.map(state.parts, visit):
                loss, gain = loss + met, gain + gained
            state.centre()
            if what.stopping():
                break
        return loss, gain


class PrintedLeeLinWahba(Independent):
    """Alber et al.'s algorithm for Lee, Lin and Wahba's formulation (Algorithms 1 and 2).

    The mean of all classes stays fixed for a tenth of an epoch, which makes classes independent of
    each other, and is updated then, as the text has it; Algorithm 1 updates it once in an epoch.
    The direction in which all multipliers of a row move together is too stiff by a factor of the
    number of classes, and the algorithm hardly converges. Corrected: weights have one sign
    throughout, where Algorithm 2 works on their negatives. Not as printed: ε, the end and the
    factor of the weights, as in :mod:`.printed_tournament`; there is no shrinking.
    """

    formulation, parts = "llw_fixed_mean", PRINTED_PARTS
    printed: ClassVar[bool] = True

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows; the gain includes what updates of the mean change."""
        before, _ = state.dual_objective()
        loss, _ = super().epoch(state, what)
        return loss, state.dual_objective()[0] - before
