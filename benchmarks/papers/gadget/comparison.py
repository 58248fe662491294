"""[GADGET] Tables 2 to 4 and Figures 1, 3 and 4: accuracy of the sites when methods stop.

The paper's rule (ε = 0.001, three iterations) ends Pegasos, GADGET as printed and CHOCO-SGD; ours
ends ours, when sites find that they agree and are within one per cent of the optimum.

Figures 3 and 4 count how often a site "converges", and what it has when it first does: GADGET as
printed, one row per step, runs 10,000 iterations while the paper's rule with k = 4, 8 and 10
watches. The paper's data, Bosch's production line, need an account at Kaggle and are not at hand:
secom and sylva, where failures are rare, and Adult take their place.

The production line of the paper's Section 6: the paper counts accuracy, which a model that never
finds a failure has in plenty, and leaves weights for the rare class to future work. Here rows weigh
as much as their class is rare, and what counts is the recall of failures and the mean of both
recalls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.race.store import Cell, Store

from . import ours
from .admm import admm
from .problem import DividedProblem, Outcome
from .runs import RUNS, run_cell
from .sets import cell_of, problem_of, rare_cell, reference
from .stepped import choco, pegasos
from .stepping import EPSILON, TIMES, NormRule
from .trained import alone, asg, dist_eval, pooled

DATA_SETS = ("a9a", "covtype_binary", "census_income", "ijcnn1", "sylva", "reuters_moneyfx")
BATCHES: dict[str, int | None] = {"1": 1, "10": 10, "100": 100, "1000": 1_000, "all": None}
TOL = 1e-2
MAX_ROUNDS = 30_000
# What pages show of a run's history.
PROFILE = ("round", "min_accuracy", "mean_accuracy", "max_accuracy")
PATIENCE = 2.0
Fit = Callable[..., Outcome]


def with_rule(fit: Fit, problem: DividedProblem, **settings: Any) -> Outcome:
    """Run a method until the paper's rule ends it."""
    return fit(problem, rule=NormRule(EPSILON, TIMES), **settings)


def our_method(solver: str, problem: DividedProblem, **settings: Any) -> Outcome:
    """Run one of ours until our rule ends it."""
    return ours.fit(problem, solver, tol=TOL, max_rounds=MAX_ROUNDS, **settings)


def patient(fit: Fit, problem: DividedProblem, *, max_time: float, **settings: Any) -> Outcome:
    """Run a method with more time, which rounds over all rows need."""
    return fit(problem, max_time=PATIENCE * max_time, **settings)


def ours_by_batch(problem: DividedProblem, *, batch: int | None, **settings: Any) -> Outcome:
    """Run our GADGET with so many rows per step."""
    return our_method("gadget", problem, options={"batch_size": batch}, **settings)


def untimed(fit: Fit, problem: DividedProblem, *, max_time: float, **settings: Any) -> Outcome:
    """Run a method that ends by itself."""
    del max_time
    return fit(problem, **settings)


TABLE_2: dict[str, Fit] = {
    "pegasos": partial(with_rule, pegasos),
    "printed": partial(with_rule, ours.printed),
    "gadget": ours_by_batch,
}
TABLE_3: dict[str, Fit] = {
    "consensus": partial(patient, partial(our_method, "consensus")),
    "gadget": partial(our_method, "gadget"),
    "tracking": partial(patient, partial(our_method, "tracking")),
    "asg": asg,
    "asg_3": partial(asg, share=0.03),
    "dist_eval": dist_eval,
    "choco": partial(with_rule, choco),
    "alone": partial(untimed, alone),
    "admm": lambda problem, max_time, seed: admm(problem),  # nothing is drawn
    "pooled": partial(untimed, pooled),
}


def measure_table_2(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure Pegasos, GADGET as printed and ours, by rows per step."""
    for number in range(1 if quick else RUNS):
        for batch, rows in BATCHES.items():
            for method, fit in TABLE_2.items():
                cell = run_cell("table_2", name, number, f"{method}/{batch}")
                _measure(store, cell, name, number, partial(fit, batch=rows), quick, max_time)


def measure_table_3(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure ours and the other gossip methods; sites alone and pooled rows are for Table 4."""
    for number in range(1 if quick else RUNS):
        for method, fit in TABLE_3.items():
            cell = run_cell("table_3", name, number, method)
            _measure(store, cell, name, number, fit, quick, max_time)


def _measure(
    store: Store, cell: str, name: str, number: int, fit: Fit, quick: bool, max_time: float
) -> None:
    problem = partial(problem_of, name, number=number, quick=quick)
    best = reference(store, name, problem, quick, number=number)["objective"]
    columns = PROFILE if cell.startswith("table_3/") and number == 0 else ()

    def measure() -> Cell:
        outcome = fit(problem(), max_time=max_time, seed=number)
        return cell_of(outcome, problem(), best, columns=columns)

    store.cell(cell, {"quick": quick, "max_time": max_time, "tol": TOL}, measure)


ROBUSTNESS_SETS = ("secom", "sylva", "a9a")
ROBUSTNESS_TIMES = (4, 8, 10)
ROBUSTNESS_ROUNDS, QUICK_ROUNDS = 10_000, 300


def measure_robustness(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Follow one run with all three rules."""
    rounds = QUICK_ROUNDS if quick else ROBUSTNESS_ROUNDS
    settings = {"quick": quick, "rounds": rounds, "epsilon": EPSILON}
    store.cell(f"figure_4/{name}", settings, lambda: follow(name, quick, rounds))


def follow(name: str, quick: bool, rounds: int) -> Cell:
    """Count, for every k, how often each site converged, and score its first stop."""
    problem = problem_of(name, quick=quick)
    rules = {times: NormRule(EPSILON, times) for times in ROBUSTNESS_TIMES}
    for rule in rules.values():
        rule.start(np.zeros((problem.n_sites, problem.size)))

    def watch(number: int, models: np.ndarray, sent: int) -> bool:
        for rule in rules.values():
            rule.update(number, models)
        return False

    # No change is below zero: it runs to the last round.
    outcome = ours.printed(problem, rule=NormRule(0.0), max_rounds=rounds, watch=watch)
    assert outcome.models is not None
    cell: Cell = {"accuracy_at_the_end": outcome.accuracy(problem).tolist()}
    for times, rule in rules.items():
        models = rule.stopped_models(outcome.models)
        right = np.where(problem.X_test @ models.T > 0, 1.0, -1.0) == problem.y_test[:, None]
        cell[str(times)] = {
            "entered": rule.entered.tolist(),
            "first": rule.first.tolist(),
            "accuracy": right.mean(axis=0).tolist(),
        }
    return cell


# -------------------------------------------------------------------------- rare failures

PRODUCTION_SETS = ("secom", "sylva")
SPLITS = 5
WEIGHTS = ("even", "balanced")
# The paper's case study waits for ten quiet iterations.
QUIET_ITERATIONS = 10
PRODUCTION_ROUNDS = 10_000


def as_printed(problem: DividedProblem, max_time: float) -> Outcome:
    """Run GADGET as printed."""
    return ours.printed(problem, rule=NormRule(EPSILON, QUIET_ITERATIONS), max_time=max_time)


def consensus(problem: DividedProblem, max_time: float, loss: str) -> Outcome:
    """Run our default method."""
    limits = {"tol": TOL, "max_rounds": PRODUCTION_ROUNDS, "max_time": max_time}
    return ours.fit(problem, "consensus", loss=loss, **limits)


PRODUCTION_METHODS: dict[str, Callable[[DividedProblem, float], Outcome]] = {
    "pooled": lambda problem, max_time: pooled(problem),
    "alone": lambda problem, max_time: alone(problem),
    "dist_eval": lambda problem, max_time: dist_eval(problem, max_time=max_time),
    "printed": as_printed,
    "consensus": partial(consensus, loss="hinge"),
    "consensus_odm": partial(consensus, loss="odm"),
}


def measure_production(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure all methods on all splits, with and without weights."""
    reference(store, name, partial(problem_of, name, quick=quick), quick)
    for number in range(1 if quick else SPLITS):
        for weights in WEIGHTS:
            problem = partial(
                problem_of, name, balanced=weights == "balanced", number=number, quick=quick
            )
            for method, fit in PRODUCTION_METHODS.items():
                cell = production_cell(name, number, weights, method)
                measure = partial(_rare, fit, problem, max_time)
                store.cell(cell, {"quick": quick, "max_time": max_time}, measure)


def _rare(
    fit: Callable[[DividedProblem, float], Outcome],
    problem: Callable[[], DividedProblem],
    max_time: float,
) -> Cell:
    return rare_cell(fit(problem(), max_time), problem())


def production_cell(name: str, number: int, weights: str, method: str) -> str:
    """Return the name of a fit's cell."""
    return f"production/{name}/{number}/{weights}/{method}"
