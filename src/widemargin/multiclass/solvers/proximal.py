r"""Ascent in the dual, accelerated by proximal points: for a large ``C`` and many features.

The larger C is, the more epochs ascent takes. Tied to an anchor V, the problem

.. math:: \min_W \tfrac12 \lVert W \rVert^2 + \tfrac{\kappa}{2} \lVert W - V \rVert^2
          + \sum_i C_i\, \ell(x_i, y_i; W)

is one of :math:`C / (1 + \kappa)`. A few epochs on it give W, and the next anchor is beyond it, at
:math:`W + \beta (W - W_\mathrm{last})` with :math:`\beta = (1 - \sqrt q) / (1 + \sqrt q)` and
:math:`q = 1 / (1 + \kappa)`. Visits are those of :mod:`.dual_ascent`
(native/multiclass/proximal_point.hpp says why), and no matrix is larger than the weights.

With multipliers a of the tied problem, :math:`(1 + \kappa) a` are feasible for the original one,
and their weights are :math:`W + \kappa (W - V)`. So every W has a certificate: its own objective,
and the dual objective of these multipliers.

Cost: a visit of every row for each epoch, and four matrices of the size of the weights. Epochs to a
gap of 1e-2, beside those of ascent alone: CLINC150 with C = 100 takes 72 and 418, sector 66 and
308, with C = 1000 384 and 1,458; CLINC150 with C = 1000 takes 243, and ascent more than 1,900.

Reference: Lin, Mairal and Harchaoui (2018), algorithm 1. Departure: the epochs on a tied problem
are a fixed number, not what a rule for its accuracy asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Solution
from ...core.resources import single_threaded_blas
from ...engines import Engine
from ..problem import ClassWeights, InMemoryProblem, MulticlassProblem
from . import certified_rounds
from .bundles import DENSE_BYTES, SCALES, best_scale
from .class_bundles import ClassBundles, Pass
from .dual_ascent import AllTogether

FORMULATIONS = ("ww", "cs", "llw", "odm")
# Epochs on a tied problem. With 2 and 3, CLINC150 (C = 1000) takes 324 and 279 in all; with 1 the
# weights run ahead of the multipliers.
EPOCHS = 3
# The strength of the tie is this multiple of the root of the mean of C‖x‖². CLINC150 (C = 100)
# takes 123 epochs with a strength of 3 and 81 with 5; but sector (C = 1000) had a gap of .6 after
# 144 epochs with a strength of 20 (two epochs a problem), and of .03 after 186 with 10 (three).
STRENGTH = 0.33
# From this mean on it pays. For `llw`, ascent alone takes 20 epochs to a gap of 1e-2 where the mean
# is 10. Seconds for `odm` by this and by ascent, 3,000 rows, a gap of 1e-3: satimage .05 and .05
# (mean 1), .12 and .14 (11), .52 and 1.3 (110); letter .24 and .14 (4); usps .18 and .16 (2), .80
# and 1.15 (21).
LEAST_MEAN = {"llw": 30.0, "odm": 10.0}
# Matrices of the size of the weights: the bundle's, the anchor, the last, and one that is returned.
MATRICES = 4


def mean_weight(problem: InMemoryProblem) -> float:
    """Return the mean of C‖x‖² over all rows."""
    return float(problem.bound @ problem.squared_norms) / max(1, problem.n_rows)


def bytes_needed(problem: MulticlassProblem) -> int:
    """Return the memory for the weights, their anchor, and copies of them."""
    return MATRICES * DENSE_BYTES * problem.objective.size * (problem.objective.n_classes + 7)


def pays(problem: MulticlassProblem, memory: int) -> bool:
    """Return whether this is likely to be faster than ascent alone, on rows in memory."""
    least = LEAST_MEAN.get(problem.objective.formulation)
    if least is None or bytes_needed(problem) > memory:
        return False
    return mean_weight(problem.in_memory) >= least


def require_fit(problem: MulticlassProblem, memory: int) -> None:
    """Raise if the matrices do not fit the memory."""
    needed = bytes_needed(problem)
    if needed > memory:
        raise ValueError(
            f"`solver='proximal'` needs {needed / 2**20:.0f} MiB for "
            f"{problem.objective.size} features and {problem.objective.n_classes} classes; "
            f"`memory_limit` is {memory / 2**20:.0f} MiB. Raise it, or use solver='dual'."
        )


class TiedBundle(ClassBundles):
    """All classes in one bundle, their weights tied to an anchor.

    Multipliers and bounds of the bundle are those of the tied problem: divided by 1 + strength.

    Parameters
    ----------
    problem : InMemoryProblem
        The problem without the tie.
    engine : Engine
        Its threads are used for certificates.
    start : CSR array, optional
        Multipliers to start from, within their bounds.
    """

    def __init__(self, problem: InMemoryProblem, engine: Engine, start: Any = None) -> None:
        self.untied = problem
        self.strength = STRENGTH * math.sqrt(mean_weight(problem))
        root = math.sqrt(1.0 / (1.0 + self.strength))
        self.momentum = (1.0 - root) / (1.0 + root)
        everything = [np.arange(problem.objective.n_classes)]
        tied = replace(problem, bound=problem.bound / (1.0 + self.strength))
        # The caller has checked that there is room for dense weights.
        room = 2 * DENSE_BYTES * problem.objective.size * problem.objective.n_classes
        super().__init__(tied, everything, engine, memory=room)
        (self.bundle,) = self.parts
        self.threads = engine.share(1).threads
        count = self.bundle.stride * self.layout.size
        self.anchor: Array = np.zeros(count)
        self.last: Array = np.zeros(count)
        if start is not None:
            self._begin_at(start)

    def _begin_at(self, duals: sp.csr_array) -> None:
        """Take multipliers; anchor and last weights become those that they imply."""
        plain = ClassBundles(self.untied, self.layout.bundles, self.engine, memory=2**62)
        plain.start_from(duals)
        self._set(sp.csr_array(plain.duals / (1.0 + self.strength)))
        # From zero, two moves with a momentum of `strength` put the anchor at (1 + strength) W(a).
        self.last[:] = 0.0
        self.move(self.strength)
        self.last[:] = self.anchor

    def move(self, momentum: float | None = None) -> None:
        """Put the anchor beyond the weights."""
        beyond = self.momentum if momentum is None else momentum
        self.bundle.move_anchor(
            self.mean, self.anchor, self.last, self.strength, beyond, self.threads
        )

    def norms(self) -> tuple[float, float]:
        """Return ½‖W‖² of the weights, and of those that the multipliers imply."""
        own, implied = self.bundle.proximal_norms(
            self.mean, self.anchor, self.strength, self.threads
        )
        return 0.5 * own, 0.5 * implied

    def untied_sum(self) -> float:
        """Return :meth:`dual_sum` without the tie."""
        linear, quadratic = self.dual_sums()
        return self.untied.fixed_loss + (1.0 + self.strength) * (linear - quadratic)

    def certify_zero(self) -> Certificate:
        """Return the certificate of weights of zero, which needs no pass."""
        return Certificate(self.untied.loss_at_zero, self.untied.fixed_loss)

    def certify(self) -> Certificate:
        """Evaluate both objectives of the problem without the tie; choose the weights' scale."""
        own, implied = self.norms()
        tied = self.native.total_losses(
            self.formulation, self.parts, self.mean, SCALES, self.threads
        )
        losses = [(1.0 + self.strength) * loss for loss in tied]
        self.scale, certificate = best_scale(own, losses, self.untied_sum() - implied)
        return certificate

    def proved(self) -> Certificate:
        """Certify with weights recomputed from the multipliers, without accumulated rounding."""
        primal = self.certify().primal
        exact = ClassBundles(self.untied, self.layout.bundles, self.engine, memory=2**62)
        exact._set(self.duals)
        return Certificate(primal, exact.dual_objective()[0])

    @property
    def duals(self) -> sp.csr_array:
        """The multipliers without the tie as (rows, classes), within their bounds."""
        found = super().duals
        found.data *= 1.0 + self.strength
        if self.formulation != "odm":  # which has no bounds
            found.data = np.minimum(found.data, np.repeat(self.untied.bound, np.diff(found.indptr)))
        return found


def solve(
    problem: MulticlassProblem,
    budget: Budget,
    history: History,
    start: ClassWeights | None = None,
) -> Solution[ClassWeights]:
    """Minimise the objective on rows in this memory, from multipliers or from zero."""
    require_fit(problem, budget.memory)
    with single_threaded_blas():
        rows = problem.in_memory
        duals = None if start is None else rows.feasible(start.duals)
        state = TiedBundle(rows, problem.engine, duals)
        certificate = state.certify_zero() if duals is None else state.proved()
        rounds = TiedRounds(state, budget)
        return certified_rounds.run(rounds, certificate, problem.engine, budget, history)


class TiedRounds:
    """Rounds of a few epochs on a tied problem, after which the anchor moves."""

    first_check, growth, true_share = 4 * EPOCHS, 1.5, 1.0
    traffic: ClassVar[dict[str, int]] = {}

    def __init__(self, state: TiedBundle, budget: Budget) -> None:
        self.state, self.budget, self.visits = state, budget, AllTogether()

    def advance(self, done: int, stopping: Callable[[], bool]) -> tuple[int, float]:
        """Visit all rows a few times; estimate the gap of the problem without the tie."""
        loss, taken = 0.0, 0
        for _ in range(min(EPOCHS, self.budget.max_iter - done)):
            taken += 1
            loss, _ = self.visits.epoch(self.state, Pass(self.budget.seed + done + taken, stopping))
            if stopping():
                break
        state = self.state
        own, implied = state.norms()
        primal = own + (1.0 + state.strength) * loss + state.untied.fixed_loss
        return taken, (primal - state.untied_sum() + implied) / primal if primal > 0 else 0.0

    def certify(self, *, proved: bool) -> Certificate:
        """Evaluate both objectives of the problem without the tie."""
        return self.state.proved() if proved else self.state.certify()

    def compare(self, estimate: float, certificate: Certificate) -> None:
        """Take the next estimates as they are."""

    def go_on(self, done: int, stopping: Callable[[], bool]) -> int:
        """Move the anchor, which takes no epoch."""
        self.state.move()
        return 0

    def weights(self) -> Any:
        """Return the weights."""
        return self.state.weights
