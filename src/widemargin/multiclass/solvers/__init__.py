"""Solvers of all-in-one multi-class problems.

===========  ======================================================================
solver       method
===========  ======================================================================
dual         ascent in the dual, rows one by one with all classes each
tournament   the same with bundles of classes that meet in pairs, for ``ww``
proximal     the same as dual, accelerated by proximal points; for a large ``C``
newton       second-order steps on all weights; where the dual is slow
blocks       ascent in the dual on all parts of the rows at once; for rows elsewhere
printed      the published algorithms for ``ww`` and ``llw``
===========  ======================================================================
"""

from __future__ import annotations

from dataclasses import replace

from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Solution
from ..problem import ClassWeights, MulticlassProblem
from . import blockwise, dealt_bundles, dual_ascent, newton, proximal
from .dual_ascent import AllTogether, Independent, PrintedLeeLinWahba
from .printed_tournament import PrintedWestonWatkins
from .tournament import Tournament

__all__ = ["SOLVERS", "choose", "refuse", "solve"]

SOLVERS = ("dual", "proximal", "tournament", "newton", "blocks", "printed")


def choose(name: str, problem: MulticlassProblem, memory: int = 2**30) -> str:
    """Return the solver that 'auto' means for rows in this process, given the bytes it may use."""
    if name != "auto":
        return name
    known = problem.objective.formulation in newton.FORMULATIONS
    if known and newton.pays(problem, memory):
        return "newton"
    return "proximal" if proximal.pays(problem, memory) else "dual"


def refuse(name: str, formulation: str) -> None:
    """Raise ValueError if a solver does not know a formulation."""
    if name == "tournament" and formulation != "ww":
        raise ValueError(
            "`solver='tournament'` lets pairs of classes meet, which formulation='ww' allows; got "
            f"formulation={formulation!r}. Use solver='auto'."
        )
    if name == "proximal" and formulation not in proximal.FORMULATIONS:
        raise ValueError(
            "`solver='proximal'` ties the weights of all classes to an anchor, for "
            f"formulation='ww', 'cs' or 'llw'; got formulation={formulation!r}. Use solver='auto'."
        )
    if name == "newton" and formulation not in newton.FORMULATIONS:
        raise ValueError(
            "`solver='newton'` is for losses that add up hinges of other classes, formulation='ww' "
            f"or 'llw'; got formulation={formulation!r}. Use solver='auto'."
        )
    if name == "printed" and formulation not in ("ww", "llw"):
        raise ValueError(
            "`solver='printed'` is the published algorithm for formulation='ww' or 'llw'; got "
            f"formulation={formulation!r}. Use solver='auto'."
        )


def solve(
    name: str,
    problem: MulticlassProblem,
    budget: Budget,
    history: History,
    start: ClassWeights | None = None,
) -> Solution[ClassWeights]:
    """Solve where the rows are, from the multipliers and weights of ``start`` or from zero.

    On an engine that works elsewhere, only 'newton', 'tournament' and 'blocks' can do so; see
    :mod:`widemargin.multiclass.fit` for the others. 'blocks' begins at zero.
    """
    solution: Solution[ClassWeights]
    if name == "newton":
        solution = newton.solve(problem, budget, history, start)
    elif name == "proximal":
        solution = proximal.solve(problem, budget, history, start)
    elif name == "blocks":
        solution = blockwise.solve(problem, budget, history)
    elif name == "tournament" and not problem.engine.in_process:
        solution = dealt_bundles.solve(problem, budget, history)
    else:
        epochs = _epochs_of(name, problem.objective.formulation)
        solution = dual_ascent.solve(epochs, problem, budget, history, start)
    return replace(solution, solver=name)


def _epochs_of(name: str, formulation: str) -> dual_ascent.BundledEpochs:
    if name == "printed":
        return PrintedWestonWatkins() if formulation == "ww" else PrintedLeeLinWahba()
    if name == "tournament":
        return Tournament()
    return Independent() if formulation == "ovr" else AllTogether()
