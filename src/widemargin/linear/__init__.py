"""Linear problems and their solvers, one file each.

================  ===============================================  =============
name              method                                           losses
================  ===============================================  =============
newton            Newton's method; the hinge by its augmented      all
                  Lagrangian
dual              coordinate descent in the dual                   all
dual_then_newton  the same, and Newton's method where that is      all
                  slow
================  ===============================================  =============
"""

from __future__ import annotations

from collections.abc import Callable

from ..losses import Array
from . import augmented_lagrangian, dual, dual_then_newton, newton
from .monitor import LinearMonitor
from .newton import DIRECT_SIZE
from .problem import LinearProblem
from .sample_start import untouched
from .solution import LinearSolution

Solve = Callable[..., LinearSolution]


def hinge_by_newton(
    problem: LinearProblem, w: Array, monitor: LinearMonitor, dual: Array | None = None
) -> LinearSolution:
    """Solve by the augmented Lagrangian; weights that are known tell most rows' place."""
    known = not untouched(w)
    width = augmented_lagrangian.WIDTH_AFTER_SAMPLE if known else augmented_lagrangian.FIRST_WIDTH
    return augmented_lagrangian.solve(problem, w, monitor, dual, width)


# The functions behind a name: for smooth losses, and for the hinge.
SOLVERS: dict[str, tuple[Solve | None, Solve | None]] = {
    "newton": (newton.solve, hinge_by_newton),
    "dual": (dual.solve, dual.solve),
    "dual_then_newton": (dual_then_newton.solve, dual_then_newton.solve),
}
# Those that go on from duals and not from weights.
FROM_DUALS = ("dual", "dual_then_newton")


def choose(name: str, problem: LinearProblem, *, on_disk: bool = False) -> str:
    """Return the solver for a problem: the one asked for, or what "auto" stands for.

    Newton's method takes few passes over the rows, and reads them in order. Above ``DIRECT_SIZE``
    weights its systems are no longer solved directly, and coordinate descent is faster where rows
    can be visited at random.
    """
    if name != "auto":
        return name
    return "newton" if problem.size <= DIRECT_SIZE or on_disk else "dual_then_newton"


def refuse(name: str, *, smooth: bool) -> None:
    """Raise ValueError if a solver cannot minimise such a loss."""
    column = 0 if smooth else 1
    if name == "auto" or SOLVERS[name][column] is not None:
        return
    able = [other for other, functions in SOLVERS.items() if functions[column] is not None]
    kinds = ("the hinge", "a smooth one") if smooth else ("a smooth loss", "the hinge")
    raise ValueError(
        f"solver={name!r} is for {kinds[0]}; the loss is {kinds[1]}. Use 'auto' or one of "
        f"{', '.join(map(repr, able))}."
    )


def solve(
    name: str,
    problem: LinearProblem,
    w: Array,
    monitor: LinearMonitor,
    dual: Array | None = None,
) -> LinearSolution:
    """Solve a problem by the solver of that name."""
    function = SOLVERS[name][0 if problem.constants.smooth else 1]
    assert function is not None, f"{name} was not refused"
    return function(problem, w, monitor, dual)
