"""Rounds until every site is near the optimum of all rows, and its accuracy there.

WIDEMARGIN_DATA=... python -m benchmarks.papers.gadget.distance [a9a ijcnn1 sylva covtype_binary]

Ten sites and the default method, hinge and ODM: a ring and a complete network; a ring that loses
30 % of its messages; one where two sites crash and return; one whose sites have one class each.
λ = 10⁻³, then C = 1. For each: rounds until the worst site's objective is within 1 % of the
optimum (as many messages go through every link, each way), and the lowest test accuracy of a site
at the end beside that of LIBLINEAR on all rows. Then 1,000 and 10,000 sites on a9a, with seconds.
``--write`` puts the figures into the documentation's tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.race.tables import FOLDER, percent, write_csv
from widemargin import GossipClassifier

from . import ours
from .problem import DividedProblem
from .sets import optimum, problem_of
from .trained import pooled

DATA_SETS = ("a9a", "ijcnn1", "sylva", "covtype_binary")
NEAR, TOL = 0.01, 5e-3
ROUNDS = {"1e-3": 1_000, "C = 1": 30_000}
CRASHES = [(20, "crash", 2), (20, "crash", 7), (200, "return", 2), (200, "return", 7)]
CASES: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "ring": ("ring", False, {}),
    "complete": ("complete", False, {}),
    "ring, 30 % lost": ("ring", False, {"loss": 0.3}),
    "ring, two sites crash and return": ("ring", False, {"schedule": CRASHES}),
    "ring, one class a site": ("ring", True, {}),
    "ring, one class a site, 30 % lost": ("ring", True, {"loss": 0.3}),
}
COLUMNS = ("Data set", "λ", "Network", "Loss", "Rounds", "Above optimum, %")
COLUMNS += ("Worst site's accuracy, %", "LIBLINEAR, all rows, %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(DATA_SETS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for name in options.names:
        for row in rows_of(name):
            rows.append(row)
            print(*row, sep=" | ", flush=True)
    sizes = []
    for row in many_sites():
        sizes.append(row)
        print(*row, sep=" | ", flush=True)
    if options.write:
        write_csv(FOLDER / "gossip_distance.csv", list(COLUMNS), map(list, rows))
        columns = ("Sites", "Network", "Rounds", "Seconds", "Worst site above optimum, %")
        write_csv(FOLDER / "gossip_many_sites.csv", list(columns), map(list, sizes))


def rows_of(name: str) -> Iterator[tuple[str, ...]]:
    """Yield a line of the table for every case of a data set."""
    for scale, rounds in ROUNDS.items():
        peer = None
        for title, (topology, skewed, faults) in CASES.items():
            if scale == "C = 1" and title not in ("ring", "complete"):
                continue
            problem = problem_of(name, topology=topology, skewed=skewed)
            if scale == "C = 1":
                problem = replace(problem, lam=1.0 / float(problem.weight.sum()))
            if peer is None:
                peer = float(pooled(problem).accuracy(problem).mean())
            for loss in ("hinge", "odm"):
                yield (
                    name,
                    scale,
                    title,
                    loss,
                    *measured(problem, loss, faults, rounds),
                    percent(peer),
                )


def measured(
    problem: DividedProblem, loss: str, faults: dict[str, Any], rounds: int
) -> tuple[str, ...]:
    """Run the default method; return when it was near, and where it ended."""
    best = optimum(problem, loss)["objective"]
    outcome = ours.fit(problem, "consensus", loss=loss, tol=TOL, max_rounds=rounds, faults=faults)
    history = outcome.facts["history"]
    above = np.array(history["max_objective"], dtype=float) / best - 1.0
    far = np.flatnonzero(~(above <= NEAR))
    first = int(far[-1]) + 1 if len(far) else 0
    worst = percent(float(outcome.accuracy(problem).min()))
    if first == len(above):
        return f"not in {rounds:,}", f"{100 * above[-1]:.2f}", worst
    return f"{int(history['round'][first]):,}", f"{100 * above[-1]:.2f}", worst


def many_sites() -> Iterator[tuple[str, ...]]:
    """Yield a line for every size of a network on a9a."""
    problem = problem_of("a9a")
    best = optimum(problem)["objective"] * float(problem.weight.sum())
    for sites, topology, rounds in (
        (1_000, "torus", 1_000),
        (1_000, "ring", 1_000),
        (10_000, "torus", 200),
    ):
        started = time.perf_counter()
        model = GossipClassifier(
            sites,
            topology,
            C=1.0 / (problem.lam * len(problem.y)),
            fit_intercept=False,
            stopping="never",
            max_iter=rounds,
            random_state=0,
        )
        with np.errstate(all="ignore"):
            model.fit(problem.X, problem.y)
        seconds = time.perf_counter() - started
        worst = model.history_["max_objective"][-1] * problem.lam * len(problem.y)
        above = worst / best - 1.0
        yield f"{sites:,}", topology, f"{rounds:,}", f"{seconds:.1f}", f"{100 * above:.2f}"


if __name__ == "__main__":
    main()
