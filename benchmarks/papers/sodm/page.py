"""The page of SODM's tables: accuracy, seconds and the levels of Figure 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.race.store import Cell
from benchmarks.race.tables import (
    NONE,
    Cells,
    Rows,
    Table,
    figure,
    name_of,
    of_splits,
    percent,
    seconds,
    undisturbed,
)
from benchmarks.race.tables import (
    draw as draw_panels,
)

from . import published
from .tables import DATA_SETS, FAN_IN, LOSSES, SPLITS

PREFIXES = {"cascade": "Ca-", "preserving": "DiP-", "clustered": "DC-", "stratified": "S"}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "Rows", "Features", "Leaves", "ODM: C, γ", "SVM: C, γ"]
    yield "sodm_settings", columns, _settings(cells)
    for loss in LOSSES:
        columns = ["Data set", "Method", "Published", "Root", "Early", "As printed"]
        yield f"sodm_accuracy_{loss}", columns, _accuracy(cells, loss)
        columns = [*columns, "Exact ÷ early", "Predict: root", "Predict: early"]
        yield f"sodm_seconds_{loss}", columns, _seconds(cells, loss)

    columns = ["Data set", "SODM − DC-ODM: published", "Early", "As printed"]
    columns += ["SODM − exact ODM: published", "Early", "As printed"]
    columns += ["Root ÷ exact, seconds: ODM", "SVM"]
    yield "sodm_claims", columns, _claims(cells)


def _claims(cells: Cells) -> Rows:
    """Compare what the paper concludes with our figures."""
    for data_set, theirs in published.SODM.items():
        printed = {method: accuracy for method, (accuracy, _) in theirs["odm"].items()}
        ratios = (
            _ratio(cells, data_set, f"{loss}/stratified/root", f"{loss}/exact") for loss in LOSSES
        )
        variants = ("early", "printed")
        yield [
            name_of(data_set),
            _points(printed["stratified"], printed["clustered"]),
            *(_difference(cells, data_set, each, f"clustered/{each}") for each in variants),
            _points(printed["stratified"], published.WHOLE_ODM.get(data_set)),
            *(_difference(cells, data_set, each, "exact") for each in variants),
            *ratios,
        ]


def _points(ours: float, other: float | None) -> str:
    return NONE if other is None else f"{100 * (ours - other):+.2f}"


def _difference(cells: Cells, data_set: str, variant: str, other: str) -> str:
    """Compare SODM with another fit on the splits that have both, in points."""
    pairs = _pairs(cells, data_set, f"odm/stratified/{variant}", f"odm/{other}")
    points = [
        {"points": ours["accuracy"] - theirs["accuracy"], "out_of_time": late}
        for ours, theirs in pairs
        for late in [ours["out_of_time"] or theirs["out_of_time"]]
    ]
    return figure(points, "points", lambda value: f"{100 * value:+.2f}", SPLITS)


def _ratio(cells: Cells, data_set: str, over: str, under: str) -> str:
    """Return the ratio of the seconds of the splits that have both."""
    pairs = [pair for pair in _pairs(cells, data_set, over, under) if undisturbed(list(pair))]
    if not pairs:
        return NONE
    spent = [sum(cell["fit_seconds"] for cell in cells_of) for cells_of in zip(*pairs, strict=True)]
    return f"{spent[0] / spent[1]:.1f}"


def _pairs(cells: Cells, data_set: str, one: str, other: str) -> list[tuple[Cell, Cell]]:
    names = [(f"{data_set}/{k}/{one}", f"{data_set}/{k}/{other}") for k in range(SPLITS)]
    return [(cells[a], cells[b]) for a, b in names if a in cells and b in cells]


def _settings(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        searches = [cells.get(f"{data_set}/search/{loss}") for loss in ("odm", "svm")]
        chosen = [
            NONE if each is None else f"{each['search']['C']:g}, {each['search']['gamma']:g}"
            for each in searches
        ]
        early = of_splits(cells, data_set, "odm/stratified/early", SPLITS)
        rows = f"{early[0]['rows'] + early[0]['test_rows']:,}" if early else NONE
        features = NONE if searches[0] is None else str(searches[0]["features"])
        leaves = str(FAN_IN ** early[0]["levels"]) if early else NONE
        yield [name_of(data_set), rows, features, leaves, *chosen]


def _accuracy(cells: Cells, loss: str) -> Rows:
    for data_set, method, start in _rows(loss):
        if method == "exact":
            theirs = published.WHOLE_ODM.get(data_set) if loss == "odm" else None
            ours = [_mean(cells, data_set, f"{loss}/exact", "accuracy", percent), NONE, NONE]
        else:
            theirs = published.SODM[data_set][loss][method][0]
            ours = _variants(cells, data_set, f"{loss}/{method}", "accuracy", percent)
        yield [*start, percent(theirs), *ours]


def _seconds(cells: Cells, loss: str) -> Rows:
    for data_set, method, start in _rows(loss):
        if method == "exact":
            fit, predict = (
                _mean(cells, data_set, f"{loss}/exact", key, seconds)
                for key in ("fit_seconds", "predict_seconds")
            )
            yield [*start, NONE, fit, NONE, NONE, NONE, predict, NONE]
            continue
        fits = _variants(cells, data_set, f"{loss}/{method}", "fit_seconds", seconds)
        root, early, _ = _variants(cells, data_set, f"{loss}/{method}", "predict_seconds", seconds)
        theirs = seconds(published.SODM[data_set][loss][method][1])
        yield [*start, theirs, *fits, _times_faster(cells, data_set, loss, method), root, early]


def _times_faster(cells: Cells, data_set: str, loss: str, method: str) -> str:
    exact, early = (
        sum(
            cell["fit_seconds"]
            for cell in undisturbed(of_splits(cells, data_set, f"{loss}/{which}", SPLITS))
        )
        for which in ("exact", f"{method}/early")
    )
    return f"{exact / early:.1f}" if exact and early else NONE


def _rows(loss: str) -> Iterable[tuple[str, str, list[str]]]:
    for data_set in DATA_SETS:
        yield data_set, "exact", [name_of(data_set), loss.upper()]
        for method, prefix in PREFIXES.items():
            yield data_set, method, [name_of(data_set), f"{prefix}{loss.upper()}"]


def _variants(
    cells: Cells, data_set: str, rest: str, key: str, text: Callable[[float], str]
) -> list[str]:
    variants = ("root", "early", "printed")
    return [_mean(cells, data_set, f"{rest}/{variant}", key, text) for variant in variants]


def _mean(cells: Cells, data_set: str, rest: str, key: str, text: Callable[[float], str]) -> str:
    found = of_splits(cells, data_set, rest, SPLITS)
    return figure(undisturbed(found) if key.endswith("seconds") else found, key, text, SPLITS)


def draw(cells: Cells, folder: Path) -> None:
    """Draw Figure 1: accuracy over seconds, a point for each level of the first split."""
    panels = {}
    for data_set in DATA_SETS:
        start = f"{data_set}/0/odm"
        curves = {
            f"{prefix}ODM": curve
            for method, prefix in PREFIXES.items()
            if (curve := level_curve(cells, f"{start}/{method}"))
        }
        if curves:
            exact = cells[f"{start}/exact"]
            curves["ODM"] = [(exact["fit_seconds"], 100 * exact["accuracy"])]
            panels[name_of(data_set)] = partial(fill_levels, curves)
    draw_panels(folder / "sodm_levels.svg", panels)


def level_curve(cells: Cells, start: str) -> list[tuple[float, float]]:
    """Return seconds and accuracy of every level of a divided fit, from the leaves to the root."""
    leaves = cells.get(f"{start}/early")
    if leaves is None or not undisturbed([leaves]):
        return []
    between = (f"level {level}" for level in range(leaves["levels"] - 1, 0, -1))
    found = (cells.get(f"{start}/{variant}") for variant in ("early", *between, "root"))
    return [(each["fit_seconds"], 100 * each["accuracy"]) for each in found if each is not None]


def fill_levels(curves: dict[str, list[tuple[float, float]]], axis: Any) -> None:
    """Draw curves of accuracy over seconds, those of a single point as a star."""
    for title, curve in curves.items():
        axis.plot(*zip(*curve, strict=True), label=title, marker="." if len(curve) > 1 else "*")
    axis.set(xscale="log", xlabel="seconds", ylabel="accuracy")
    axis.legend(fontsize="small")
