"""[SODM] Figure 2, linear kernel: what more threads give DSVRG, and a model of more nodes.

One and two threads are measured. More nodes are computed: seconds of a gradient as measured with
one thread, messages as :class:`Network` assumes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.race import data
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import (
    Cells,
    Rows,
    Table,
    name_of,
    seconds,
    undisturbed,
)
from benchmarks.race.tables import (
    draw as draw_panels,
)
from widemargin.core.budget import Budget
from widemargin.core.losses import LossConstants, MarginDistribution
from widemargin.linear.history import LinearHistory
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers import dsvrg, svrg

DATA_SETS = ("a9a", "ijcnn1", "skin_nonskin", "covtype_binary")
SOLVERS = ("svrg", "dsvrg")
# Inner steps of a stage, as a share of the rows.
SHARES = (1.0, 0.1)
THREADS = (1, 2)
PARTS, STAGES, REPEATS = 16, 10, 3
C = 1.0
MAX_TIME = 120.0
QUICK_ROWS = 2_000


def run(store: Store, names: Sequence[str], *, quick: bool, max_time: float = MAX_TIME) -> None:
    """Measure what is missing: ten stages of each solver, each once before any a second time."""
    for name in names:
        rows = partial(data.whole_set, name, QUICK_ROWS if quick else None)
        split = cache(lambda rows=rows: data.random_split(*rows(), 0))
        for number in range(1 if quick else REPEATS):
            for solver in SOLVERS:
                for share in SHARES:
                    for threads in THREADS:
                        case = f"{name}/{solver}/{share:g}/{threads}/{number}"
                        measure_stages(store, case, split, solver, share, threads, max_time)


def measure_stages(
    store: Store,
    name: str,
    split: Callable[[], DataSet],
    solver: str,
    share: float,
    threads: int,
    max_time: float,
) -> None:
    """Measure a fixed number of stages; dividing the rows is not counted."""
    settings: dict[str, Any] = {"solver": solver, "C": C, "threads": threads, "stages": STAGES}
    settings |= {"steps_per_row": share}
    if solver == "dsvrg":
        settings["n_parts"] = PARTS

    def measure() -> Cell:
        rows = split()
        seconds = stage_seconds(rows.X, rows.y, solver, share, threads, max_time)
        features = rows.X.shape[1] + 1
        return {"fit_seconds": seconds, "rows": len(rows.y), "features": features}

    store.cell(name, settings, measure)


def stage_seconds(
    X: Any, y: np.ndarray, solver: str, share: float, threads: int, max_time: float
) -> float:
    """Return the seconds of all stages of one run."""
    label = np.where(y == np.max(y), 1, -1).astype(np.int8)
    constants = LossConstants.of(MarginDistribution(upsilon=0.5, theta=0.2), C)
    problem = LinearProblem(X, label, constants, constant=1.0, threads=threads)
    run = (Budget(tol=0.0, max_iter=STAGES, max_time=max_time), LinearHistory())
    start = np.zeros(problem.size)
    if solver == "dsvrg":
        dsvrg.solve(problem, start, *run, n_parts=PARTS, steps_per_row=share)
    else:
        svrg.solve(problem, start, *run, steps_per_row=share)
    seconds = run[1].table()["seconds"]
    return float(STAGES * np.median(np.diff(seconds)))


@dataclass(frozen=True)
class Network:
    """What a message between nodes costs: ten gigabits a second, a tenth of a millisecond."""

    latency: float = 1e-4
    bytes_per_second: float = 1.25e9

    def message(self, features: int) -> float:
        """Return the seconds of sending one vector of float64 weights."""
        return self.latency + 8.0 * features / self.bytes_per_second


@dataclass(frozen=True)
class StageModel:
    """A stage of DSVRG on several nodes.

    Attributes
    ----------
    rows, features : int
        Size of the problem.
    full, inner : float
        Seconds of a row in the full gradient and of an inner step, on one core.
    network : Network
        What messages cost.
    """

    rows: int
    features: int
    full: float
    inner: float
    network: Network = Network()

    def seconds(self, nodes: int, share: float) -> float:
        """Return the seconds of a stage.

        The weights are sent to all nodes, the gradients are summed up, their sum is sent to all,
        each along a tree; then the weights go from node to node, as far as the inner steps need.
        Rows of the full gradient are shared by the nodes; inner steps wait for each other.
        """
        compute = self.rows / nodes * self.full + share * self.rows * self.inner
        if nodes == 1:
            return compute
        messages = 3 * math.ceil(math.log2(nodes)) + math.ceil(share * nodes)
        return compute + messages * self.network.message(self.features)

    def speed_up(self, nodes: int, share: float) -> float:
        """Compare a stage on several nodes with one on a single node."""
        return self.seconds(1, share) / self.seconds(nodes, share)


def costs_of(rows: int, stage_seconds: dict[float, float]) -> tuple[float, float]:
    """Divide the seconds of a stage, by the share of inner steps, into a row's and a step's."""
    shares = np.array(list(stage_seconds))
    slope, start = np.polyfit(shares, np.array(list(stage_seconds.values())), 1)
    return max(float(start), 0.0) / rows, max(float(slope), 0.0) / rows


# -------------------------------------------------------------------------------------- page

NODES = (1, 2, 4, 8, 16, 32)


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the measured table and that of the model."""
    columns = [
        "Data set",
        "Inner steps ÷ rows",
        "SVRG, 1 thread s",
        "DSVRG, 1 thread s",
        "DSVRG, 2 threads s",
    ]
    columns += ["SVRG ÷ DSVRG, 2 threads", "If two threads halve the full gradient"]
    yield "linear_speed_up", columns, _measured(cells)
    columns = ["Data set", "Inner steps ÷ rows", *(f"{nodes} nodes" for nodes in NODES[1:])]
    columns += ["Row, full gradient: ns", "Inner step: ns", "Message: µs"]
    yield "linear_speed_up_model", columns, _model(cells)


def draw(cells: Cells, folder: Path) -> None:
    """Draw measured and modelled speed-up over the number of nodes."""
    found = {name_of(name): model for name in DATA_SETS if (model := model_of(cells, name))}
    points = {
        name_of(name): {share: _threads(cells, name, share) for share in SHARES}
        for name in DATA_SETS
    }
    filled = {title: partial(_fill, model, points[title]) for title, model in found.items()}
    draw_panels(folder / "linear_speed_up.svg", filled, columns=2)


def _fill(model: StageModel, points: dict[float, list[tuple[int, float]]], axis: Any) -> None:
    for number, share in enumerate(SHARES):
        curve = [model.speed_up(nodes, share) for nodes in NODES]
        label = f"model, {share:g} inner steps a row"
        axis.plot(NODES, curve, linestyle="--", color=f"C{number}", label=label)
        label = f"measured threads, {share:g}"
        axis.plot(*zip(*points[share], strict=True), "o", color=f"C{number}", label=label)
    axis.set(xscale="log", xlabel="nodes (model) or threads (measured)", ylabel="speed-up")
    axis.set_xticks(NODES, [str(nodes) for nodes in NODES])
    axis.minorticks_off()
    axis.legend(fontsize="small")


def model_of(cells: Cells, data_set: str) -> StageModel | None:
    """Build the model from the fits with one thread; None where they are missing."""
    times = {share: _stage(cells, data_set, "dsvrg", share, 1) for share in SHARES}
    known = {share: value for share, value in times.items() if value is not None}
    if len(known) < len(SHARES):
        return None
    cell = cells[f"{data_set}/dsvrg/{SHARES[0]:g}/1/0"]
    return StageModel(cell["rows"], cell["features"], *costs_of(cell["rows"], known))


def _measured(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        model = model_of(cells, data_set)
        for share in SHARES:
            plain = _stage(cells, data_set, "svrg", share, 1)
            ours = [_stage(cells, data_set, "dsvrg", share, threads) for threads in THREADS]
            if model is None or plain is None or ours[1] is None:
                continue
            half = model.rows * (model.full / 2 + share * model.inner)
            amdahl = model.seconds(1, share) / half
            times = (None if each is None else STAGES * each for each in (plain, *ours))
            texts = [*map(seconds, times), f"{plain / ours[1]:.2f}", f"{amdahl:.2f}"]
            yield [name_of(data_set), f"{share:g}", *texts]


def _model(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        model = model_of(cells, data_set)
        for share in SHARES if model is not None else ():
            ups = (f"{model.speed_up(nodes, share):.1f}" for nodes in NODES[1:])
            costs = (f"{1e9 * model.full:.0f}", f"{1e9 * model.inner:.0f}")
            message = f"{1e6 * model.network.message(model.features):.0f}"
            yield [name_of(data_set), f"{share:g}", *ups, *costs, message]


def _threads(cells: Cells, data_set: str, share: float) -> list[tuple[int, float]]:
    times = [_stage(cells, data_set, "dsvrg", share, threads) for threads in THREADS]
    pairs = zip(THREADS, times, strict=True)
    return [(n, times[0] / each) for n, each in pairs if each is not None and times[0] is not None]


def _stage(cells: Cells, data_set: str, solver: str, share: float, threads: int) -> float | None:
    """Return the median seconds of a stage; None where others worked on the machine."""
    names = (f"{data_set}/{solver}/{share:g}/{threads}/{number}" for number in range(REPEATS))
    found = undisturbed([cells[name] for name in names if name in cells])
    return median(cell["fit_seconds"] / STAGES for cell in found) if found else None
