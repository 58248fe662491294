"""The multi-class fit: from a posed problem to fitted attributes, on any engine.

:func:`choose` decides on a solver, and whether rows of other processes are gathered in one task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import Array
from ..core.blocks import CANONICAL_VALUES, GATHERED_BYTES, RowBlock, joined
from ..core.budget import Budget
from ..core.fit import Fit
from ..core.history import CERTIFIED, Columns, History, Listener
from ..core.outcome import Solution
from ..core.rows import copies_in_own_order
from ..engines import LocalEngine
from . import solvers
from .problem import ClassWeights, MulticlassObjective, MulticlassProblem, StoredWeights
from .solvers import blockwise, newton
from .solvers.bundles import in_rows

# Solvers that leave rows in the blocks of other processes.
ON_BLOCKS = ("tournament", "newton", "blocks")


def choose(name: str, problem: MulticlassProblem, memory: int) -> str:
    """Return the solver that 'auto' means.

    It stays 'auto' where rows of other processes are gathered: the task that has them chooses.
    """
    if problem.engine.in_process:
        return solvers.choose(name, problem, memory)
    if name in ON_BLOCKS:
        return name
    if name != "auto":
        if problem.stored_bytes > memory:
            raise _too_large(f"solver={name!r}", problem, memory)
        return name
    if problem.stored_bytes <= min(GATHERED_BYTES, memory):
        return "auto"
    objective = problem.objective
    known = objective.formulation in newton.FORMULATIONS
    if known and newton.small_enough(objective, memory):
        return "newton"
    # One task keeps the weights once, and may have room where this process has none for several.
    if blockwise.bytes_needed(problem) > memory and problem.stored_bytes <= memory:
        return "auto"
    return "blocks"


def columns_of(name: str, problem: MulticlassProblem) -> Columns:
    """Return the columns of the history of a solver."""
    travelling = name in ("tournament", "blocks") and not problem.engine.in_process
    return {**CERTIFIED, "bytes_moved": int} if travelling else CERTIFIED


def solve(
    name: str,
    problem: MulticlassProblem,
    budget: Budget,
    history: History,
    start: ClassWeights | None = None,
) -> Solution[ClassWeights]:
    """Solve with the solver that :func:`choose` returned; a start is for rows in this process."""
    engine = problem.engine
    if engine.in_process:
        return solvers.solve(name, problem, budget, history, start)
    if name in ON_BLOCKS:
        if name == "tournament":
            problem = _canonical_if_small(problem)
        return solvers.solve(name, problem, budget, history)
    share = budget.share(threads=engine.share(1).threads)
    task = SolveAllClasses(problem.objective, name, share, problem.in_canonical_order)
    solution, rows = engine.together(problem.blocks, task)
    history.extend(rows)
    history.iterations = solution.iterations
    found: Solution[ClassWeights] = solution
    return found


@dataclass(frozen=True)
class SolveAllClasses:
    """Solves the problem of all classes in one task, on all blocks together."""

    objective: MulticlassObjective
    name: str
    budget: Budget
    in_canonical_order: bool

    def __call__(
        self, blocks: Sequence[RowBlock]
    ) -> tuple[Solution[ClassWeights], Sequence[Mapping[str, Any]]]:
        """Return the solution, without multipliers, and the rows of its history."""
        block = joined(blocks) if self.in_canonical_order else in_canonical_order(joined(blocks))
        problem = MulticlassProblem.of_block(
            self.objective, LocalEngine(self.budget.threads), block
        )
        history = History.of(CERTIFIED, self.budget)
        name = solvers.choose(self.name, problem, self.budget.memory)
        solution = solvers.solve(name, problem, self.budget, history)
        return replace(solution, iterate=StoredWeights(solution.iterate.weights)), history.rows


@dataclass(frozen=True)
class _JoinBlocks:
    """Regroups the blocks of a small set into one, in canonical order."""

    def split(self, _: int, block: RowBlock) -> list[tuple[int, RowBlock]]:
        return [(0, block)]

    def combine(self, blocks: list[RowBlock]) -> RowBlock:
        return in_canonical_order(joined(blocks))


def _canonical_if_small(problem: MulticlassProblem) -> MulticlassProblem:
    if problem.in_canonical_order or problem.stored > CANONICAL_VALUES:
        return problem
    join = _JoinBlocks()
    blocks = problem.engine.regroup(problem.blocks, join.split, join.combine, 1)
    return replace(problem, blocks=blocks)


def in_canonical_order(block: RowBlock) -> RowBlock:
    """Make a small block independent of the order in which its rows were given, and of copies."""
    X, codes = block.X, block.codes
    if (X.nnz if sp.issparse(X) else X.size) > CANONICAL_VALUES:
        return block
    group, first = copies_in_own_order(X, codes.astype(np.int64))
    weight = np.bincount(group, block.weight).astype(np.float64)
    return RowBlock(block.name, X[first], codes[first], weight)


def _too_large(what: str, problem: MulticlassProblem, memory: int) -> ValueError:
    return ValueError(
        f"{what} needs all rows in one task: {problem.stored_bytes / 1e6:,.0f} MB, and the memory "
        f"limit is {memory / 1e6:,.0f} MB. Use solver='blocks', which leaves rows in parts, or "
        "raise the limit."
    )


class MulticlassFit(Fit[ClassWeights]):
    """The fit of all classes, as one problem.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problem : MulticlassProblem
        The problem.
    solver : str
        The solver that :func:`choose` returned.
    budget : Budget
        Limits of the fit.
    listener : callable, optional
        Called for every iteration.
    start : ClassWeights, optional
        Earlier solution to start from; left out if it is of another number of rows or classes.
    """

    def __init__(
        self,
        name: str,
        problem: MulticlassProblem,
        solver: str,
        budget: Budget,
        listener: Listener | None = None,
        start: ClassWeights | None = None,
    ) -> None:
        shape = (problem.n_rows, problem.objective.n_classes)
        self.start = None if start is None or start.duals.shape != shape else start
        self.problem, self.objective, self.solver = problem, problem.objective, solver
        history = History.of(self.columns(), budget, listener)
        super().__init__(name, 1, self.solve_all, budget, history)

    def columns(self) -> Columns:
        """Return the columns of the history."""
        return columns_of(self.solver, self.problem)

    def solve_all(self, _: int, budget: Budget, history: History) -> Solution[ClassWeights]:
        """Solve the problem of all classes."""
        return solve(self.solver, self.problem, budget, history, self.start)

    @property
    def found(self) -> ClassWeights:
        """The solution, or what an interrupt left of it."""
        iterate = self.iterate(0)
        assert iterate is not None, "a fit that ends has a solution"
        return iterate

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model, and not only a beginning at zero."""
        return super().usable and bool(abs(self.found.weights).max() > 0)

    def attributes(self, *, give_away: bool = False) -> dict[str, Any]:
        """Return the fitted attributes; ``give_away`` as in :func:`weight_attributes`."""
        attributes = super().attributes()
        attributes["solver_"] = attributes["solver_"] or self.solver  # after an interrupt
        weights = weight_attributes(self.found.weights, self.objective, give_away=give_away)
        return {**weights, **attributes}


def weight_attributes(
    weights: Any, objective: MulticlassObjective, *, give_away: bool = False
) -> dict[str, Any]:
    """Return the attributes that predict.

    Two classes have one row of weights, as in scikit-learn: the difference of both. Those of one
    against the rest mirror each other; half the difference is the binary machine that each is.

    With ``give_away``, sparse weights are taken apart where they are, and of no use afterwards:
    there may be too many for two copies of them.
    """
    if objective.n_classes == 2:
        weights = weights[1:2] - weights[0:1]
        if objective.formulation == "ovr":
            weights = 0.5 * weights
        give_away = True  # the difference is nobody else's
    n_features, constant = objective.n_features, objective.constant
    if sp.issparse(weights):
        own = weights if give_away or not constant else weights.copy()
        coef, last = _without_constant(sp.csr_array(own), n_features)
        non_zero = coef.nnz
    else:
        # Without an intercept the weights are not copied.
        coef = np.ascontiguousarray(weights[:, :n_features])
        last = weights[:, n_features] if constant else np.zeros(len(weights))
        non_zero = np.count_nonzero(coef)
    intercept: Array = constant * last
    return {
        "coef_": coef,
        "intercept_": intercept + 0.0,  # no -0.0
        "density_": float(non_zero / (coef.shape[0] * n_features)),
    }


def _without_constant(weights: sp.csr_array, n_features: int) -> tuple[sp.csr_array, Array]:
    """Return the weights of the features, in the arrays that are given, and the constant's."""
    weights.eliminate_zeros()
    weights.sort_indices()
    values, features, given = weights.data, weights.indices, weights.indptr
    start, last = given.astype(np.int64), np.zeros(weights.shape[0])
    for c in range(len(last)):
        begin, end = given[c], given[c + 1]
        if end > begin and features[end - 1] == n_features:  # sorted: the constant is the last
            end -= 1
            last[c] = values[end]
        start[c + 1] = start[c] + end - begin
        if start[c] != begin:
            values[start[c] : start[c + 1]] = values[begin:end]
            features[start[c] : start[c + 1]] = features[begin:end]
    stored = start[-1]
    return in_rows(values[:stored], features[:stored], start, (len(last), n_features)), last
