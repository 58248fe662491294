"""[SODM] Figure 2 from ours: threads as measured, and nodes by a model that says it is one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import panels

from .figures import Cells, Rows, name_of, seconds
from .speed_up import DATA_SETS, REPEATS, SHARES, STAGES, THREADS, StageModel, costs_of

NODES = (1, 2, 4, 8, 16, 32)


def tables(cells: Cells) -> Iterator[tuple[str, list[str], Rows]]:
    """Give the measured table and that of the model."""
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
    panels.draw(folder / "linear_speed_up.svg", filled, columns=2)


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
    """Return the median seconds of a stage."""
    names = (f"{data_set}/{solver}/{share:g}/{threads}/{number}" for number in range(REPEATS))
    found = [cells[name]["fit_seconds"] / STAGES for name in names if name in cells]
    return median(found) if found else None
