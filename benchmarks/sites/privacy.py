"""Accuracy of privately trained sites at several ε, beside that of sites without privacy.

    WIDEMARGIN_DATA=folder python -m benchmarks.sites.privacy [a9a ijcnn1] [--write]

A ring of 10 and of 50 sites; rows dealt out at random, or sorted by class, so that at most one site
has both. ``row_norm`` is 4 for a9a, whose rows have 14 ones, and 1.5 for ijcnn1; δ = 10⁻⁵; C = 1.
Means and standard deviations over five seeds of the network's model on the published test rows.
``--write`` puts the table into the documentation.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from benchmarks.race.data import load
from benchmarks.race.store import stamp
from benchmarks.race.tables import FOLDER, write_csv
from widemargin import GossipClassifier
from widemargin.gossip import PrivateDescent

ROW_NORMS = {"a9a": 4.0, "ijcnn1": 1.5}
EPSILONS = (1.0, 3.0, 10.0)
SITES = (10, 50)
SEEDS = 5
COLUMNS = ["Data set", "Sites", "Rows a site", "Placed", "Without privacy"]
COLUMNS += [f"ε = {epsilon:g}" for epsilon in EPSILONS]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.privacy")
    parser.add_argument("names", nargs="*", default=list(ROW_NORMS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = []
    for name in options.names:
        for n_sites in SITES:
            for placed in ("at random", "by class"):
                table.append(row_of(name, n_sites, placed))
                print(*table[-1], sep=" | ", flush=True)
    if options.write:
        write_csv(FOLDER / "privacy.csv", COLUMNS, table)
        here = stamp()
        write_csv(
            FOLDER / "privacy_machine.csv",
            ["Commit", "Date", "CPU", "System"],
            [[str(here[key]) for key in ("commit", "date", "cpu", "system")]],
        )
    return 0


def row_of(name: str, n_sites: int, placed: str) -> list[str]:
    """Return one row of the table."""
    data = load(name)
    order = np.argsort(np.argsort(data.y, kind="stable"))
    sites: Any = order * n_sites // len(data.y) if placed == "by class" else None

    def accuracy(solver: Any, seed: int) -> float:
        model = GossipClassifier(
            n_sites, "ring", solver=solver, tol=1e-2, max_iter=10_000, random_state=seed
        )
        return 100.0 * float(model.fit(data.X, data.y, sites=sites).score(data.X_test, data.y_test))

    figures = [f"{accuracy('consensus', 0):.2f}"]
    for epsilon in EPSILONS:
        solver = PrivateDescent(epsilon=epsilon, delta=1e-5, row_norm=ROW_NORMS[name])
        found = [accuracy(solver, seed) for seed in range(SEEDS)]
        figures.append(f"{np.mean(found):.2f} ± {np.std(found):.2f}")
    return [name, str(n_sites), f"{len(data.y) // n_sites:,}", placed, *figures]


if __name__ == "__main__":
    raise SystemExit(main())
