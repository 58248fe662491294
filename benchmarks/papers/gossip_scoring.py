"""What is measured of a method on a network: accuracies of its sites, distance, and costs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.gossip.divided_problem import DividedProblem
from benchmarks.gossip.outcome import Outcome
from widemargin import LinearODMClassifier, LinearSVMClassifier

from .scoring import Cell

OPTIMUM_TOL = 1e-5


def optimum(problem: DividedProblem, loss: str = "hinge", max_time: float = 60.0) -> Cell:
    """Solve the problem of all rows by our exact linear solver."""
    C = 1.0 / (problem.lam * problem.weight.sum())
    settings: dict[str, Any] = {"C": C, "tol": OPTIMUM_TOL, "max_time": max_time}
    settings |= {"fit_intercept": False, "random_state": 0}
    if loss == "odm":
        machine = LinearODMClassifier(**settings)
    else:
        machine = LinearSVMClassifier(loss="hinge", **settings)
    machine.fit(problem.X, problem.y, sample_weight=problem.weight)
    model = machine.coef_[:1]
    right = np.where(problem.X_test @ model[0] > 0, 1.0, -1.0) == problem.y_test
    return {
        "objective": float(problem.objective(model, loss)[0]),
        "relative_gap": float(machine.relative_gap_),
        "accuracy": float(right.mean()),
        "fit_seconds": float(machine.history_["seconds"][-1]),
        "rows": len(problem.y),
        "test_rows": len(problem.y_test),
        "features": problem.size - 1,
        "positives": float(np.mean(problem.y > 0)),
    }


def cell_of(
    outcome: Outcome, problem: DividedProblem, best: float | None = None, loss: str = "hinge"
) -> Cell:
    """Say what came of a run; ``best`` is the objective of the optimum."""
    accuracy = outcome.accuracy(problem)
    cell: Cell = {
        "accuracy": float(accuracy.mean()),
        "accuracy_of_sites": accuracy.tolist(),
        "rounds": outcome.rounds,
        "messages": outcome.messages,
        "bytes": outcome.bytes_sent,
        "fit_seconds": outcome.seconds,
        "out_of_time": not outcome.stopped,
        **outcome.facts,
    }
    if best is not None and outcome.models is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of models that diverged
            excess = problem.objective(outcome.models, loss) / best - 1.0
        cell["excess"] = _finite(excess)
    return cell


def rare_cell(outcome: Outcome, problem: DividedProblem) -> Cell:
    """Say how well every site finds the rare class, which is the positive one."""
    cell = cell_of(outcome, problem)
    recall, balanced = outcome.recall(problem), outcome.balanced_accuracy(problem)
    return cell | {"recall": recall.tolist(), "balanced_accuracy": balanced.tolist()}


def _finite(values: np.ndarray) -> list[float | None]:
    return [float(each) if np.isfinite(each) else None for each in values]
