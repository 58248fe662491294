"""The tables of linear machines on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, ratio_text, seconds
from benchmarks.speed.linear.contestants import CASES
from benchmarks.speed.spark.page import MEMORY, memory_rows

from .beside_mllib import ACCURACY, DEFAULT_ITERATIONS, OUR_TOL

MLLIB = ("a9a", "generated")
LARGE = "large"

# The most that ours may take of MLlib's time.
TARGET = 0.33
PAIRS = (("ours_loosest", "mllib"), ("ours", "mllib"), ("ours_matching", "mllib_default"))
VERBS = {
    "keep_noted": "placing rows in blocks",
    "reduce": "passes over the blocks",
    "regroup": "drawing a sample",
    "numbers": "making parts",
    "visit": "visits to one part",
    "together": "all blocks in one task",
}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield all tables; what was not measured is left open."""
    columns = ["Data set", "Contestant", "Seconds", "Above the optimum", "Accuracy (%)"]
    yield "spark_linear_fits", columns, _fits(cells)
    columns = ["Data set", "At", "Ours ÷ MLlib, seconds", "Spark ÷ local engine, seconds"]
    yield "spark_linear_ratios", columns, _ratios(cells)
    columns = ["Rows", "Fit", "Seconds", "Accuracy (%)", "Objective", "Relative gap"]
    yield "spark_linear_large", columns, _large(cells)
    yield "spark_linear_memory", MEMORY, memory_rows(cells.get(LARGE, {}))
    columns = ["", *(_title(name) for name in (*MLLIB, LARGE))]
    yield "spark_linear_time", columns, _time(cells)


def _title(name: str) -> str:
    return CASES[name].title if name in CASES else "5,000,000 × 18"


def _names(cell: dict[str, Any]) -> dict[str, str]:
    return {
        "mllib": f"MLlib, {cell.get('iterations')} iterations",
        "ours_loosest": f"widemargin, gap {cell.get('loosest_tol') or 0:g}",
        "ours": f"widemargin, gap {OUR_TOL:g}",
        "local": f"widemargin, local engine, gap {OUR_TOL:g}",
        "mllib_default": f"MLlib, {DEFAULT_ITERATIONS} iterations",
        "ours_matching": f"widemargin, gap {cell.get('matching_tol') or 0:g}",
    }


def _fits(cells: Cells) -> Rows:
    for name in MLLIB:
        cell = cells.get(name, {})
        for fit, title in _names(cell).items():
            found = cell.get("fits", {}).get(fit)
            if found:
                objective = _median(found, "objective") / cell["optimum"] - 1.0
                row = [seconds(_median(found, "seconds")), f"{objective:.1e}"]
                yield [_title(name), title, *row, percent(_median(found, "accuracy"))]


def _ratios(cells: Cells) -> Rows:
    at = (
        f"{ACCURACY:g} above the optimum, both with the loosest setting",
        f"{ACCURACY:g} above the optimum, ours with gap {OUR_TOL:g}",
        f"MLlib's objective after {DEFAULT_ITERATIONS} iterations, its default",
    )
    for name in MLLIB:
        fits = cells.get(name, {}).get("fits", {})
        for (ours, theirs), what in zip(PAIRS, at, strict=True):
            both = ratio(fits, ours, theirs)
            local = ratio(fits, ours, "local") if ours == "ours" else None
            yield [_title(name), what, ratio_text(both, TARGET), ratio_text(local)]


def ratio(fits: dict[str, Any], ours: str, theirs: str) -> float | None:
    """Divide median seconds; None where either is missing."""
    if not fits.get(ours) or not fits.get(theirs):
        return None
    return _median(fits[ours], "seconds") / _median(fits[theirs], "seconds")


def _large(cells: Cells) -> Rows:
    cell = cells.get(LARGE, {})
    titles = {"newton": "cluster, newton", "dsvrg": "cluster, dsvrg", "local": "local engine"}
    for name, title in titles.items():
        fit = cell.get("fits", {}).get(name)
        if fit:
            row = [seconds(fit["seconds"]), percent(fit["accuracy"])]
            objective = f"{fit['objective']:.7g}" if "objective" in fit else NONE
            row += [objective, f"{fit['relative_gap']:.1e}"]
            yield [f"{cell['rows']:,}", title, *row]


def _time(cells: Cells) -> Rows:
    found = [cells.get(name, {}) for name in (*MLLIB, LARGE)]
    steps = {
        "start_seconds": "starting the session",
        "python_start_seconds": "starting Python workers",
        "read_seconds": "reading the rows",
        "transfer_seconds": "reading, and bringing rows to Python",
        "pass_seconds": "a pass over the blocks that does nothing",
    }
    for key, title in steps.items():
        yield [title, *(seconds(cell.get(key)) for cell in found)]
    verbs = [*(cell.get("verbs", {}) for cell in found[:-1])]
    verbs.append(found[-1].get("fits", {}).get("newton", {}).get("verbs", {}))
    for verb, title in VERBS.items():
        if any(verb in each for each in verbs):
            yield [f"the fit: {title}", *(_calls(each.get(verb)) for each in verbs)]


def _calls(verb: dict[str, float] | None) -> str:
    if verb is None:
        return NONE
    times = "" if verb["calls"] == 1 else f" ({verb['calls']} calls)"
    return seconds(verb["seconds"]) + times


def _median(fits: list[dict[str, float]], key: str) -> float:
    return median(fit[key] for fit in fits)
