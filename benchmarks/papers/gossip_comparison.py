"""[GADGET] Tables 2 to 4 and Figure 1: accuracy of the sites when methods stop.

The paper's rule (ε = 0.001, three iterations) ends Pegasos, GADGET as printed and CHOCO-SGD; ours
ends ours, when sites find that they agree and are within one per cent of the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.gossip import asg, choco, contestants, dist_eval, gadget, liblinear, pegasos
from benchmarks.gossip.divided_problem import DividedProblem
from benchmarks.gossip.norm_rule import EPSILON, TIMES, NormRule
from benchmarks.gossip.outcome import Outcome

from .gossip_preparation import problem_of
from .gossip_reference import reference
from .gossip_scoring import cell_of
from .results import Results
from .scoring import Cell

DATA_SETS = ("a9a", "covtype_binary", "census_income", "ijcnn1", "sylva", "reuters_moneyfx")
BATCHES: dict[str, int | None] = {"1": 1, "10": 10, "100": 100, "1000": 1_000, "all": None}
TOL = 1e-2
MAX_ROUNDS = 30_000
PATIENCE = 2.0
Fit = Callable[..., Outcome]


def with_rule(fit: Fit, problem: DividedProblem, **settings: Any) -> Outcome:
    """Run a method until the paper's rule ends it."""
    return fit(problem, rule=NormRule(EPSILON, TIMES), **settings)


def ours(solver: str, problem: DividedProblem, **settings: Any) -> Outcome:
    """Run one of ours until our rule ends it."""
    return contestants.fit(problem, solver, tol=TOL, max_rounds=MAX_ROUNDS, **settings)


def patient(fit: Fit, problem: DividedProblem, *, max_time: float) -> Outcome:
    """Give a method more time: a round of all rows is long where there are many."""
    return fit(problem, max_time=PATIENCE * max_time)


def ours_by_batch(problem: DividedProblem, *, batch: int | None, **settings: Any) -> Outcome:
    """Run our GADGET with so many rows per step."""
    return ours("gadget", problem, options={"batch_size": batch}, **settings)


def untimed(fit: Fit, problem: DividedProblem, *, max_time: float) -> Outcome:
    """Run a method that ends by itself."""
    del max_time
    return fit(problem)


TABLE_2: dict[str, Fit] = {
    "pegasos": partial(with_rule, pegasos.fit),
    "printed": partial(with_rule, gadget.fit),
    "gadget": ours_by_batch,
}
TABLE_3: dict[str, Fit] = {
    "consensus": partial(patient, partial(ours, "consensus")),
    "gadget": partial(ours, "gadget"),
    "tracking": partial(patient, partial(ours, "tracking")),
    "asg": asg.fit,
    "asg_3": partial(asg.fit, share=0.03),
    "dist_eval": dist_eval.fit,
    "choco": partial(with_rule, choco.fit),
    "alone": partial(untimed, liblinear.alone),
    "pooled": partial(untimed, liblinear.pooled),
}


def measure_table_2(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Measure Pegasos, GADGET as printed and ours, by rows per step."""
    for batch, rows in BATCHES.items():
        for method, fit in TABLE_2.items():
            cell = f"table_2/{name}/{method}/{batch}"
            _measure(results, cell, name, partial(fit, batch=rows), quick, max_time)


def measure_table_3(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Measure ours and the other gossip methods; sites alone and pooled rows are for Table 4."""
    for method, fit in TABLE_3.items():
        _measure(results, f"table_3/{name}/{method}", name, fit, quick, max_time)


def _measure(
    results: Results, cell: str, name: str, fit: Fit, quick: bool, max_time: float
) -> None:
    problem = partial(problem_of, name, quick=quick)
    best = reference(results, name, problem, quick)["objective"]

    def measure() -> Cell:
        return cell_of(fit(problem(), max_time=max_time), problem(), best)

    results.cell(cell, {"quick": quick, "max_time": max_time, "tol": TOL}, measure)
