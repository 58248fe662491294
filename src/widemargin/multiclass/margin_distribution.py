r"""The multi-class margin distribution (mcODM), as a series of convex problems.

With the margin :math:`m_i(W) = w_{y_i}^\top x_i - \max_{c \ne y_i} w_c^\top x_i`,

.. math:: F(W) = \tfrac12 \sum_c \lVert w_c \rVert^2 + \sum_i \tfrac{C_i}2 \left(
          (1 - \theta - m_i)_+^2 + \upsilon\, (m_i - 1 - \theta)_+^2 \right)

is minimised. Margins are concave in the weights, so that the first loss is convex and the second is
not. But for any rival :math:`r \ne y_i`

.. math:: (m_i - 1 - \theta)_+^2 \le
          \left( (w_{y_i} - w_r)^\top x_i - 1 - \theta \right)_+^2,

with equality where r is the best of the other classes, and the right-hand side is convex. With a
rival for every row it makes a convex problem :math:`F_r \ge F` (formulation ``odm`` of
:mod:`.problem`), which touches F at all weights whose best other classes are these rivals. A round
takes the best other classes at its first weights W as rivals, and solves :math:`F_r`, to half of
``tol``. Its dual objective D is a lower bound of :math:`F_r`:

1. :math:`F(W) - D \le \mathrm{tol} \cdot F(W)`: the weights that the round began with are within
   ``tol`` of the best that any weights have under their own rivals. The solve ends.
2. Otherwise the round's solution V has :math:`F(V) \le F_r(V) < (1 - \mathrm{tol} / 2)\, F(W)`, up
   to terms of tol²: F falls in every round, and rounds are finite in number.

If :math:`F_r` touches F at V, then the certificate of V is that of the round, and the solve ends
without another one. The first weights are the optimum without the second loss (υ = 0), a convex
problem; two classes have one rival each, and :math:`F_r = F` in the first round.

Reference: Zhang and Zhou (2017), who replace the best other class of the upper constraint by that
of the last weights, too. Departure: every problem ends with a certificate, and so does the series.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.history import CERTIFIED, Columns, History
from ..core.losses import MarginDistribution
from ..core.outcome import Certificate, Outcome, Solution
from ..core.resources import single_threaded_blas
from ..engines import LocalEngine
from . import solvers
from .fit import MulticlassFit
from .problem import ClassWeights, InMemoryProblem, MulticlassProblem, StoredWeights

SOLVERS = ("dual", "proximal")  # of the convex problems
COLUMNS: Columns = {**CERTIFIED, "round": int}
# Scores that are computed together.
BLOCK_VALUES = 2**20
# A convex problem touches F where they differ by this share of F: by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class SeriesWeights(StoredWeights):
    """Weights and multipliers that a series of convex problems ended with."""

    objectives: tuple[float, ...] = ()  # F of the weights after each round: they fall


@dataclass(frozen=True)
class MarginPoint:
    """Weights, their true objective and their rivals: where a round begins."""

    weights: Any
    objective: float
    rivals: NDArray[np.int32]

    @classmethod
    def at(cls, rows: InMemoryProblem, weights: Any, threads: int) -> MarginPoint:
        """Evaluate weights, in blocks of rows that do not depend on the number of threads."""
        n_classes, bound = rows.objective.n_classes, rows.bound
        loss = MarginDistribution(rows.objective.upsilon, rows.objective.theta)
        margins, rivals = np.empty(rows.n_rows), np.empty(rows.n_rows, dtype=np.int32)
        n_features = rows.objective.n_features
        columns = weights.T[:n_features]
        if sp.issparse(columns):
            columns = columns.tocsr() if sp.issparse(rows.X) else columns.toarray()
        elif sp.issparse(rows.X):  # a product with sparse rows would copy them for each block
            columns = np.ascontiguousarray(columns)
        last = weights[:, n_features:]
        fixed = rows.objective.constant * (last.toarray() if sp.issparse(last) else last).sum(
            axis=1
        )
        step = max(1, BLOCK_VALUES // max(n_classes, n_features))

        def evaluate(first: int) -> None:
            here = slice(first, first + step)
            scores = rows.X[here].astype(np.float64, copy=False) @ columns
            scores = (scores.toarray() if sp.issparse(scores) else np.array(scores)) + fixed
            each, codes = np.arange(len(scores)), rows.codes[here]
            own = scores[each, codes]
            scores[each, codes] = -np.inf
            rivals[here] = scores.argmax(axis=1)
            margins[here] = own - scores[each, rivals[here]]

        with single_threaded_blas():
            LocalEngine(threads).map(list(range(0, rows.n_rows, step)), evaluate)
        counted = bound > 0
        losses = loss.terms(bound[counted]).primal(margins[counted])
        values: Array = weights.data if sp.issparse(weights) else weights
        objective = 0.5 * float(np.vdot(values, values)) + float(np.sum(losses))
        return cls(weights, objective, rivals)


def solve(
    name: str,
    problem: MulticlassProblem,
    budget: Budget,
    history: History,
    start: ClassWeights | None = None,
) -> Solution[ClassWeights]:
    """Minimise F on rows in this process, from the weights of ``start`` if there are any."""
    series = Series(name, problem, budget, history)
    duals: Any = None
    if start is not None:
        duals = start.duals
        series.begin(start.weights)
    elif problem.objective.n_classes == 2:
        series.begin(np.zeros((2, problem.objective.size)))
    else:
        first = series.round(None, None)
        duals = first.iterate.duals
        series.begin(first.iterate.weights)
        if not first.outcome.converged:
            return series.end(first.certificate, first.outcome, duals)
    while True:
        begun, rivals = series.point, series.point.rivals
        found = series.round(rivals, duals)
        dual, duals = found.certificate.dual, found.iterate.duals
        own = Certificate(begun.objective, dual)
        beyond = MarginPoint.at(problem.in_memory, found.iterate.weights, budget.threads)
        bounding = found.certificate.primal  # F_r of what was found
        touching = bounding - beyond.objective <= ROUNDING * bounding
        better = beyond.objective < begun.objective
        if better and (touching or own.relative_gap > budget.tol):
            series.go_to(beyond)
        certified = Certificate(beyond.objective, dual) if touching and better else own
        if certified.relative_gap <= budget.tol:
            return series.end(certified, Outcome.CONVERGED, duals)
        if not found.outcome.converged:
            return series.end(found.certificate, found.outcome, duals)
        if not better:  # a `tol` as small as rounding
            return series.end(own, Outcome.STALLED, duals)


class Series:
    """Rounds so far: where they are, and what they have used of the budget.

    Attributes
    ----------
    point : MarginPoint
        The weights of the lowest objective.
    objectives : list of float
        Their objectives, after each round.
    """

    point: MarginPoint

    def __init__(
        self, name: str, problem: MulticlassProblem, budget: Budget, history: History
    ) -> None:
        self.name, self.problem, self.budget, self.history = name, problem, budget, history
        self.objectives: list[float] = []
        self.iterations = self.rounds = 0

    def begin(self, weights: Any) -> None:
        """Take weights to begin with."""
        self.go_to(MarginPoint.at(self.problem.in_memory, weights, self.budget.threads))

    def go_to(self, point: MarginPoint) -> None:
        """Take other weights."""
        self.point = point
        self.objectives.append(point.objective)

    def round(self, rivals: NDArray[np.int32] | None, duals: Any) -> Solution[ClassWeights]:
        """Solve the convex problem with these rivals, from multipliers of another one if given."""
        inner = History(CERTIFIED, listener=lambda row: self._record(inner, row))
        left = max(1, self.budget.max_iter - self.iterations)
        budget = replace(self.budget, tol=0.5 * self.budget.tol, max_iter=left)
        convex = replace(self.problem, rivals=rivals)
        first = None if duals is None else StoredWeights(None, duals)
        solution = solvers.solve(self.name, convex, budget, inner, first)
        self.history.latest = solution.iterate
        self.iterations += solution.iterations
        self.history.iterations = self.iterations
        self.rounds += 1
        return solution

    def _record(self, inner: History, row: Mapping[str, Any]) -> None:
        """Pass on what a round records."""
        values = {key: row[key] for key in row if key not in ("problem", "seconds")}
        values["iteration"] += self.iterations
        self.history.iterations = values["iteration"]
        if "primal" in values:
            self.history.record(inner.latest, round=self.rounds, **values)
        else:
            self.history.report(inner.latest, **values)

    def end(self, certificate: Certificate, outcome: Outcome, duals: Any) -> Solution[ClassWeights]:
        """Return the best weights."""
        found = SeriesWeights(self.point.weights, duals, tuple(self.objectives))
        return Solution(found, certificate, outcome, self.iterations, self.name)


class MarginDistributionFit(MulticlassFit):
    """The fit of all classes to their margin distribution; see :class:`MulticlassFit`."""

    def columns(self) -> Columns:
        """Return the columns of the history."""
        return COLUMNS

    def solve_all(self, _: int, budget: Budget, history: History) -> Solution[ClassWeights]:
        """Solve the series of convex problems."""
        return solve(self.solver, self.problem, budget, history, self.start)

    def attributes(self, *, give_away: bool = False) -> dict[str, Any]:
        """Return the fitted attributes; see :class:`MulticlassFit`."""
        objectives = getattr(self.found, "objectives", ())
        rounds = self.history.table()["round"]
        return {
            **super().attributes(give_away=give_away),
            "objectives_": np.array(objectives, dtype=np.float64),
            "objective_": objectives[-1] if objectives else float("nan"),
            "n_rounds_": int(rounds.max(initial=-1)) + 1,
        }
