"""Bytes that methods send until every site is within one per cent of the optimum.

Ours run for a number of rounds, and ``history_`` says when they were there; CHOCO-SGD is watched.
All take batches of 32 rows where they take batches, and give averaged iterates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gossip import choco, contestants, liblinear
from benchmarks.gossip.divided_problem import DividedProblem

from .gossip_comparison import DATA_SETS as DATA_SETS
from .gossip_preparation import problem_of
from .gossip_reference import reference
from .gossip_scoring import cell_of
from .results import Results
from .scoring import Cell

NEAR = 0.01
# Runs end here: beyond what is asked for, so that a moment's luck is seen as that.
ENOUGH = 0.005
BATCH = 32
ROUNDS, QUICK_ROUNDS = 10_000, 100
GROWTH = 1.2
# How much longer than a fit of the tables these may take.
PATIENCE = 2.0
SOLVERS = ("consensus", "gadget", "tracking")
QUANTISED: dict[str, int | None] = {"choco": choco.BITS, "choco_exact": None}
METHODS = (*SOLVERS, *QUANTISED)
DIVISIONS = ("even", "skewed")


def measure(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Measure what each method sends, rows dealt evenly or by label, and what pooling would."""
    for division in DIVISIONS:
        problem = partial(problem_of, name, quick=quick, skewed=division == "skewed")
        best = reference(results, name, problem, quick)["objective"]
        rounds = QUICK_ROUNDS if quick else ROUNDS
        limits = {"max_rounds": rounds, "max_time": PATIENCE * max_time}
        for method in METHODS:

            def run(
                problem: Callable[[], DividedProblem] = problem,
                method: str = method,
                best: float = best,
                limits: dict[str, Any] = limits,
            ) -> Cell:
                if method in QUANTISED:
                    return watched_choco(problem(), best, bits=QUANTISED[method], **limits)
                enough = (1.0 + ENOUGH) * best
                outcome = contestants.fit(problem(), method, tol=None, enough=enough, **limits)
                return cell_of(outcome, problem(), best)

            settings = {"quick": quick, **limits}
            results.cell(cell_name(name, division, method), settings, run)
    even = partial(problem_of, name, quick=quick)
    results.cell(
        cell_name(name, "even", "pooled"),
        {"quick": quick},
        lambda: cell_of(liblinear.pooled(even()), even()),
    )


def cell_name(name: str, division: str, method: str) -> str:
    """Return the name of a run's cell."""
    return f"bytes/{name}/{division}/{method}"


def watched_choco(problem: DividedProblem, best: float, **settings: Any) -> Cell:
    """Run CHOCO-SGD until it is near; its history is like ours."""
    history: dict[str, list[float]] = {"round": [], "max_objective": [], "bytes": []}
    due = 1

    def watch(number: int, models: np.ndarray, sent: int) -> bool:
        nonlocal due
        if number < due:
            return False
        due = max(number + 1, int(number * GROWTH))
        worst = float(problem.objective(models).max())
        for key, value in zip(history, (number, worst, sent), strict=True):
            history[key].append(value)
        return worst <= (1.0 + ENOUGH) * best

    outcome = choco.fit(problem, batch=BATCH, average=True, watch=watch, **settings)
    return cell_of(outcome, problem, best) | {"history": history}


def reached(cell: Cell, best: float, near: float = NEAR) -> dict[str, float] | None:
    """Return the first checkpoint from which on every site was near the optimum."""
    history = cell["history"]
    far = [value is None or value > (1.0 + near) * best for value in history["max_objective"]]
    if not far or far[-1]:
        return None
    first = max((k + 1 for k, each in enumerate(far) if each), default=0)
    return {key: history[key][first] for key in ("round", "bytes")}
