"""Solvers of a binary linear problem, one file each.

================  ================================================  =======
name              method                                            losses
================  ================================================  =======
newton            Newton's method; losses with kinks by their       all
                  augmented Lagrangian
dual              coordinate descent in the dual                    all
dual_then_newton  the same, and Newton's method where that is slow  all
svrg              variance-reduced gradient steps                   smooth
dsvrg             the same on parts of the rows, one after another  smooth
csvrg             the same on a growing sample                      smooth
pegasos           gradient steps of shrinking length                all
================  ================================================  =======
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.outcome import Solution
from ...core.resources import DIRECT_SIZE, single_threaded_blas
from ..block_problem import AnyProblem
from ..history import LinearHistory
from . import augmented_lagrangian, csvrg, dsvrg, dual, newton, pegasos, svrg

Solve = Callable[..., Solution[Array]]

# The functions behind a name: for smooth losses, and for those with kinks.
SOLVERS: dict[str, tuple[Solve | None, Solve | None]] = {
    "newton": (newton.solve, augmented_lagrangian.solve),
    "dual": (dual.solve, dual.solve),
    "dual_then_newton": (dual.solve_then_newton, dual.solve_then_newton),
    "svrg": (svrg.solve, None),
    "dsvrg": (dsvrg.solve, None),
    "csvrg": (csvrg.solve, None),
    "pegasos": (pegasos.solve, pegasos.solve),
}
# Those that go on from duals and not from weights.
FROM_DUALS = ("dual", "dual_then_newton")
# Those that leave rows in their blocks; the others visit rows at random and need all in one place.
ON_BLOCKS = ("newton", "dsvrg")
# Those that copies of rows are merged for; the steps of the others take one row in each turn, and
# merged rows would weigh too differently.
ON_MERGED_ROWS = ("auto", "newton", "dual", "dual_then_newton")


@dataclass(frozen=True)
class SolverOptions:
    """Settings that one solver alone has."""

    n_parts: int = 16  # parts of dsvrg
    batch_size: int | None = 1  # rows per step of pegasos; None means all

    def of(self, name: str) -> dict[str, int | None]:
        """Return what the solver of that name takes."""
        if name == "dsvrg":
            return {"n_parts": self.n_parts}
        return {"batch_size": self.batch_size} if name == "pegasos" else {}


def choose(name: str, size: int, *, on_disk: bool = False) -> str:
    """Return the solver for rows in one place: the one asked for, or what "auto" stands for.

    Newton's method takes few passes over the rows, and reads them in order. Above ``DIRECT_SIZE``
    weights its systems are no longer solved directly, and coordinate descent is faster where rows
    can be visited at random.
    """
    if name != "auto":
        return name
    return "newton" if size <= DIRECT_SIZE or on_disk else "dual_then_newton"


def refuse(name: str, *, smooth: bool) -> None:
    """Raise ValueError if a solver cannot minimise such a loss."""
    column = 0 if smooth else 1
    if name == "auto" or SOLVERS[name][column] is not None:
        return
    able = [other for other, functions in SOLVERS.items() if functions[column] is not None]
    kinks = "one with a kink, as the hinge has"
    kinds = ("a loss with a kink", "a smooth one") if smooth else ("a smooth loss", kinks)
    raise ValueError(
        f"solver={name!r} is for {kinds[0]}; the loss is {kinds[1]}. Use 'auto' or one of "
        f"{', '.join(map(repr, able))}."
    )


def solve(
    name: str,
    problem: AnyProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
    options: SolverOptions | None = None,
) -> Solution[Array]:
    """Solve a problem by the solver of that name."""
    function = SOLVERS[name][0 if problem.constants.smooth else 1]
    assert function is not None, f"{name} was not refused"
    own = (options or SolverOptions()).of(name)
    # Threads of BLAS would change the last digits of long dot products. An overflow shows in the
    # gap, which does not converge then.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = function(problem, w, budget, history, dual, **own)
    return replace(found, solver=name)
