"""What [GADGET] leaves open: costs, networks, lost messages, sites that fail or lie.

Runs have a fixed number of rounds, or end once they are near; their history tells when every site
was within one per cent of the optimum of all rows. All take batches of 32 rows where they take
batches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.race.store import Cell, Store
from widemargin.gossip import graph_of

from . import ours
from .problem import DividedProblem, Outcome
from .sets import SITES, asked, cell_of, problem_of, reference
from .stepped import BITS, choco
from .trained import pooled

# ------------------------------------------------------------------------------------- costs

NEAR = 0.01
# The columns of a history that show when a run was near.
PROGRESS = ("round", "bytes", "max_objective")
PER_SITE = ("accuracy_of_sites", "excess")
# Runs end nearer than required, so that coming near once by chance does not count.
ENOUGH = 0.005
BATCH = 32
COST_ROUNDS, QUICK_COST_ROUNDS = 10_000, 100
GROWTH = 1.2
# How much longer than a fit of the tables these may take.
PATIENCE = 2.0
SOLVERS = ("consensus", "gadget", "tracking")
QUANTISED: dict[str, int | None] = {"choco": BITS, "choco_exact": None}
COSTED = (*SOLVERS, *QUANTISED)
DIVISIONS = ("even", "skewed")


def measure_costs(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure what each method sends, rows dealt evenly or by label, and what pooling would."""
    for division in DIVISIONS:
        problem = partial(problem_of, name, quick=quick, skewed=division == "skewed")
        best = reference(store, name, problem, quick)["objective"]
        rounds = QUICK_COST_ROUNDS if quick else COST_ROUNDS
        limits = {"max_rounds": rounds, "max_time": PATIENCE * max_time}
        for method in COSTED:
            measure = partial(_cost, method, problem, best, limits)
            settings = {"quick": quick, **limits}
            store.cell(cost_cell(name, division, method), settings, measure)
    even = partial(problem_of, name, quick=quick)
    store.cell(
        cost_cell(name, "even", "pooled"),
        {"quick": quick},
        lambda: cell_of(pooled(even()), even()),
    )


def _cost(
    method: str, problem: Callable[[], DividedProblem], best: float, limits: dict[str, Any]
) -> Cell:
    if method in QUANTISED:
        return watched_choco(problem(), best, bits=QUANTISED[method], **limits)
    outcome = ours.fit(problem(), method, tol=None, enough=(1.0 + ENOUGH) * best, **limits)
    return cell_of(outcome, problem(), best, columns=PROGRESS)


def cost_cell(name: str, division: str, method: str) -> str:
    """Return the name of a run's cell."""
    return f"bytes/{name}/{division}/{method}"


def watched_choco(problem: DividedProblem, best: float, **settings: Any) -> Cell:
    """Run CHOCO-SGD until it is near; its history is like ours."""
    history: dict[str, list[float]] = {"round": [], "max_objective": [], "bytes": []}
    due = 1

    def watch(number: int, models: np.ndarray, sent: int) -> bool:
        nonlocal due
        if number < due:
            return False
        due = max(number + 1, int(number * GROWTH))
        worst = float(problem.objective(models).max())
        for key, value in zip(history, (number, worst, sent), strict=True):
            history[key].append(value)
        return worst <= (1.0 + ENOUGH) * best

    outcome = choco(problem, batch=BATCH, average=True, watch=watch, **settings)
    return cell_of(outcome, problem, best) | {"history": history}


def reached(cell: Cell, best: float, near: float = NEAR) -> dict[str, float] | None:
    """Return the first checkpoint from which on every site was near the optimum."""
    history = cell["history"]
    far = [value is None or value > (1.0 + near) * best for value in history["max_objective"]]
    if not far or far[-1]:
        return None
    first = max((k + 1 for k, each in enumerate(far) if each), default=0)
    return {key: history[key][first] for key in ("round", "bytes")}


# ----------------------------------------------------------------------------------- effects

EFFECT_SETS = ("a9a", "sylva")
ROUNDS, QUICK_ROUNDS = 1_000, 60
LOSSES = ("hinge", "odm")
# Number of sites, and the topology.
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
    "star, 100 sites": (100, "star"),
    "ring, 100 sites": (100, "ring"),
    "random regular, 4 neighbours, 1,000 sites": (1_000, ("random_regular", (("degree", 4),))),
    "star, 1,000 sites": (1_000, "star"),
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


def measure_topology(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure our default on every network, with sites alike and with one class each."""
    if name not in TOPOLOGY_SETS:
        return
    for title, (sites, topology) in TOPOLOGIES.items():
        for division in DIVISIONS:
            kept = {"topology": topology, "n_sites": sites, "skewed": division == "skewed"}
            problem = partial(problem_of, name, quick=quick, **kept)
            graph = graph_of(asked(topology), sites, 0)
            facts = {"links": graph.n_links, "diameter": graph.diameter}
            for loss in LOSSES:
                cell = f"topology/{name}/{title}/{division}/{loss}"
                best = reference(store, name, problem, quick, loss)["objective"]
                enough = (1.0 + ENOUGH) * best
                fit = partial(_fixed_rounds, "consensus", loss=loss, quick=quick, enough=enough)
                _measure(store, cell, name, problem, fit, loss, quick, max_time, facts)


def measure_faults(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure every solver under every fault, on a ring."""
    problem = partial(problem_of, name, quick=quick)
    for title, faults in FAULTS.items():
        for solver in SOLVERS:
            fit = partial(_fixed_rounds, solver, quick=quick, faults=faults)
            cell = f"faults/{name}/{title}/{solver}"
            _measure(store, cell, name, problem, fit, "hinge", quick, max_time)


def measure_liars(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Measure what one site that lies does to the others, with and without a defence."""
    problem = partial(problem_of, name, quick=quick, topology=LIAR_TOPOLOGY)
    for lie, faults in LIES.items():
        for defence, (solver, options) in DEFENCES.items():
            fit = partial(_fixed_rounds, solver, quick=quick, faults=faults, options=options)
            cell = f"liars/{name}/{lie}/{defence}"
            _measure(store, cell, name, problem, partial(_honest, fit), "hinge", quick, max_time)


def _fixed_rounds(
    solver: str, problem: DividedProblem, *, quick: bool, max_time: float, **settings: Any
) -> Outcome:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return ours.fit(problem, solver, tol=None, max_rounds=rounds, max_time=max_time, **settings)


def _honest(fit: Callable[..., Outcome], problem: DividedProblem, *, max_time: float) -> Outcome:
    others = [site for site in range(problem.n_sites) if site != LIAR]
    return fit(problem, max_time=max_time).of_sites(others)


def _measure(
    store: Store,
    cell: str,
    name: str,
    problem: Callable[[], DividedProblem],
    fit: Callable[..., Outcome],
    loss: str,
    quick: bool,
    max_time: float,
    facts: Cell | None = None,
) -> None:
    best = reference(store, name, problem, quick, loss)["objective"]
    columns = () if cell.startswith("liars/") else PROGRESS

    def measure() -> Cell:
        outcome = fit(problem(), max_time=max_time)
        found = cell_of(outcome, problem(), best, loss, columns) | (facts or {})
        # Tables of networks show no single sites, of which there may be a thousand.
        left_out = PER_SITE if cell.startswith("topology/") else ()
        return {key: value for key, value in found.items() if key not in left_out}

    store.cell(cell, {"quick": quick, "max_time": max_time}, measure)
