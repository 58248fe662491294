"""All-in-one multi-class problems and their solvers.

===========  ======================================================================
solver       method
===========  ======================================================================
dual         ascent in the dual, rows one by one with all classes each
tournament   the same with bundles of classes that meet in pairs, for ``ww``
newton       second-order steps on all weights; where the dual is slow
printed      the published algorithm for Lee, Lin and Wahba's formulation
===========  ======================================================================
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from ...engines import Engine
from ..monitor import MulticlassMonitor
from ..problem import FORMULATIONS, MulticlassProblem
from ..solution import MulticlassSolution
from . import dual_ascent, newton
from .all_together import AllTogether
from .independent import Independent, PrintedLeeLinWahba
from .weston_watkins import Tournament

__all__ = [
    "FORMULATIONS",
    "SOLVERS",
    "MulticlassMonitor",
    "MulticlassProblem",
    "MulticlassSolution",
    "choose",
    "solve",
]

SOLVERS = ("dual", "tournament", "newton", "printed")


def choose(name: str, problem: MulticlassProblem, memory: int = 1 << 30) -> str:
    """Settle which solver 'auto' is, given the bytes it may use."""
    if name != "auto":
        return name
    known = problem.formulation in newton.FORMULATIONS
    return "newton" if known and newton.pays(problem, memory) else "dual"


def refuse(name: str, formulation: str) -> None:
    """Raise ValueError if a solver does not know a formulation."""
    if name == "tournament" and formulation != "ww":
        raise ValueError(
            "`solver='tournament'` lets pairs of classes meet, which formulation='ww' allows; got "
            f"formulation={formulation!r}. Use solver='auto'."
        )
    if name == "newton" and formulation not in newton.FORMULATIONS:
        raise ValueError(
            "`solver='newton'` is for losses that add up hinges of other classes, formulation='ww' "
            f"or 'llw'; got formulation={formulation!r}. Use solver='auto'."
        )
    if name == "printed" and formulation != "llw":
        raise ValueError(
            "`solver='printed'` is the published algorithm for formulation='llw'; got "
            f"formulation={formulation!r}. Use solver='auto'."
        )


def solve(
    name: str,
    problem: MulticlassProblem,
    monitor: MulticlassMonitor,
    start: sp.csr_array | None = None,
    *,
    weights: Any = None,
    memory: int = 1 << 30,
    engine: Engine | None = None,
) -> MulticlassSolution:
    """Solve with the solver of that name, from multipliers in ``start`` or from zero.

    Where weights do not follow from multipliers, as in Newton's method, a start may have its own.
    """
    if engine is not None and not engine.in_process:
        raise ValueError(
            f"rows in this memory need an engine that works in this process; got {engine!r}. Send "
            "them there first (widemargin.multiclass.posed)."
        )
    if name == "newton":
        return newton.solve(problem, monitor, start, weights, memory=memory, engine=engine)
    method: dual_ascent.Method
    if name == "printed":
        method = PrintedLeeLinWahba()
    elif name == "tournament":
        method = Tournament()
    elif problem.formulation == "ovr":
        method = Independent()
    else:
        method = AllTogether()
    return dual_ascent.solve(method, problem, monitor, start, memory=memory, engine=engine)
