"""Measure the contestants on the same rows: ours in this process, the others in their own."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin import GossipClassifier

from .rows import SITES, Silos, optimum

# A model is near when its accuracy is within so many points of that of the SVM of all rows, and
# close when its objective is within this part of that of the optimum.
POINTS, NEAR = 0.5, 0.01
ROUNDS = 200
TOPOLOGIES = ("ring", "star")
HERE = Path(__file__).parent
SECONDS = 900.0
Cell = dict[str, Any]


def measure(rows: Silos, flower: str | None, nvflare: str | None) -> dict[str, Cell]:
    """Return what every contestant needs to come near the SVM of all rows."""
    best = optimum(rows)
    goal = Goal(rows, best)
    cells: dict[str, Cell] = {
        "pooled": {"accuracy": goal.accuracy(best[None])[0], "lam": rows.lam, "rows": len(rows.y)}
    }
    for topology in TOPOLOGIES:
        cells[f"consensus {topology}"] = timed(lambda t=topology: ours(rows, goal, t))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        rows.save(path)
        if flower is not None:
            cells["flower"] = timed(lambda: fedavg(goal, flower, path))
        if nvflare is not None:
            found = timed(lambda: answer_of(nvflare, "nvflare_svm.py", path))
            for each in found.pop("kernels"):
                cells[f"nvflare {each['kernel']}"] = {**found, **each}
    return cells


class Goal:
    """The SVM of all rows, and when models are near it."""

    def __init__(self, rows: Silos, best: np.ndarray) -> None:
        self.rows = rows
        self.enough = self.accuracy(best[None])[0] - POINTS / 100
        self.lowest = float(rows.objective(best[None])[0])

    def accuracy(self, models: np.ndarray) -> list[float]:
        """Return accuracies on the test rows."""
        decisions = self.rows.X_test @ models[:, :-1].T + models[:, -1]
        right = np.where(decisions > 0, 1.0, -1.0) == self.rows.y_test[:, None]
        return [float(each) for each in right.mean(axis=0)]

    def reached(self, rounds: Any, accuracy: Any, objective: Any, a_round: float) -> Cell:
        """Return the rounds and bytes until models are near, and stay so."""
        above = np.asarray(objective) / self.lowest - 1.0
        near = _since(np.asarray(accuracy) >= self.enough)
        close = _since(above <= NEAR)
        found: Cell = {
            "accuracy": float(accuracy[-1]),
            "excess": float(above[-1]),
            "bytes_a_round": a_round,
            "rounds_run": int(rounds[-1]),
            "rounds_accuracy": None if near is None else int(rounds[near]),
            "rounds_objective": None if close is None else int(rounds[close]),
        }
        return found


def _since(good: np.ndarray) -> int | None:
    """Return the first checkpoint from which on all are good."""
    bad = np.flatnonzero(~good)
    first = 0 if not len(bad) else int(bad[-1]) + 1
    return first if first < len(good) else None


def ours(rows: Silos, goal: Goal, topology: str) -> Cell:
    """Run our sites; figures are those of the worst of them."""
    model = GossipClassifier(
        SITES, topology, C=rows.C, stopping="never", max_iter=ROUNDS, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows.X, rows.y, sites=rows.site, X_val=rows.X_test, y_val=rows.y_test)
    history = model.history_
    objective = history["max_objective"] * rows.lam  # C Σ loss and the mean loss
    a_round = model.n_bytes_ / model.n_iter_
    return goal.reached(history["round"], history["min_accuracy"], objective, a_round)


def fedavg(goal: Goal, python: str, path: Path) -> Cell:
    """Run Flower; figures are those of the server's model."""
    answer = answer_of(python, "flower_fedavg.py", path, str(ROUNDS))
    models = np.array(answer.pop("models"))
    numbers = np.arange(1, len(models) + 1)
    objective = goal.rows.objective(models)
    found = goal.reached(numbers, goal.accuracy(models), objective, answer["bytes_a_round"])
    return {**answer, **found}


def answer_of(python: str, script: str, *arguments: str | Path) -> Cell:
    """Run a script in the interpreter of another environment, and read the JSON it prints."""
    command = [python, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise SystemExit(f"{script} failed in {python}:\n{done.stderr[-2000:]}")
    answer: Cell = json.loads(done.stdout.splitlines()[-1])
    return answer


def timed(run: Callable[[], Cell]) -> Cell:
    """Add the seconds of a run; they include the search of settings."""
    began = time.perf_counter()
    cell = run()
    return {**cell, "seconds": round(time.perf_counter() - began, 1)}
