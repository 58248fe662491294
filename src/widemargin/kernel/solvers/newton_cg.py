r"""Newton's method with conjugate gradients, for losses with curvature, on problems of any size.

The step is that of :mod:`~widemargin.kernel.solvers.newton`: on the rows the loss penalises,

.. math:: (Q_{AA} + \operatorname{diag} c_A)\,\gamma_A = s_A, \qquad \gamma_i = 0 \text{ off } A,

then an exact search of the line to its solution. Here the system is solved by conjugate gradients
preconditioned by a low-rank factor (:mod:`~widemargin.kernel.solvers.preconditioner`), from the
present duals on, until :math:`r^\top P^{-1} r` is 1e-4 of its start. Nothing of Q is kept: a
product costs :math:`|A|^2` kernel values in the precision of the data, a step :math:`M|A|` more for
the margins.

Stops when :math:`(P - D) / P \le` ``tol``, with margins recomputed in float64. Where float32
fails that, the next steps start from the float64 margins and correct what is left of the error.
Memory is :math:`O(Mr)` for a factor of rank r.

Departures from the dense method:

1. From zero duals every row is penalised, which says little; the first system is solved to 1e-1.
2. The certificate is that of the solution of the system itself, moved into the loss's domain, which
   needs no product (for ODM) or a small one. At large C it proves more than the dual that the
   margins imply: where the first said 8e-4, the latter said 2e-2 (8,000 rows of ijcnn1, C=32). And
   it is zero off A, where a point on the way is not.
3. A step that does not lower the primal is tried again from float64 margins, with float64 products
   and its system solved further; after three in a row rounding decides and the method ends.

References
----------
Chapelle (2007), "Training a support vector machine in the primal"; Keerthi and DeCoste (2005),
"A modified finite Newton method for fast solution of large scale linear SVMs", for the line search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.losses import LossTerms
from ...core.outcome import Certificate, Outcome, Solution, certify
from ...core.resources import single_threaded_blas
from ..problem import Duals, KernelProblem, KernelProducts, record_iteration
from .newton import exact_line_search, penalised_side
from .preconditioner import Preconditioner, build_preconditioner

# Conjugate gradients end when rᵀP⁻¹r is this share of its initial value. With 1e-2 for all systems,
# twice the steps are needed.
REDUCTION = 1e-4
# The same for the first system, if the duals are zero.
FIRST_REDUCTION = 1e-1
# Products allowed for one system; an inexact step is still a step.
MOST_PRODUCTS = 300
# Steps in a row that may fail to lower the primal, each solved further than the one before.
FAILURES = 2
# A primal must fall by this share to count as lower.
ROUNDING = 1e-12
# Margins follow from the change of the duals unless it needs this many times the columns.
MORE_COLUMNS = 1.25
# Share of the last missed gap that float64 margins must get below for another try.
GAIN = 0.9


@dataclass(frozen=True)
class _State:
    """Net duals with margin = Q ``net_dual``, up to the precision it was computed in."""

    net_dual: Array
    margin: Array

    def primal(self, terms: LossTerms) -> float:
        half = 0.5 * float(self.net_dual @ self.margin)
        return half + float(np.sum(terms.primal(self.margin)))

    def certificate(self, terms: LossTerms) -> Certificate:
        return certify(terms, self.net_dual, self.margin)


def solve(
    problem: KernelProblem, start: Duals, budget: Budget, history: History
) -> Solution[Duals]:
    """Solve from ``start``."""
    if not problem.terms.smooth:
        raise ValueError(
            "Newton's method needs a loss with curvature (ODM or squared hinge); got the hinge."
        )
    with single_threaded_blas():  # the number of BLAS threads must not change the result
        return _Iteration(problem, budget, history).run(start)


class _Iteration:
    """One solve. Invariant: ``lower`` is the feasible point with the best dual seen."""

    def __init__(self, problem: KernelProblem, budget: Budget, history: History) -> None:
        self.problem, self.terms = problem, problem.terms
        self.budget, self.history = budget, history
        self.products = KernelProducts(problem)
        self.preconditioner: Preconditioner | None = None
        self.lower, self.best_dual = np.zeros(problem.n_rows), -np.inf

    def run(self, start: Duals) -> Solution[Duals]:
        terms, budget = self.terms, self.budget
        net_dual, margin = np.array(start.net_dual, dtype=np.float64), start.margin
        support = np.flatnonzero(net_dual)
        if margin is None:
            margin = self.products.all_rows(support, net_dual[support])
        point = candidate = _State(net_dual, margin)
        reduction = REDUCTION if support.size else FIRST_REDUCTION
        missed, failures = np.inf, 0
        for step in range(budget.max_iter + 1):
            self.history.latest = Duals(point.net_dual)
            feasible = self._feasible(candidate)
            certificate = feasible.certificate(terms)
            if certificate.dual > self.best_dual:
                self.lower, self.best_dual = feasible.net_dual, certificate.dual
            if certificate.relative_gap <= budget.tol:
                point = self._exact(feasible)
                certificate = point.certificate(terms)
                if certificate.relative_gap <= budget.tol:
                    return self._solution(point, certificate, Outcome.CONVERGED, step)
                if not certificate.relative_gap <= GAIN * missed and not self._more_precise():
                    return self._stopped(point, Outcome.STALLED, step)
                missed = certificate.relative_gap
            if step:
                self._record(step, point.primal(terms), self.best_dual)
            if step and budget.out_of_time:
                return self._stopped(point, Outcome.TIME, step)
            if step == budget.max_iter:
                break
            candidate = self._newton_point(point, reduction, failures)
            moved = self._lowest_between(point, candidate)
            reduction = REDUCTION
            if moved.primal(terms) < point.primal(terms) * (1 - ROUNDING):
                point, failures = moved, 0
            elif failures == FAILURES:
                return self._stopped(point, Outcome.STALLED, step + 1)
            else:
                self._more_precise()
                point, failures = self._exact(point), failures + 1
        return self._stopped(point, Outcome.ITERATIONS, budget.max_iter)

    def _newton_point(self, point: _State, reduction: float, failures: int) -> _State:
        """Solve the optimality conditions for the rows penalised now; further after failures."""
        side = penalised_side(self.terms, point.margin)
        rows = np.flatnonzero(side)
        net_dual = np.zeros_like(point.net_dual)
        if rows.size:
            net_dual[rows] = self._solve_system(
                point, side, reduction * REDUCTION**failures, MOST_PRODUCTS * 10**failures
            )
        change = net_dual - point.net_dual
        moving = np.flatnonzero(change)
        if moving.size <= MORE_COLUMNS * rows.size:  # rounding is relative to the change alone
            return _State(net_dual, point.margin + self.products.all_rows(moving, change[moving]))
        return _State(net_dual, self.products.all_rows(rows, net_dual[rows]))

    def _lowest_between(self, point: _State, other: _State) -> _State:
        """Go to the lowest primal between two points."""
        change, margin_change = other.net_dual - point.net_dual, other.margin - point.margin
        t = exact_line_search(self.terms, point.net_dual, point.margin, change, margin_change)
        return _State(point.net_dual + t * change, point.margin + t * margin_change)

    def _solve_system(
        self, point: _State, side: Array, reduction: float, most_products: int
    ) -> Array:
        """Solve the system of the penalised rows by preconditioned conjugate gradients."""
        problem, terms, products = self.problem, self.terms, self.products
        if self.preconditioner is None:
            self.preconditioner = build_preconditioner(
                problem, self.budget.memory, self.budget.seed
            )
            products.entries += problem.n_rows * self.preconditioner.rank
        rows = np.flatnonzero(side)
        low = side[rows] > 0
        curvature = np.where(low, terms.below[rows], terms.above[rows])
        wanted = terms.at(rows).wanted(low)
        self.preconditioner.set_rows(rows, curvature)

        net_dual = point.net_dual[rows]
        residual = wanted - curvature * net_dual - point.margin[rows]
        leaving = np.flatnonzero((side == 0) & (point.net_dual != 0))
        if leaving.size:
            residual += products.some_rows(rows, leaving, point.net_dual[leaving])

        direction = preconditioned = self.preconditioner.solve(residual)
        size = first_size = float(residual @ preconditioned)
        for _ in range(most_products):
            if not size > reduction * first_size:
                break
            image = products.some_rows(rows, rows, direction) + curvature * direction
            bend = float(direction @ image)
            if not bend > 0:  # rounding
                break
            net_dual = net_dual + (size / bend) * direction
            residual = residual - (size / bend) * image
            preconditioned = self.preconditioner.solve(residual)
            previous, size = size, float(residual @ preconditioned)
            direction = preconditioned + (size / previous) * direction
            if self.budget.out_of_time:  # what there is of the step is still taken
                break
        return net_dual

    def _feasible(self, point: _State) -> _State:
        """Move a point into the loss's domain; its margins follow by the rows that moved."""
        net_dual = self.terms.nearest(point.net_dual)
        moved = np.flatnonzero(net_dual != point.net_dual)
        if moved.size == 0:
            return point
        change = (net_dual - point.net_dual)[moved]
        return _State(net_dual, point.margin + self.products.all_rows(moved, change))

    def _more_precise(self) -> bool:
        """Turn to float64 products; false if they are exact already."""
        problem = self.products.problem
        if problem.X.dtype == np.float64 or problem.kernel.name == "precomputed":
            return False
        entries = self.products.entries
        self.products = KernelProducts(replace(problem, X=problem.X.astype(np.float64)))
        self.products.entries = entries
        return True

    def _exact(self, point: _State) -> _State:
        """Recompute the margins in float64."""
        self.products.entries += self.problem.n_rows * int(np.count_nonzero(point.net_dual))
        return _State(point.net_dual, self.problem.margins(point.net_dual))

    def _stopped(self, point: _State, outcome: Outcome, steps: int) -> Solution[Duals]:
        """End with the last primal and the best dual, each in float64."""
        point = self._exact(point)
        lower = point
        if not np.array_equal(self.lower, point.net_dual):
            lower = self._exact(_State(self.lower, self.lower))
        dual = lower.certificate(self.terms).dual
        certificate = Certificate(point.primal(self.terms), dual)
        if certificate.relative_gap <= self.budget.tol:
            outcome = Outcome.CONVERGED
        return self._solution(point, certificate, outcome, steps)

    def _solution(
        self, point: _State, certificate: Certificate, outcome: Outcome, steps: int
    ) -> Solution[Duals]:
        self._record(steps, certificate.primal, certificate.dual)
        return Solution(Duals(point.net_dual, point.margin), certificate, outcome, steps)

    def _record(self, step: int, primal: float, dual: float) -> None:
        passes = self.products.passes
        record_iteration(self.history, self.problem, step, primal, dual, passes=passes)
