"""What one site that lies costs the others, by consensus with and without its defence.

WIDEMARGIN_DATA=... python -m benchmarks.papers.gadget.liars [--write]

a9a, hinge, 300 rounds: six sites, all linked, and ten with four neighbours each. Lines without a
lie are the price of the defence, with sites alike and with one class each. "False labels" follows
the protocol, with the labels of its rows reversed. Accuracies are those of the worst honest site.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.race.tables import FOLDER, percent, write_csv

from . import ours
from .sets import problem_of

NETWORKS: dict[str, tuple[Any, int]] = {
    "six, complete": ("complete", 6),
    "ten, four neighbours": (("random_regular", (("degree", 4),)), 10),
}
LIAR = 0
LIES: dict[str, dict[str, Any]] = {
    "opposite, ten times": {"lies": {LIAR: "opposite"}, "scale": 10.0},
    "noise, ten times": {"lies": {LIAR: "noise"}, "scale": 10.0},
    "push, .3": {"lies": {LIAR: "push"}, "scale": 0.3},
    "push, 1": {"lies": {LIAR: "push"}, "scale": 1.0},
    "drift": {"lies": {LIAR: "drift"}, "scale": 1.0},
    "swing": {"lies": {LIAR: "swing"}, "scale": 1.0},
    "figures": {"lies": {LIAR: "figures"}, "scale": 10.0},
    "false labels": {},
}
METHODS: dict[str, dict[str, Any]] = {"robust": {}, "trusting": {"robust": None}}
COLUMNS = ("Sites", "Lie", *(f"{name}, %" for name in METHODS))


def rows() -> Iterator[list[str]]:
    """Yield a line for every network and lie."""
    for network, (topology, n_sites) in NETWORKS.items():
        for skewed in (False, True):
            lie = "none, one class a site" if skewed else "none"
            each = [worst(topology, n_sites, o, skewed=skewed) for o in METHODS.values()]
            yield [network, lie, *each]
        for lie, faults in LIES.items():
            each = [worst(topology, n_sites, o, lie=lie, faults=faults) for o in METHODS.values()]
            yield [network, lie, *each]


def worst(
    topology: Any,
    n_sites: int,
    options: dict[str, Any],
    *,
    skewed: bool = False,
    lie: str | None = None,
    faults: dict[str, Any] | None = None,
) -> str:
    """Return the accuracy of the worst site that does not lie."""
    problem = problem_of("a9a", topology=topology, n_sites=n_sites, skewed=skewed)
    if lie == "false labels":
        problem = replace(problem, y=np.where(problem.site == LIAR, -problem.y, problem.y))
    outcome = ours.fit(
        problem, "consensus", tol=None, max_rounds=300, options=options, faults=faults
    )
    accuracy = outcome.accuracy(problem)
    return percent(float(np.delete(accuracy, LIAR).min() if lie else accuracy.min()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = []
    for row in rows():
        found.append(row)
        print(*row, sep=" | ", flush=True)
    if options.write:
        write_csv(FOLDER / "gossip_consensus_liars.csv", list(COLUMNS), found)


if __name__ == "__main__":
    main()
