"""What [GADGET] leaves open: the effect of the network, of lost messages, of sites that fail.

Runs have a fixed number of rounds, or end once they are near; ``history_`` says when every site was
within one per cent of the optimum of all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.gossip import contestants
from benchmarks.gossip.divided_problem import DividedProblem
from benchmarks.gossip.outcome import Outcome
from widemargin.gossip.topology import graph_of

from .gossip_costs import DIVISIONS, ENOUGH
from .gossip_preparation import SITES, asked, problem_of
from .gossip_reference import reference
from .gossip_scoring import cell_of
from .results import Results
from .scoring import Cell

DATA_SETS = ("a9a", "sylva")
ROUNDS, QUICK_ROUNDS = 1_000, 60
LOSSES = ("hinge", "odm")
SOLVERS = ("consensus", "gadget", "tracking")

# Name, sites, and what the library is asked for.
TOPOLOGIES: dict[str, tuple[int, Any]] = {
    "complete": (SITES, "complete"),
    "random regular, 4 neighbours": (SITES, ("random_regular", (("degree", 4),))),
    "Erdős–Rényi": (SITES, "erdos_renyi"),
    "small world": (SITES, "small_world"),
    "torus": (SITES, "torus"),
    "grid": (SITES, "grid"),
    "star": (SITES, "star"),
    "ring": (SITES, "ring"),
    "random regular, 4 neighbours, 100 sites": (100, ("random_regular", (("degree", 4),))),
    "torus, 100 sites": (100, "torus"),
    "ring, 100 sites": (100, "ring"),
}
TOPOLOGY_SETS = ("a9a",)

FAULTS: dict[str, dict[str, Any]] = {
    "none": {},
    "10 % of messages lost": {"loss": 0.1},
    "30 % of messages lost": {"loss": 0.3},
    "50 % of messages lost": {"loss": 0.5},
    "30 % of messages twice": {"duplication": 0.3},
    "up to 5 rounds late": {"delay": 5},
    "sites wake at random": {"asynchronous": True},
    "two sites crash in round 20, return in 200": {
        "schedule": [(20, "crash", 2), (20, "crash", 7), (200, "return", 2), (200, "return", 7)]
    },
    "two sites join in round 100": {"schedule": [(100, "join", 2), (100, "join", 7)]},
    "30 % lost, 5 late, two sites crash and return": {
        "loss": 0.3,
        "delay": 5,
        "schedule": [(20, "crash", 2), (20, "crash", 7), (200, "return", 2), (200, "return", 7)],
    },
}

LIAR = 0
LIES: dict[str, dict[str, Any]] = {
    "none": {},
    "opposite": {"lies": {LIAR: "opposite"}},
    "noise": {"lies": {LIAR: "noise"}},
}
DEFENCES: dict[str, tuple[str, dict[str, Any]]] = {
    "consensus": ("consensus", {}),
    "push_sum": ("gadget", {}),
    "clip": ("gadget", {"robust": "clip"}),
    "trim": ("gadget", {"robust": "trim"}),
}
LIAR_TOPOLOGY = ("random_regular", (("degree", 4),))


def measure_topology(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Measure our default on every network, with sites alike and with one class each."""
    if name not in TOPOLOGY_SETS:
        return
    for title, (sites, topology) in TOPOLOGIES.items():
        for division in DIVISIONS:
            kept = {"topology": topology, "n_sites": sites, "skewed": division == "skewed"}
            problem = partial(problem_of, name, quick=quick, **kept)
            graph = graph_of(asked(topology), sites, 0)
            facts = {
                "links": graph.n_links,
                "mixing_time": graph.mixing_time(),
                "diameter": graph.diameter,
            }
            for loss in LOSSES:
                cell = f"topology/{name}/{title}/{division}/{loss}"
                best = reference(results, name, problem, quick, loss)["objective"]
                enough = (1.0 + ENOUGH) * best
                fit = partial(_fixed_rounds, "consensus", loss=loss, quick=quick, enough=enough)
                _measure(results, cell, name, problem, fit, loss, quick, max_time, facts)


def measure_faults(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Measure every solver under every fault, on a ring."""
    problem = partial(problem_of, name, quick=quick)
    for title, faults in FAULTS.items():
        for solver in SOLVERS:
            fit = partial(_fixed_rounds, solver, quick=quick, faults=faults)
            cell = f"faults/{name}/{title}/{solver}"
            _measure(results, cell, name, problem, fit, "hinge", quick, max_time)


def measure_liars(results: Results, name: str, quick: bool, max_time: float) -> None:
    """Measure what one site that lies does to the others, with and without a defence."""
    problem = partial(problem_of, name, quick=quick, topology=LIAR_TOPOLOGY)
    for lie, faults in LIES.items():
        for defence, (solver, options) in DEFENCES.items():
            fit = partial(_fixed_rounds, solver, quick=quick, faults=faults, options=options)
            cell = f"liars/{name}/{lie}/{defence}"
            _measure(results, cell, name, problem, partial(_honest, fit), "hinge", quick, max_time)


def _fixed_rounds(
    solver: str, problem: DividedProblem, *, quick: bool, max_time: float, **settings: Any
) -> Outcome:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return contestants.fit(
        problem, solver, tol=None, max_rounds=rounds, max_time=max_time, **settings
    )


def _honest(fit: Callable[..., Outcome], problem: DividedProblem, *, max_time: float) -> Outcome:
    others = [site for site in range(problem.n_sites) if site != LIAR]
    return fit(problem, max_time=max_time).of_sites(others)


def _measure(
    results: Results,
    cell: str,
    name: str,
    problem: Callable[[], DividedProblem],
    fit: Callable[..., Outcome],
    loss: str,
    quick: bool,
    max_time: float,
    facts: Cell | None = None,
) -> None:
    best = reference(results, name, problem, quick, loss)["objective"]

    def measure() -> Cell:
        outcome = fit(problem(), max_time=max_time)
        return cell_of(outcome, problem(), best, loss) | (facts or {})

    results.cell(cell, {"quick": quick, "max_time": max_time}, measure)
