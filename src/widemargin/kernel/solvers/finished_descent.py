r"""Block descent, and Newton's method where descent is too slow.

Descent solves most problems in a few passes over the kernel matrix. Large ``C``, noisy labels and
kernels of low rank take it hundreds of thousands of working sets; factorising the rows' matrix then
is much cheaper, if there is memory for it. When to change over is decided by counted work, not by
the clock, so that a fit gives the same model every time: descent may cost about as much as Newton's
method is expected to take, so that the two together cost at most about twice the better one, and a
quarter of that while its gap is far from closed.

A step of descent on a working set of :math:`w` rows costs about :math:`10 w^2` multiply-adds, a
kernel value about as much as two, Newton's method about six factorisations of all rows, which run
at some fifty multiply-adds in the time of one of descent. CPU seconds on one core to a gap of 1e-3,
hinge, C = 1e4, with this rule: noise of 1,500 rows and 5 features 0.4, where 10,000 working sets of
descent took 4.7 and left a gap of .15; 5,000 rows of susy 8, where descent alone took 24.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Outcome, Solution
from ..problem import Duals, KernelProblem
from . import clustered_descent, proximal_newton

# Multiply-adds of descent that take as long as a kernel value, and as the multiply-adds of Newton's
# method divided by the cube of the rows.
KERNEL_VALUE = 2.0
NEWTON = 0.04
# Multiply-adds per row and row of a working set.
PER_WORKING_SET = 10.0
# Descent is looked at when this share of the work is done; it goes on if its gap is smaller than
FIRST_LOOK = 0.25
# this.
PROMISING_GAP = 0.5
# Descent always gets this many working sets.
FEWEST_SETS = 100
# Newton's method starts from zero if descent leaves a larger gap than this: such duals are worse.
USEFUL_GAP = 0.5


@dataclass(frozen=True)
class Patience:
    """How much work descent may do before another method takes over."""

    work: float  # multiply-adds

    @classmethod
    def of(cls, problem: KernelProblem) -> Patience:
        """Allow as much work as Newton's method is expected to take."""
        return cls(NEWTON * float(problem.n_rows) ** 3)

    def over(self, sets: int, working_set: int, entries: int, gap: float) -> bool:
        """Return whether descent should end, given its work so far and its relative gap."""
        if sets < FEWEST_SETS:
            return False
        done = PER_WORKING_SET * sets * working_set**2 + KERNEL_VALUE * entries
        return done >= self.work or (done >= FIRST_LOOK * self.work and gap > PROMISING_GAP)


def solve(
    problem: KernelProblem, start: Duals, budget: Budget, history: History
) -> Solution[Duals]:
    """Solve from ``start``, by descent as far as that goes."""
    fits = problem.dense_bytes <= budget.memory
    patience = Patience.of(problem).over if fits else None
    solution = clustered_descent.solve(problem, start, budget, history, patience)
    spent = solution.iterations >= budget.max_iter
    over = solution.outcome is Outcome.STALLED or solution.outcome is Outcome.ITERATIONS
    if not fits or not over or spent or not np.isfinite(solution.certificate.primal):
        return solution
    begin = solution.iterate
    if solution.certificate.relative_gap > USEFUL_GAP:
        begin = Duals(np.zeros(problem.n_rows))
    finished = proximal_newton.solve(problem, begin, budget, history, solution.iterations)
    if finished.certificate.relative_gap <= solution.certificate.relative_gap:
        return finished
    return replace(solution, outcome=finished.outcome, iterations=finished.iterations)
