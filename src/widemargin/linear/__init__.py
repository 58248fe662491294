"""Linear problems and their solvers, one file each.

=========  ==========================================  =============================
name       method                                      losses
=========  ==========================================  =============================
newton     Newton's method; for the hinge by its       all
           augmented Lagrangian
dual       coordinate descent in the dual              all
=========  ==========================================  =============================
"""

from __future__ import annotations

from collections.abc import Callable

from ..losses import Array
from . import augmented_lagrangian, dual, newton
from .monitor import LinearMonitor
from .newton import DIRECT_SIZE
from .problem import LinearProblem
from .solution import LinearSolution

Solve = Callable[..., LinearSolution]

# The methods by their names; the first column is for smooth losses, the second for the hinge.
SOLVERS: dict[str, tuple[Solve | None, Solve | None]] = {
    "newton": (newton.solve, augmented_lagrangian.solve),
    "dual": (dual.solve, dual.solve),
}
# Those that go on from duals, which the weights alone do not tell for the hinge.
FROM_DUALS = (dual.solve, augmented_lagrangian.solve)


def choose(name: str, problem: LinearProblem, *, on_disk: bool = False) -> str:
    """Return the solver for a problem: the one asked for, or what "auto" stands for.

    Newton's method takes few passes over the rows, and reads them in order; above ``DIRECT_SIZE``
    weights its systems are no longer solved directly, and coordinate descent is faster where rows
    can be visited at random.
    """
    if name == "auto":
        direct = problem.size <= DIRECT_SIZE
        return "newton" if direct or on_disk else "dual"
    refuse(name, smooth=problem.constants.smooth)
    return name


def refuse(name: str, *, smooth: bool) -> None:
    """Raise ValueError if a solver cannot minimise such a loss."""
    if name == "auto":
        return
    of_smooth, of_hinge = SOLVERS[name]
    if (of_smooth if smooth else of_hinge) is not None:
        return
    needed, got = ("hinge", "smooth one") if smooth else ("smooth", "hinge")
    able = [other for other, pair in SOLVERS.items() if pair[0 if smooth else 1] is not None]
    raise ValueError(
        f"solver={name!r} needs a {needed} loss; got the {got}. Use one of {', '.join(able)}, or "
        "'auto'."
    )


def solve(
    name: str,
    problem: LinearProblem,
    w: Array,
    monitor: LinearMonitor,
    dual: Array | None = None,
) -> LinearSolution:
    """Solve a problem by the solver of that name."""
    function = solver_of(name, problem)
    return function(problem, w, monitor, dual)


def solver_of(name: str, problem: LinearProblem) -> Solve:
    """Return the function behind a name, for the problem's loss."""
    function = SOLVERS[name][0 if problem.constants.smooth else 1]
    assert function is not None, f"{name} was not refused"
    return function
