"""The tables of kernel machines on Spark, and a model of larger clusters.

The model: tasks are spread evenly over the cores, a part at a time; what two cores spent outside of
them does not shrink; rows that are shuffled cross the network once, unless they stay on their
machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.papers.linear_odm.speed_up import Network
from benchmarks.papers.sodm.published import SODM as PUBLISHED
from benchmarks.race.store import Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, name_of, percent, ratio_text, seconds
from benchmarks.speed.spark import ten_million
from benchmarks.speed.spark.page import MEMORY, memory_rows
from benchmarks.speed.spark.sessions import LOCAL

from .billion import needs
from .bundles import SETS
from .fits import CASES, DC, METHODS, SODM
from .growth import FEATURES

LOCAL_ENGINE, CLUSTER = "local engine", "cluster"
ENGINES = (LOCAL_ENGINE, LOCAL, CLUSTER)
LARGE, BUNDLES, GROWTH = "large", "bundles", "growth"

# Those of [SODM]: five workers.
CORES_PER_WORKER, WORKERS = 16, 5
CORES = (1, 2, 4, 8, 16, 32, CORES_PER_WORKER * WORKERS)
MEASURED_CORES = 2
NETWORK = Network()


@dataclass(frozen=True)
class CostModel:
    """A fit as it was measured on two cores.

    Attributes
    ----------
    seconds : float
        From beginning to end.
    work : float
        Seconds of all tasks in Python's workers, rows on their way there and back included.
    parts : int
        Parts that can be worked on at the same time.
    shuffled : float
        Bytes that change partitions.
    network : Network
        What sending costs; an assumption.
    """

    seconds: float
    work: float
    parts: int
    shuffled: float
    network: Network = NETWORK

    @property
    def fixed(self) -> float:
        """Seconds that more cores do not change: the driver, jobs, reading."""
        return max(0.0, self.seconds - self.work * self._share(MEASURED_CORES))

    def on(self, cores: int) -> float:
        """Return the seconds on a number of cores."""
        workers = -(-cores // CORES_PER_WORKER)
        crossing = self.shuffled * (workers - 1) / workers
        sending = crossing / (workers * self.network.bytes_per_second)
        return self.fixed + self.work * self._share(cores) + sending

    def _share(self, cores: int) -> float:
        """Return the longest share of the work that a core has: whole parts, as even as can be."""
        return -(-self.parts // cores) / self.parts

    def speed_up(self, cores: int) -> float:
        """Return how many times faster it is than on one core."""
        return self.on(1) / self.on(cores)


# The most that a fit may take on two cores of Spark, of the local engine's time.
TARGET = 1.5
TITLES = {LOCAL_ENGINE: "local engine", LOCAL: f"Spark, {LOCAL}", CLUSTER: "Spark, cluster"}
COUNTED = {
    "python_code_seconds": "Python code (s)",
    "python_worker_seconds": "Python workers (s)",
    "to_python_mb": "To Python (MB)",
    "from_python_mb": "From Python (MB)",
    "shuffled_mb": "Shuffled (MB)",
    "queries": "Queries",
}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield all tables; what was not measured is left open."""
    columns = ["Data set", "Rows", "Method", "Engine", "Seconds", "÷ local engine"]
    columns += ["Accuracy (%)", "Predictions as the local engine's (%)"]
    yield "spark_kernel_fits", columns, _fits(cells)
    columns = ["Data set", "Engine", "Session (s)", "First Python workers (s)", "Reading (s)"]
    columns += ["Reading and to Python (s)"]
    yield "spark_kernel_start", columns, _starts(cells)
    columns = ["Data set", "Method", "Engine", "Fit (s)", *COUNTED.values()]
    yield "spark_kernel_time", columns, _time(cells)
    columns = ["Rows", "Parts", "Seconds", "Support vectors", "Accuracy (%)", "Predicting (s)"]
    yield "spark_kernel_large", columns, _large(cells)
    yield "spark_kernel_memory", MEMORY, memory_rows(cells.get(LARGE, {}))
    columns = ["Data set", "Published, 80 cores", *(f"{cores}" for cores in CORES)]
    yield "spark_kernel_model", columns, _model(cells, speed_ups=False)
    columns = ["Data set", "Published, 32 cores", *(f"{cores}" for cores in CORES)]
    yield "spark_kernel_speed_up", columns, _model(cells, speed_ups=True)
    columns = ["Method", "Rows", "Parts", "Seconds", "Jobs", "Tasks", "Shuffled (MB a million)"]
    columns += ["Driver, Python (MB)", "Driver, JVM (MB)", "Python, growth (MB a million)"]
    yield "spark_kernel_growth", columns, _growth(cells)
    columns = ["Resource", "Grows with", "Takes", "There is", "Share", "A setting that helps"]
    yield "spark_kernel_billion", columns, _billion(cells)
    columns = ["Data set", "Rows", "Features", "Classes", "Rows (MB)", "Weights (MB)"]
    columns += ["Rows moved once (MB)", "Passes", "Sent (MB)", "Returned (MB)"]
    yield "spark_kernel_bundles", columns, _bundles(cells)


def _measured(cells: Cells) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield set, method and engine of every fit; the medians of several rounds."""
    for case in CASES:
        for method in METHODS:
            for engine in ENGINES:
                fits = cells.get(f"{case}/{engine}", {}).get("fits", {}).get(method)
                if fits:
                    middle = median(fit["seconds"] for fit in fits)
                    yield case, method, engine, {**fits[0], "seconds": middle}


def _fits(cells: Cells) -> Rows:
    found = {(case, method, engine): fit for case, method, engine, fit in _measured(cells)}
    for (case, method, engine), fit in found.items():
        local = found.get((case, method, LOCAL_ENGINE))
        compared = engine != LOCAL_ENGINE and local is not None
        yield [
            name_of(case),
            f"{cells[f'{case}/{engine}']['rows']:,}",
            method,
            TITLES[engine],
            seconds(fit["seconds"]),
            ratio_text(
                fit["seconds"] / local["seconds"] if compared else None,
                TARGET if engine == LOCAL else float("inf"),
            ),
            percent(fit["accuracy"]),
            percent(agreement(fit["predicted"], local["predicted"])) if compared else NONE,
        ]


def agreement(one: str, other: str) -> float:
    """Return the share of predictions that are the same; both as packed bits."""
    bits = [np.unpackbits(np.frombuffer(bytes.fromhex(each), np.uint8)) for each in (one, other)]
    return float(np.mean(bits[0] == bits[1]))


def _starts(cells: Cells) -> Rows:
    keys = ("start_seconds", "python_start_seconds", "read_seconds", "transfer_seconds")
    for case in CASES:
        for engine in (LOCAL, CLUSTER):
            cell = cells.get(f"{case}/{engine}")
            if cell is not None:
                yield [name_of(case), TITLES[engine], *(seconds(cell.get(key)) for key in keys)]


def _time(cells: Cells) -> Rows:
    for case, method, engine, fit in _measured(cells):
        if engine != LOCAL_ENGINE:
            yield [name_of(case), method, TITLES[engine], *_counts(fit)]
    for rows, fit in cells.get(LARGE, {}).get("fits", {}).items():
        yield [f"{int(rows):,} × 18", SODM, TITLES[CLUSTER], *_counts(fit)]


def _counts(fit: dict[str, Any]) -> list[str]:
    return [seconds(fit["seconds"]), *(f"{fit['counted'][key]:,.3g}" for key in COUNTED)]


def _large(cells: Cells) -> Rows:
    for rows, fit in cells.get(LARGE, {}).get("fits", {}).items():
        yield [
            f"{int(rows):,}",
            f"{fit['parts']:,}",
            seconds(fit["seconds"]),
            f"{fit['support']:,}",
            percent(fit["accuracy"]),
            seconds(fit["predict_seconds"]),
        ]


def _grown(cells: Cells, method: str) -> list[dict[str, Any]]:
    """Return the fits of a method, of ever more rows."""
    found = [cell for name, cell in cells.items() if name.startswith(f"{GROWTH}/{method}/")]
    return sorted((cell for cell in found if "rows" in cell), key=lambda cell: cell["rows"])


def _growth(cells: Cells) -> Rows:
    for method in METHODS:
        fits = _grown(cells, method)
        for fit in fits:
            millions = fit["rows"] / 1e6
            more = (fit["rows"] - fits[0]["rows"]) / 1e6
            grown = fit["driver_python_mb"] - fits[0]["driver_python_mb"]
            yield [
                method,
                f"{fit['rows']:,}",
                f"{fit['parts']:,}",
                seconds(fit["seconds"]),
                f"{fit['jobs']}",
                f"{fit['tasks']:,}",
                f"{fit['counted']['shuffled_mb'] / millions:,.0f}",
                f"{fit['driver_python_mb']:,.0f}",
                f"{fit['driver_java_mb']:,.0f}",
                f"{grown / more:,.1f}" if more else NONE,
            ]


def _billion(cells: Cells) -> Rows:
    fits = _grown(cells, DC)
    if not fits:
        return
    found = list(needs(fits, FEATURES, driver_mb=_driver_of_defaults()))
    first = max((need.share or 0.0 for need in found), default=0.0)
    for need in found:
        share = NONE if need.share is None else f"{need.share:.2g}"
        yield [
            need.what,
            need.grows_with,
            _amount(need.takes, need.unit),
            NONE if need.there is None else _amount(need.there, need.unit),
            f"**{share}**" if need.share == first else share,
            need.setting,
        ]


def _driver_of_defaults() -> float:
    """Return the most megabytes that a driver took with the defaults, 0 if that is not measured."""
    cells = Store(ten_million.RESULTS).cells.values()
    return max(map(ten_million.driver_mb, cells), default=0.0)


def _amount(value: float, unit: str) -> str:
    return f"{value / 1e9:,.2f} GB" if unit == "bytes" else f"{value:,.0f} {unit}"


def _bundles(cells: Cells) -> Rows:
    sizes = ("rows_mb", "weights_mb", "once_mb", "passes", "sent_mb", "returned_mb")
    for name, title in SETS.items():
        cell = cells.get(f"{BUNDLES}/{name}")
        if cell is not None:
            counts = [f"{cell[key]:,}" for key in ("rows", "features", "classes")]
            yield [title, *counts, *(f"{cell[key]:,.3g}" for key in sizes)]


def _model(cells: Cells, *, speed_ups: bool) -> Rows:
    for name, published, model in _models(cells):
        if speed_ups:
            yield [name, "> 9", *(f"{model.speed_up(cores):.1f}" for cores in CORES)]
        else:
            yield [name, seconds(published), *(seconds(model.on(cores)) for cores in CORES)]


def _models(cells: Cells) -> Iterator[tuple[str, float | None, CostModel]]:
    """Yield name, published seconds and cost model of every set that SODM was measured on."""
    for case, method, engine, fit in _measured(cells):
        if method == SODM and engine == LOCAL:
            yield name_of(case), _published(case), _model_of(fit, CASES[case].parts)
    fits = cells.get(LARGE, {}).get("fits", {})
    if fits:
        rows = max(fits, key=int)
        # SUSY has as many rows and features.
        yield f"{int(rows):,} × 18 (SUSY)", _published("susy_30k"), _model_of(fits[rows])


def _published(case: str) -> float | None:
    found = PUBLISHED.get(case, {}).get("odm", {}).get("stratified")
    return None if found is None else found[1]


def _model_of(fit: dict[str, Any], parts: int | None = None) -> CostModel:
    counted = fit["counted"]
    shuffled = 1e6 * counted["shuffled_mb"]
    return CostModel(
        fit["seconds"], counted["python_worker_seconds"], parts or fit["parts"], shuffled
    )
