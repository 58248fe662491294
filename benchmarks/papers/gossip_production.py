"""[GADGET] Section 6, the production line: rare failures, found by sites that see few of them.

The paper counts accuracy, which a model that never finds a failure has in plenty, and leaves
weights for the rare class to future work. Here rows weigh as much as their class is rare, and what
counts is the recall of failures and the mean of both recalls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.gossip import contestants, dist_eval, gadget, liblinear
from benchmarks.gossip.divided_problem import DividedProblem
from benchmarks.gossip.norm_rule import EPSILON, NormRule
from benchmarks.gossip.outcome import Outcome

from .gossip_preparation import problem_of
from .gossip_reference import reference
from .gossip_scoring import rare_cell
from .results import Results
from .scoring import Cell

DATA_SETS = ("secom", "sylva")
SPLITS = 5
WEIGHTS = ("even", "balanced")
# The paper's case study waits for ten quiet iterations.
TIMES = 10
TOL = 1e-2
MAX_ROUNDS = 10_000


def printed(problem: DividedProblem, max_time: float) -> Outcome:
    """Run GADGET as printed."""
    return gadget.fit(problem, rule=NormRule(EPSILON, TIMES), max_time=max_time)


def consensus(problem: DividedProblem, max_time: float, loss: str) -> Outcome:
    """Run ours."""
    limits = {"tol": TOL, "max_rounds": MAX_ROUNDS, "max_time": max_time}
    return contestants.fit(problem, "consensus", loss=loss, **limits)


METHODS: dict[str, Callable[[DividedProblem, float], Outcome]] = {
    "pooled": lambda problem, max_time: liblinear.pooled(problem),
    "alone": lambda problem, max_time: liblinear.alone(problem),
    "dist_eval": lambda problem, max_time: dist_eval.fit(problem, max_time=max_time),
    "printed": printed,
    "consensus": partial(consensus, loss="hinge"),
    "consensus_odm": partial(consensus, loss="odm"),
}


def measure(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Measure all methods on all splits, with and without weights."""
    reference(results, name, partial(problem_of, name, quick=quick), quick)
    for number in range(1 if quick else SPLITS):
        for weights in WEIGHTS:
            problem = partial(
                problem_of, name, balanced=weights == "balanced", number=number, quick=quick
            )
            for method, fit in METHODS.items():

                def measure_one(
                    problem: Callable[[], DividedProblem] = problem,
                    fit: Callable[[DividedProblem, float], Outcome] = fit,
                ) -> Cell:
                    return rare_cell(fit(problem(), max_time), problem())

                settings = {"quick": quick, "max_time": max_time}
                results.cell(cell_name(name, number, weights, method), settings, measure_one)


def cell_name(name: str, number: int, weights: str, method: str) -> str:
    """Return the name of a fit's cell."""
    return f"production/{name}/{number}/{weights}/{method}"
