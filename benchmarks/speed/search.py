"""A search over C and gamma: …CV against GridSearchCV around our own classifier, in one run.

WIDEMARGIN_DATA=... python -m benchmarks.speed.search [--set a9a] [--rows N] [--models svm odm]
    [--Cs ...] [--gammas ...] [--folds 5] [--jobs N]

Both search the same pairs on the same folds to the same tol, and both train on all rows in the end.
With --jobs N the grid search runs N fits at a time, each on one thread, and ours N threads; without
it each of our fits, and our search, takes all cores. Printed are wall and CPU seconds (of workers
too), their ratios, and the pairs chosen with their scores in both tables.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib.externals.loky import get_reusable_executor
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.race.data import load
from widemargin import ODMClassifier, ODMClassifierCV, SVMClassifier, SVMClassifierCV

MODELS = {"svm": (SVMClassifierCV, SVMClassifier), "odm": (ODMClassifierCV, ODMClassifier)}
# Around C = 1 and gamma = 0.05, which suit a9a.
CS = (0.0625, 0.25, 1.0, 4.0, 16.0)
GAMMAS = (0.0125, 0.05, 0.2, 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="a9a")
    parser.add_argument("--rows", type=int, default=None, help="training rows (default: all)")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--Cs", nargs="+", type=float, default=CS)
    parser.add_argument("--gammas", nargs="+", type=float, default=GAMMAS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args()
    data = load(options.set)
    X, y = data.X[: options.rows], data.y[: options.rows]
    print(
        f"{options.set}: {X.shape[0]} rows x {X.shape[1]}, {len(options.Cs)} values of C x "
        f"{len(options.gammas)} of gamma x {options.folds} folds, jobs {options.jobs}"
    )
    folds = StratifiedKFold(options.folds)
    for name in options.models:
        ours, classifier = MODELS[name]
        search = ours(
            Cs=options.Cs, gammas=options.gammas, cv=folds, n_jobs=options.jobs, random_state=0
        )
        grid = GridSearchCV(
            classifier(random_state=0, n_jobs=None if options.jobs is None else 1),
            {"gamma": sorted(options.gammas), "C": sorted(options.Cs)},
            cv=folds,
            n_jobs=options.jobs,
        )
        took = [seconds(lambda each=each: each.fit(X, y)) for each in (search, grid)]
        compare(name, search, grid, took)


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the wall and the CPU seconds of some work, worker processes included."""
    began, before = time.perf_counter(), os.times()
    work()
    wall = time.perf_counter() - began
    get_reusable_executor().shutdown(wait=True)  # the time of workers counts once they have ended
    return wall, sum(os.times()[:4]) - sum(before[:4])


def compare(name: str, search: Any, grid: Any, took: list[tuple[float, float]]) -> None:
    (wall, cpu), (grid_wall, grid_cpu) = took
    print(
        f"{name}: {wall:.1f} s (CPU {cpu:.1f}), GridSearchCV {grid_wall:.1f} s (CPU "
        f"{grid_cpu:.1f}); ratio {wall / grid_wall:.3f} (CPU {cpu / grid_cpu:.3f})"
    )
    tables = [scores_by_pair(each.cv_results_) for each in (search, grid)]
    largest = max(abs(tables[0][pair] - tables[1][pair]) for pair in tables[0])
    print(f"    mean scores differ by at most {largest:.5f}")
    for who, best in (("ours", search.best_params_), ("GridSearchCV", grid.best_params_)):
        pair = (best["C"], best["gamma"])
        scores = " and ".join(f"{table[pair]:.5f}" for table in tables)
        print(f"    {who} chose C={pair[0]:g}, gamma={pair[1]:g}: scores {scores}", flush=True)


def scores_by_pair(results: dict[str, Any]) -> dict[tuple[float, float], float]:
    """Return mean scores by C and gamma."""
    return {
        (params["C"], params["gamma"]): float(np.round(score, 12))
        for params, score in zip(results["params"], results["mean_test_score"], strict=True)
    }


if __name__ == "__main__":
    main()
