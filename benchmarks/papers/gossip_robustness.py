"""[GADGET] Figures 3 and 4: how often a site "converges", and what it has when it first does.

GADGET as printed, one row per step, runs 10,000 iterations; the paper's rule with k = 4, 8 and 10
looks on. A site converges when ‖w‖ changed by less than ε in k iterations in a row, and again after
it was disturbed. The paper's data, Bosch's production line, is not at hand: secom and sylva, where
failures are rare, stand for it.
"""

from __future__ import annotations

import numpy as np

from benchmarks.gossip import gadget
from benchmarks.gossip.local_steps import run
from benchmarks.gossip.norm_rule import EPSILON, NormRule

from .gossip_preparation import problem_of
from .gossip_scoring import Cell
from .results import Results

DATA_SETS = ("secom", "sylva", "a9a")
TIMES = (4, 8, 10)
ROUNDS, QUICK_ROUNDS = 10_000, 300


def measure(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Follow one run with all three rules."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    settings = {"quick": quick, "rounds": rounds, "epsilon": EPSILON}
    results.cell(f"figure_4/{name}", settings, lambda: follow(name, quick, rounds))


def follow(name: str, quick: bool, rounds: int) -> Cell:
    """Count, for every k, how often each site converged, and judge its first stop."""
    problem = problem_of(name, quick=quick)
    rules = {times: NormRule(EPSILON, times) for times in TIMES}
    for rule in rules.values():
        rule.start(np.zeros((problem.n_sites, problem.size)))

    def watch(number: int, models: np.ndarray, sent: int) -> bool:
        for rule in rules.values():
            rule.update(number, models)
        return False

    exchange = gadget.PushSum(problem, 1, 0)
    outcome = run(problem, exchange, max_rounds=rounds, watch=watch)
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
