"""The optimum of all rows together, by which every method is judged."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.gossip.divided_problem import DividedProblem

from . import gossip_scoring
from .results import Results
from .scoring import Cell

MAX_TIME = 60.0


def reference(
    results: Results,
    name: str,
    problem: Callable[[], DividedProblem],
    quick: bool,
    loss: str = "hinge",
) -> Cell:
    """Return the optimum's cell, measured now if it is not there."""
    settings = {"quick": quick, "tol": gossip_scoring.OPTIMUM_TOL}
    return results.cell(
        cell_name(name, loss),
        settings,
        lambda: gossip_scoring.optimum(problem(), loss, MAX_TIME),
    )


def cell_name(name: str, loss: str = "hinge") -> str:
    """Return the name of an optimum's cell."""
    return f"reference/{name}/{loss}"
