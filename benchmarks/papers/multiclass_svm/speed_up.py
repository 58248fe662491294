"""[MC] Figure 2: what more cores give, and a model of several machines.

As in the paper, a fixed number of epochs with C = 1, without shrinking: LLW as printed, WW as a
tournament of bundles of classes, which is what the paper does with fewer cores than classes. (The
paper runs ten epochs on LSHTC-large, ten times.) One and two threads are measured: the seconds of
two epochs less those of one. More cores and machines are computed from the steps of the busiest
core (:mod:`.shares`), the seconds of a step with one thread, and messages as
:class:`~benchmarks.papers.linear_odm.speed_up.Network` assumes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.papers.linear_odm.speed_up import Network
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, seconds
from benchmarks.race.tables import draw as draw_panels
from benchmarks.speed.multiclass import machines
from benchmarks.speed.multiclass.machines import TITLES

from .shares import busiest_steps, steps_of_an_epoch
from .sources import Source, split_of

SOURCES = {
    source.name: source
    for source in (
        Source("generated_like_small", classes=1_139, rows=4_463, test_rows=1_858),
        Source("generated_1000", classes=1_000),
    )
}
DATA_SETS = tuple(SOURCES)
FORMULATIONS = ("llw", "ww")
SOLVERS = {"llw": "printed", "ww": "tournament"}
# The first two epochs of either visit all multipliers.
THREADS, EPOCHS, REPEATS = (1, 2), (1, 2), 5
C = 1.0
MAX_TIME = 300.0
CORES, MACHINES = (1, 2, 4, 8, 16), (1, 2, 4)
# An update of the mean weights after each tenth of an epoch; bytes of a weight with its place.
UPDATES, PLACED_BYTES = 10, 12
# A gap that no epoch reaches.
NEVER = 1e-12
NETWORK = Network()


def run(store: Store, names: Sequence[str], *, quick: bool, max_time: float = MAX_TIME) -> None:
    """Measure what is missing, each fit once before any a second time."""
    for name in names:
        split = cache(partial(split_of, SOURCES[name], 0, quick))
        for formulation in FORMULATIONS:
            measure = partial(shares, split, formulation)
            store.cell(f"{name}/{formulation}/shares", {"quick": quick, "cores": CORES}, measure)
        for number in range(1 if quick else REPEATS):
            for formulation in FORMULATIONS:
                for threads in THREADS:
                    for epochs in EPOCHS:
                        case = f"{name}/{formulation}/{threads}/{epochs}/{number}"
                        limits = {"max_iter": epochs, "threads": threads, "max_time": max_time}
                        measure = partial(epochs_of, split, formulation, limits)
                        store.cell(case, {"quick": quick, **limits}, measure)


def epochs_of(split: Any, formulation: str, limits: dict[str, Any]) -> Cell:
    """Run some epochs."""
    rows: DataSet = split()
    classes = int(rows.y.max()) + 1
    kept = {"C": C, "solver": SOLVERS[formulation], "tol": NEVER}
    began = time.perf_counter()
    found = machines.fit(rows.X, rows.y, classes, formulation, **kept, **limits)
    taken = time.perf_counter() - began
    return {"fit_seconds": taken, "density": machines.density(found.weights)}


def shares(split: Any, formulation: str) -> Cell:
    """Count the steps of an epoch, and those of the busiest of so many cores."""
    rows: DataSet = split()
    class_rows = np.bincount(rows.y)
    return {
        "rows": len(rows.y),
        "features": rows.X.shape[1],
        "classes": len(class_rows),
        "steps": steps_of_an_epoch(class_rows),
        "busiest": [busiest_steps(class_rows, formulation, cores) for cores in CORES],
    }


@dataclass(frozen=True)
class EpochModel:
    """An epoch on several cores of several machines.

    Attributes
    ----------
    formulation : {'ww', 'llw'}
        Which algorithm.
    classes, features : int
        Size of the model.
    density : float
        Share of weights that are not zero.
    step : float
        Seconds of a step on one core.
    busiest : dict
        Steps of the busiest core, by the number of cores.
    network : Network
        What messages cost.
    """

    formulation: str
    classes: int
    features: int
    density: float
    step: float
    busiest: dict[int, int]
    network: Network = NETWORK

    def seconds(self, cores: int, machines: int = 1) -> float:
        """Return the seconds of an epoch on so many cores, spread evenly on machines."""
        return self.busiest[cores] * self.step + self.messages(machines)

    def messages(self, machines: int) -> float:
        """Return the seconds of an epoch's messages.

        LLW sums up a vector along a tree, and sends it back, after each tenth of an epoch. In WW
        every two machines meet once: each sends the weights of half its classes, without zeros,
        and returns those it got.
        """
        if machines == 1:
            return 0.0
        if self.formulation == "llw":
            tree = 2 * math.ceil(math.log2(machines))
            return UPDATES * tree * self.network.message(self.features)
        sent = self.classes / machines * self.features * self.density * PLACED_BYTES
        return (machines - 1) * (2 * self.network.latency + sent / self.network.bytes_per_second)

    def speed_up(self, cores: int, machines: int = 1) -> float:
        """Compare with one core."""
        return self.seconds(1) / self.seconds(cores, machines)


# -------------------------------------------------------------------------------------- page

NAMES = {
    "generated_like_small": "generated, of LSHTC-small's size",
    "generated_1000": "generated, 1,000 classes",
}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the measured table and that of the model."""
    columns = ["Data set", "Formulation", "Rows", "Classes", "Epoch, 1 thread s", "2 threads s"]
    columns += ["Speed-up, 2 threads", "If only the busiest core counted"]
    yield "multiclass_speed_up", columns, _measured(cells)
    columns = ["Data set", "Formulation", "Machines", *(f"{cores} cores" for cores in CORES[1:])]
    yield "multiclass_speed_up_model", [*columns, "Messages of an epoch: ms"], _model(cells)


def draw(cells: Cells, folder: Path) -> None:
    """Draw measured and modelled speed-up over the number of cores."""
    filled = {}
    for name in DATA_SETS:
        for formulation in FORMULATIONS:
            model = model_of(cells, name, formulation)
            if model is not None:
                title = f"{TITLES[formulation]}, {NAMES.get(name, name)}"
                filled[title] = partial(_fill, cells, name, model)
    draw_panels(folder / "multiclass_speed_up.svg", filled, columns=2)


def _fill(cells: Cells, name: str, model: EpochModel, axis: Any) -> None:
    for number, many in enumerate(MACHINES):
        cores = [each for each in CORES if each >= many]
        curve = [model.speed_up(each, many) for each in cores]
        label = f"model, {many} machine" + "s" * (many > 1)
        axis.plot(cores, curve, linestyle="--", color=f"C{number}", label=label)
    times = [epoch_seconds(cells, name, model.formulation, threads) for threads in THREADS]
    known = [(n, times[0] / each) for n, each in zip(THREADS, times, strict=True) if each]
    axis.plot(*zip(*known, strict=True), "o", color="C0", label="measured threads")
    axis.set(xscale="log", xlabel="cores", ylabel="speed-up")
    axis.set_xticks(CORES, [str(each) for each in CORES])
    axis.minorticks_off()
    axis.legend(fontsize="small")


def model_of(cells: Cells, name: str, formulation: str) -> EpochModel | None:
    """Build the model from the fits with one thread; None where they are missing."""
    one = epoch_seconds(cells, name, formulation, 1)
    counted = cells.get(f"{name}/{formulation}/shares")
    if one is None or counted is None:
        return None
    density = cells[f"{name}/{formulation}/1/{EPOCHS[1]}/0"]["density"]
    busiest = dict(zip(CORES, counted["busiest"], strict=True))
    step = one / counted["steps"]
    return EpochModel(formulation, counted["classes"], counted["features"], density, step, busiest)


def epoch_seconds(cells: Cells, name: str, formulation: str, threads: int) -> float | None:
    """Return the median seconds of an epoch."""
    few, many = EPOCHS
    found = []
    for number in range(REPEATS):
        cases = [f"{name}/{formulation}/{threads}/{epochs}/{number}" for epochs in EPOCHS]
        if all(case in cells for case in cases):
            less, more = (cells[case]["fit_seconds"] for case in cases)
            found.append((more - less) / (many - few))
    return median(found) if found else None


def _measured(cells: Cells) -> Rows:
    for name in DATA_SETS:
        for formulation in FORMULATIONS:
            model = model_of(cells, name, formulation)
            one, two = (epoch_seconds(cells, name, formulation, each) for each in THREADS)
            if model is None or one is None:
                continue
            counted = cells[f"{name}/{formulation}/shares"]
            sizes = [f"{counted[key]:,}" for key in ("rows", "classes")]
            ratio = NONE if two is None else f"{one / two:.2f}"
            row = [NAMES.get(name, name), TITLES[formulation], *sizes]
            yield [*row, seconds(one), seconds(two), ratio, f"{model.speed_up(2):.2f}"]


def _model(cells: Cells) -> Rows:
    for name in DATA_SETS:
        for formulation in FORMULATIONS:
            model = model_of(cells, name, formulation)
            for many in MACHINES if model is not None else ():
                row = [NAMES.get(name, name), TITLES[formulation], str(many)]
                for cores in CORES[1:]:
                    row.append(f"{model.speed_up(cores, many):.1f}" if cores >= many else NONE)
                yield [*row, f"{1e3 * model.messages(many):.1f}"]
