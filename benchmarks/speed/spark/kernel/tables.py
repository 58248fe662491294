"""Write what was measured as CSV files, which the documentation shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.papers.figures import NONE, Cells, Rows, name_of, percent, seconds, write_csv
from benchmarks.papers.published import SODM as PUBLISHED
from benchmarks.papers.results import kept_in
from benchmarks.speed.machine import machine_rows
from benchmarks.speed.spark.sessions import LOCAL
from benchmarks.speed.spark.shown import MEMORY, memory_rows, ratio_text

from .bundles import SETS
from .cases import CASES, SODM
from .cost_model import CORES, CostModel
from .fits import METHODS
from .parts import BUNDLES, CLUSTER, ENGINES, LARGE, LOCAL_ENGINE

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


def write(results: Path, folder: Path) -> None:
    """Write all tables; what was not measured is left open."""
    kept = kept_in(results)
    cells = kept["cells"]
    folder.mkdir(parents=True, exist_ok=True)
    columns = ["Data set", "Rows", "Method", "Engine", "Seconds", "÷ local engine"]
    columns += ["Accuracy (%)", "Predictions as the local engine's (%)"]
    write_csv(folder / "spark_kernel_fits.csv", columns, _fits(cells))
    columns = ["Data set", "Engine", "Session (s)", "First Python workers (s)", "Reading (s)"]
    columns += ["Reading and to Python (s)"]
    write_csv(folder / "spark_kernel_start.csv", columns, _starts(cells))
    columns = ["Data set", "Method", "Engine", "Fit (s)", *COUNTED.values()]
    write_csv(folder / "spark_kernel_time.csv", columns, _time(cells))
    columns = ["Rows", "Parts", "Seconds", "Support vectors", "Accuracy (%)", "Predicting (s)"]
    write_csv(folder / "spark_kernel_large.csv", columns, _large(cells))
    write_csv(folder / "spark_kernel_memory.csv", MEMORY, memory_rows(cells.get(LARGE, {})))
    columns = ["Data set", "Published, 80 cores", *(f"{cores}" for cores in CORES)]
    write_csv(folder / "spark_kernel_model.csv", columns, _model(cells, speed_ups=False))
    columns[1] = "Published, 32 cores"
    write_csv(folder / "spark_kernel_speed_up.csv", columns, _model(cells, speed_ups=True))
    columns = ["Data set", "Rows", "Features", "Classes", "Rows (MB)", "Weights (MB)"]
    columns += ["Rows moved once (MB)", "Passes", "Sent (MB)", "Returned (MB)"]
    write_csv(folder / "spark_kernel_bundles.csv", columns, _bundles(cells))
    write_csv(folder / "spark_kernel_machine.csv", ["", "Measured with"], machine_rows(kept))


def _measured(cells: Cells) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Give set, method and engine of every fit; the medians of several rounds."""
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
    """Give name, published seconds and cost model of every set that SODM was measured on."""
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
