r"""Newton's method in proximal rounds, for every loss: dense, for problems that resist descent.

A loss with curvature everywhere (ODM, squared hinge) needs one round. The hinge has kinks, which
rounds smooth: with the centre :math:`c` of a round and widths :math:`\sigma`,

.. math:: \min_\gamma \tfrac12 \gamma^\top Q \gamma + \sum_i \varphi_i(\gamma_i)
          + \tfrac12 \sigma_i (\gamma_i - c_i)^2,

whose optimality condition :math:`\gamma = \pi(Q\gamma)`,
:math:`\pi_i(m) = \operatorname{clip}((a + \sigma_i c_i - m) / (p_i + \sigma_i), 0, u_i)`, is
piecewise linear. A semi-smooth Newton step keeps every row on its piece. Rows on a sloping one, the
set A, are found by one Cholesky factor of :math:`Q_{AA} + \operatorname{diag}(p + \sigma)_A`; the
others sit at 0, at their bound :math:`u` or, if the loss is two-sided, at their floor. An exact
search of the line to that point ends the step. It always lowers the primal of the round, so a round
ends after finitely many steps; it is stopped when its own gap is a fraction of the gap of the
problem. The next round has the dual as its centre and a smaller width, and goes on from the margins
of the last.

Stops when :math:`(P - D) / P \le` ``tol``, for the best primal and the best dual among feasible net
duals, certified in float64. Within a round, net duals may lie outside the box; a round that brings
the primal of any point within ``tol`` is solved to its end, which lies inside. A step costs
:math:`O(|A|^3/3)` and three products with Q, memory is :math:`O(M^2)`. Huge ``C`` costs some more
steps and nothing else: 3,000 rows of noise with C = 1e6 take about 90.

References
----------
Rockafellar (1976), "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming", for the rounds; Li, Sun and Toh (2018), "A highly efficient semismooth Newton
augmented Lagrangian method for solving Lasso problems", for Newton's method within them.

Departures: (1) widths shrink by a fixed factor; (2) the line is searched exactly, not by Armijo's
rule; (3) a round goes on from the primal point of the last, not from its centre, whose margins may
be far worse: with huge ``C`` a rounding error of the centre is multiplied by the whole matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.losses import LossTerms
from ...core.outcome import Certificate, Outcome, Solution, certify
from ...core.resources import single_threaded_blas
from ..cholesky import damped_cholesky
from ..problem import Duals, KernelProblem, record_iteration

# Margins over which the first round smooths a hinge, and the factor of the next rounds. From zero
# on noise of 1,500 and 3,000 rows, 2 and 0.3 were the fastest of 2, 0.5, 0.1 and 0.3, 0.1.
FIRST_WIDTH, NARROWING = 2.0, 0.3
# Rounds of smaller widths lose to rounding what they win.
LEAST_WIDTH = 1e-9
# A round ends when its own gap is this share of the gap of the problem.
INNER_SHARE = 0.3
# Newton steps of a round; more means that rounding leaves nothing to gain.
STEPS_OF_ROUND = 500
# A primal must fall by this share to count as lower.
ROUNDING = 1e-14
# Rounds in a row that may leave both bounds as they are.
IDLE_ROUNDS = 4
# Weights that are smaller than this share of the largest are smoothed as if they had that.
NO_WEIGHT = 1e-12


@dataclass
class _Smoothed:
    """The loss of a round: per row, where it begins to slope, its curvatures and its bound."""

    lower: Array
    upper: Array | None  # None for one-sided losses
    below: Array
    above: Array
    bound: Array
    floor: Array

    @classmethod
    def of(cls, terms: LossTerms, centre: Array, width: Array) -> _Smoothed:
        return cls(
            terms.lower + width * centre,
            terms.upper + width * centre if terms.two_sided else None,
            terms.below + width,
            terms.above + width,
            terms.bound,
            terms.floor,
        )

    def dual(self, margin: Array) -> Array:
        """Return the net duals that margins imply."""
        dual = np.clip((self.lower - margin) / self.below, 0.0, self.bound)
        if self.upper is not None:
            dual -= np.clip((margin - self.upper) / self.above, 0.0, -self.floor)
        return np.asarray(dual)

    def phi(self, net_dual: Array) -> Array:
        """Evaluate the dual loss, inside its domain."""
        value = np.maximum(net_dual, 0.0) * (0.5 * self.below * net_dual - self.lower)
        if self.upper is not None:
            value += np.minimum(net_dual, 0.0) * (0.5 * self.above * net_dual - self.upper)
        return value

    def primal(self, margin: Array) -> Array:
        """Evaluate the loss at margins: the conjugate of ``phi``."""
        dual = self.dual(margin)
        return np.asarray(-self.phi(dual) - dual * margin)

    def piece(self, margin: Array) -> NDArray[np.int8]:
        """Return the piece of every row: 0 flat, ±1 sloping below or above, ±2 at that end."""
        dual = (self.lower - margin) / self.below
        piece = (dual > 0).astype(np.int8) + (dual >= self.bound).astype(np.int8)
        if self.upper is not None:
            above = margin > self.upper
            full = (self.upper - margin) / self.above <= self.floor
            piece[above] = np.where(full[above], -2, -1)
        return piece

    def kinks(self, margin: Array, direction: Array) -> Array:
        """Return where on the way rows change their pieces, in order, from 0 to 1."""
        ends = [self.lower, self.lower - self.below * self.bound]
        if self.upper is not None:
            ends += [self.upper, self.upper - self.above * self.floor]
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.concatenate([(end - margin) / direction for end in ends])
        return np.concatenate([[0.0], np.sort(at[(at > 0) & (at < 1)]), [1.0]])


def solve(
    problem: KernelProblem, start: Duals, budget: Budget, history: History, steps: int = 0
) -> Solution[Duals]:
    """Solve from ``start``; ``steps`` counts the iterations that finding it took."""
    with single_threaded_blas():  # the number of BLAS threads must not change the result
        return _Rounds(problem, start, budget, history, steps).solve()


class _Rounds:
    """The state of a solve: a primal point, the best of both bounds, and steps so far."""

    def __init__(
        self, problem: KernelProblem, start: Duals, budget: Budget, history: History, steps: int
    ) -> None:
        self.problem, self.terms = problem, problem.terms
        self.budget, self.history, self.steps = budget, history, steps
        self.q = problem.dense_q()
        self.net_dual = np.array(start.net_dual, dtype=np.float64)
        self.margin = self.q @ self.net_dual
        self.best = Duals(self.net_dual, self.margin)
        certificate = certify(self.terms, self.net_dual, self.margin)
        self.lowest, self.highest = certificate.primal, certificate.dual
        # The lowest primal of any point, whose net dual need not be feasible.
        self.seen = self.lowest

    def solve(self) -> Solution[Duals]:
        terms, centre = self.terms, self.net_dual
        exact = terms.smooth
        width, idle = FIRST_WIDTH, 0
        # A row without weight must not have an infinite slope.
        bound = np.maximum(terms.bound, -terms.floor)
        bound = np.maximum(bound, NO_WEIGHT * bound.max())
        width *= _unit(terms)
        least = LEAST_WIDTH * _unit(terms)
        while True:
            before = self.seen, self.highest
            slope = np.zeros_like(centre) if exact else width / bound
            smoothed = _Smoothed.of(terms, centre, slope)
            outcome = self._newton(smoothed, to_the_end=exact)
            if outcome is not None:
                return self._solution(outcome)
            idle = idle + 1 if (self.seen, self.highest) == before else 0
            if exact or width < least or idle == IDLE_ROUNDS:
                return self._solution(Outcome.STALLED)
            centre, width = smoothed.dual(self.margin), NARROWING * width

    def _newton(self, loss: _Smoothed, to_the_end: bool) -> Outcome | None:
        """Take the steps of a round; return why the solve is over, None if it is not."""
        previous = np.inf
        for _ in range(STEPS_OF_ROUND):
            if self.steps >= self.budget.max_iter:
                return Outcome.ITERATIONS
            piece = loss.piece(self.margin)
            wanted = self._newton_point(loss, piece)
            wanted_margin = self.q @ wanted
            change, margin_change = wanted - self.net_dual, wanted_margin - self.margin
            t = _lowest_on_line(loss, self.net_dual, self.margin, change, margin_change)
            self.net_dual = self.net_dual + t * change
            self.margin = self.margin + t * margin_change
            self.steps += 1
            half = 0.5 * float(self.net_dual @ self.margin)
            primal = half + float(loss.primal(self.margin).sum())
            inner = self._certify(loss, wanted, wanted_margin, primal)
            if self.lowest - self.highest <= self.budget.tol * self.lowest:
                return Outcome.CONVERGED
            if self.budget.out_of_time:
                return Outcome.TIME
            # Close enough, the round is solved to the end, where the net dual is feasible.
            gap = self.seen - self.highest
            far = gap > self.budget.tol * self.seen
            if far and not to_the_end and inner <= INNER_SHARE * gap:
                return None
            settled = t == 1.0 and np.array_equal(piece, loss.piece(self.margin))
            if settled or not primal < previous * (1 - ROUNDING):  # a primal is positive
                return None
            previous = primal
        return None

    def _newton_point(self, loss: _Smoothed, piece: NDArray[np.int8]) -> Array:
        """Solve the optimality conditions with every row on its piece."""
        net_dual, full, least = np.zeros(len(piece)), piece == 2, piece == -2
        net_dual[full], net_dual[least] = loss.bound[full], loss.floor[least]
        rows = np.flatnonzero(np.abs(piece) == 1)
        if rows.size == 0:
            return net_dual
        low = piece[rows] > 0
        right, curvature = loss.lower[rows], loss.below[rows]
        if loss.upper is not None:
            right = np.where(low, right, loss.upper[rows])
            curvature = np.where(low, curvature, loss.above[rows])
        if net_dual.any():
            right = right - (self.q @ net_dual)[rows]
        system = self.q[np.ix_(rows, rows)]
        net_dual[rows] = damped_cholesky(system, curvature).solve(right)
        return net_dual

    def _certify(
        self, loss: _Smoothed, wanted: Array, wanted_margin: Array, primal: float
    ) -> float:
        """Try feasible net duals as bounds of the problem; return the gap of the round.

        The Newton point itself where the loss allows any net dual; what the margins imply where
        that is needed, because a step that ends outside the box says little there.
        """
        if not np.any(np.isfinite(self.terms.bound)):
            if self.terms.two_sided:
                self._consider(self.net_dual, self.margin)
                self._consider(wanted, wanted_margin)
            else:
                inside = self.terms.nearest(wanted)
                self._consider(inside, self.q @ inside)
            self._record()
            return np.inf
        half = 0.5 * float(self.net_dual @ self.margin)
        self.seen = min(self.seen, half + float(self.terms.primal(self.margin).sum()))
        implied = loss.dual(self.margin)
        implied_margin = self.q @ implied
        self._consider(implied, implied_margin)
        if self.seen - self.highest <= self.budget.tol * self.seen:
            # What margins imply multiplies their rounding; the duals themselves do not.
            inside = self.terms.nearest(self.net_dual)
            self._consider(inside, self.q @ inside)
        self._record()
        dual = -0.5 * float(implied @ implied_margin) - float(loss.phi(implied).sum())
        return primal - dual

    def _consider(self, net_dual: Array, margin: Array) -> None:
        certificate = certify(self.terms, net_dual, margin)
        self.seen = min(self.seen, certificate.primal)
        self.highest = max(self.highest, certificate.dual)
        if certificate.primal < self.lowest:
            self.lowest, self.best = certificate.primal, Duals(net_dual, margin)
            self.history.latest = Duals(net_dual)

    def _record(self) -> None:
        record_iteration(self.history, self.problem, self.steps, self.seen, self.highest)

    def _solution(self, outcome: Outcome) -> Solution[Duals]:
        certificate = Certificate(self.lowest, self.highest)
        return Solution(self.best, certificate, outcome, self.steps)


def _unit(terms: LossTerms) -> float:
    """Return the size of margins: 1 where rows have no targets, else the spread of these."""
    if terms.offset is None:
        return 1.0
    spread = float(np.mean(np.abs(terms.offset - np.mean(terms.offset))))
    return spread if spread > 0 else 1.0


def _lowest_on_line(
    loss: _Smoothed, net_dual: Array, margin: Array, change: Array, margin_change: Array
) -> float:
    """Minimise the primal of a round over t in (0, 1].

    Its derivative increases and is linear between the kinks: bisect those, then interpolate.
    """

    def slope(t: float) -> float:
        implied = loss.dual(margin + t * margin_change)
        return float((net_dual + t * change - implied) @ margin_change)

    if slope(1.0) <= 0:
        return 1.0
    at = loss.kinks(margin, margin_change)
    first, last = 0, len(at) - 1
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if slope(at[middle]) < 0 else (first, middle)
    low, high = slope(at[first]), slope(at[last])
    if not high > low:  # rounding
        return max(float(at[first]), 1e-10)
    t = at[first] - low * (at[last] - at[first]) / (high - low)
    return float(np.clip(t, 1e-10, 1.0))
