"""Tables of what [GADGET] leaves open: costs, networks, faults, liars, rare failures."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

from benchmarks.race.tables import NONE, Cells, Rows, Table, percent
from widemargin.gossip import Consensus, graph_of
from widemargin.gossip.mixing import consensus_time

from .comparison import (
    DATA_SETS,
    PRODUCTION_METHODS,
    PRODUCTION_SETS,
    SPLITS,
    WEIGHTS,
    production_cell,
)
from .effects import (
    COSTED,
    DEFENCES,
    DIVISIONS,
    EFFECT_SETS,
    FAULTS,
    LIES,
    LOSSES,
    SOLVERS,
    TOPOLOGIES,
    TOPOLOGY_SETS,
    cost_cell,
    reached,
)
from .figures import above, megabytes, name_of
from .sets import asked, optimum_cell

COST_TITLES = {
    "consensus": "consensus",
    "gadget": "gadget",
    "tracking": "tracking",
    "choco": "CHOCO-SGD, 3 bits",
    "choco_exact": "CHOCO-SGD, not quantised",
}
DEFENCE_TITLES = {
    "consensus": "consensus",
    "push_sum": "gadget",
    "clip": "gadget, clipped",
    "trim": "gadget, trimmed",
}
PRODUCTION_TITLES = {
    "pooled": "LIBLINEAR pooled",
    "alone": "LIBLINEAR at every site",
    "dist_eval": "Dist-Eval",
    "printed": "GADGET as printed",
    "consensus": "consensus, hinge",
    "consensus_odm": "consensus, ODM",
}
DIVISION_TITLES = {"even": "dealt evenly", "skewed": "sorted by label"}
LIE_TITLES = {"none": "none", "opposite": "ten times the opposite", "noise": "noise"}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "Rows", *(COST_TITLES[each] for each in COSTED), "Pooling the rows"]
    yield "gossip_bytes", columns, _bytes(cells)
    columns = ["Data set", "Rows", *(COST_TITLES[each] for each in COSTED)]
    yield "gossip_rounds", columns, _rounds(cells)
    columns = ["Network", "Links", "Diameter", "Mixing time", "of averaging"]
    columns += ["Hinge, sites alike", "MB"]
    columns += ["ODM, sites alike", "Hinge, sorted by label", "ODM, sorted by label"]
    yield "gossip_topology", columns, _topology(cells)
    columns = ["Data set", "What goes wrong"]
    for solver in SOLVERS:
        columns += [f"{solver}: rounds", "above optimum at the end, %"]
    yield "gossip_faults", columns, _faults(cells)
    columns = ["Data set", "What the faulty site sends", "Method", "Accuracy: worst", "mean"]
    yield "gossip_liars", [*columns, "Worst site above optimum, %"], _liars(cells)
    columns = ["Data set", "Weights", "Method", "Accuracy", "Balanced accuracy", "worst site"]
    yield "gossip_production", [*columns, "Recall of failures", "worst site"], _production(cells)


def _near(cells: Cells, cell: dict[str, Any] | None, name: str, loss: str = "hinge") -> Any:
    reference = cells.get(optimum_cell(name, loss))
    if cell is None or reference is None:
        return None
    return reached(cell, reference["objective"])


def _when(cells: Cells, cell: dict[str, Any] | None, name: str, key: str, loss: str) -> str:
    """Show rounds or bytes until every site is near the optimum; how far it got otherwise."""
    if cell is None:
        return NONE
    if cell.get("diverged"):
        return "diverged"
    found = _near(cells, cell, name, loss)
    if found is None:
        return f"not in {cell['rounds']:,}"
    return f"{found['round']:,}" if key == "round" else megabytes(found["bytes"])


def _bytes(cells: Cells) -> Rows:
    for name in DATA_SETS:
        pooled = cells.get(cost_cell(name, "even", "pooled"))
        sent = NONE if pooled is None else megabytes(pooled["bytes"])
        for division in DIVISIONS:
            found = [cells.get(cost_cell(name, division, method)) for method in COSTED]
            shown = (_when(cells, cell, name, "bytes", "hinge") for cell in found)
            yield [name_of(name), DIVISION_TITLES[division], *shown, sent]


def _rounds(cells: Cells) -> Rows:
    for name in DATA_SETS:
        for division in DIVISIONS:
            found = [cells.get(cost_cell(name, division, method)) for method in COSTED]
            shown = (_when(cells, cell, name, "round", "hinge") for cell in found)
            yield [name_of(name), DIVISION_TITLES[division], *shown]


def _topology(cells: Cells) -> Rows:
    (name,) = TOPOLOGY_SETS
    for title, (sites, topology) in TOPOLOGIES.items():
        found = {
            (division, loss): cells.get(f"topology/{name}/{title}/{division}/{loss}")
            for division in DIVISIONS
            for loss in LOSSES
        }
        cell = found["even", "hinge"]
        if cell is None:
            continue
        graph = graph_of(asked(topology), sites, 0)
        times = (consensus_time(graph, Consensus().relaxation), graph.mixing_time())
        row = [title, f"{cell['links'] // 2:,}", str(cell["diameter"])]
        row += [f"{time:,.1f}" for time in times] + [_when(cells, cell, name, "round", "hinge")]
        row += [_when(cells, cell, name, "bytes", "hinge")]
        rest = (("even", "odm"), ("skewed", "hinge"), ("skewed", "odm"))
        yield row + [_when(cells, found[each], name, "round", each[1]) for each in rest]


def _faults(cells: Cells) -> Rows:
    for name in EFFECT_SETS:
        for title in FAULTS:
            row = [name_of(name), title]
            for solver in SOLVERS:
                cell = cells.get(f"faults/{name}/{title}/{solver}")
                row += [_when(cells, cell, name, "round", "hinge"), above(cell)]
            yield row


def _liars(cells: Cells) -> Rows:
    for name in EFFECT_SETS:
        for lie in LIES:
            for defence in DEFENCES:
                cell = cells.get(f"liars/{name}/{lie}/{defence}")
                if cell is None:
                    continue
                sites = cell["accuracy_of_sites"]
                row = [name_of(name), LIE_TITLES[lie], DEFENCE_TITLES[defence]]
                yield [*row, percent(min(sites)), percent(cell["accuracy"]), above(cell)]


def _production(cells: Cells) -> Rows:
    for name in PRODUCTION_SETS:
        for weights in WEIGHTS:
            for method in PRODUCTION_METHODS:
                names = [production_cell(name, number, weights, method) for number in range(SPLITS)]
                found = [cells[each] for each in names if each in cells]
                if not found:
                    continue
                few = f" ({len(found)})" if len(found) < SPLITS else ""
                row = [name_of(name), weights, PRODUCTION_TITLES[method]]
                row.append(percent(mean(cell["accuracy"] for cell in found)) + few)
                for key in ("balanced_accuracy", "recall"):
                    row.append(percent(mean(mean(cell[key]) for cell in found)))
                    row.append(percent(mean(min(cell[key]) for cell in found)))
                yield row
