r"""The multi-class margin distribution with a kernel, as a series of convex problems.

With the margin :math:`m_i = f_{y_i}(x_i) - \max_{c \ne y_i} f_c(x_i)`,

.. math:: F(f) = \tfrac12 \sum_c \lVert f_c \rVert^2 + \sum_i \tfrac{C_i}2 \left(
          (1 - \theta - m_i)_+^2 + \upsilon\, (m_i - 1 - \theta)_+^2 \right)

is minimised. The second loss is not convex. That of the margin against one rival,
:math:`f_{y_i} - f_{r_i}`, is, and is at least as large: it makes a convex problem
:math:`F_r \ge F` (``odm`` of :mod:`.solvers.class_blocks`), which touches F wherever the rivals are
the best other classes. Rounds take the best other classes of the functions found last as rivals;
:mod:`widemargin.multiclass.margin_distribution` says why F falls in every round and what its end
certifies, and the rounds here are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.history import History
from ..core.losses import MarginDistribution
from ..core.outcome import Certificate, Outcome, Solution
from .all_classes import AllClassesFit, AllClassesProblem, ClassFunctions, ClassRun

# A convex problem touches F where they differ by this share of F: by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class RoundStart:
    """Functions, their true objective and their rivals: where a round begins."""

    coef: Array
    score: Array
    objective: float
    rivals: NDArray[np.int32]

    @classmethod
    def at(cls, problem: AllClassesProblem, coef: Array, score: Array) -> RoundStart:
        """Evaluate functions, and keep a copy of them."""
        rows = np.arange(problem.n_rows)
        others = score.copy()
        others[problem.codes, rows] = -np.inf
        rivals = others.argmax(axis=0).astype(np.int32)
        margins = score[problem.codes, rows] - others[rivals, rows]
        loss = MarginDistribution(problem.loss.upsilon, problem.loss.theta)
        losses = loss.terms(problem.weights).primal(margins)
        objective = 0.5 * float(np.sum(coef * score)) + float(np.sum(losses))
        return cls(coef.copy(), score.copy(), objective, rivals)


def with_rivals(coef: Array, codes: NDArray[np.int64], rivals: NDArray[np.int32]) -> Array:
    """Return coefficients whose negative multipliers are those of the rivals.

    A multiplier below zero of another class becomes the rival's; sums over classes stay.
    """
    rows = np.arange(len(codes))
    misplaced = np.maximum(coef, 0.0)
    misplaced[codes, rows] = 0.0
    misplaced[rivals, rows] = 0.0
    moved = coef - misplaced
    moved[rivals, rows] += misplaced.sum(axis=0)
    return moved


class ClassMarginsFit(AllClassesFit):
    """A fit of all classes to their margin distribution; see :class:`.AllClassesFit`."""

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[ClassFunctions]:
        run = ClassRun(self, replace(budget, tol=0.5 * budget.tol), history)
        problem = self.problem
        self._start(run)
        if not self.coef.any():
            proof = run.solve()  # without the loss of margins too large
            if not run.outcome(proof).converged:
                return self._solution(run, proof, run.outcome(proof))
        while True:
            begun = RoundStart.at(problem, self.coef, self.score)
            self._take_rivals(run, begun.rivals)
            proof = run.solve()
            beyond = RoundStart.at(problem, self.coef, self.score)
            own = Certificate(begun.objective, proof.dual)
            bounding = run.blocks.measure(self.coef, self.score).certificate.primal
            touching = bounding - beyond.objective <= ROUNDING * bounding
            better = beyond.objective < begun.objective
            certified = Certificate(beyond.objective, proof.dual) if touching and better else own
            if certified.relative_gap <= budget.tol:
                outcome = Outcome.CONVERGED
            elif not run.outcome(proof).converged:
                certified, outcome = proof, run.outcome(proof)
            elif not better:  # a `tol` as small as rounding
                outcome = Outcome.STALLED
            else:
                continue
            if not better or (not touching and outcome is Outcome.CONVERGED):
                self.coef[:], self.score[:] = begun.coef, begun.score
            run.record(certified)
            return self._solution(run, certified, outcome)

    def _start(self, run: ClassRun) -> None:
        """Take the solution of an earlier fit, or of another ``C``, as it is."""
        start = self.problem.previous
        if self.neighbours is not None:
            start = self.neighbours[0].coef
        if start is not None and start.any():
            self.coef[:] = start
            self.score[:] = run.blocks.scores.of(self.coef, single=True)

    def _take_rivals(self, run: ClassRun, rivals: NDArray[np.int32]) -> None:
        """Pose the convex problem with these rivals, and make the coefficients feasible in it."""
        changes = with_rivals(self.coef, self.problem.codes, rivals) - self.coef
        everything = np.arange(self.problem.n_rows)
        run.blocks.scores.add(self.score, everything, changes, everything)
        if run.blocks.scores.shift:
            self.score += run.blocks.scores.shift * changes
        self.coef += changes
        run.blocks.rivals = rivals
