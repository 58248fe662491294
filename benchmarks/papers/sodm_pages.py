"""[SODM] Tables 2 and 4 with ours beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import contestants, published, sodm_tables
from .figures import NONE, Cells, Rows, figure, name_of, percent, seconds

METHODS = {"cascade": "Ca-", "preserving": "DiP-", "clustered": "DC-", "stratified": "S"}


def tables(cells: Cells) -> Iterator[tuple[str, list[str], Rows]]:
    """Give every table as file name, columns and rows."""
    columns = ["Data set", "Rows", "Features", "Leaves", "ODM: C, γ", "SVM: C, γ"]
    yield "sodm_settings", columns, _settings(cells)
    for loss in contestants.LOSSES:
        columns = ["Data set", "Method", "Published", "Root", "Early", "As printed"]
        yield f"sodm_accuracy_{loss}", columns, _accuracy(cells, loss)
        columns = [*columns, "Exact ÷ early", "Predict: root", "Predict: early"]
        yield f"sodm_seconds_{loss}", columns, _seconds(cells, loss)


def _settings(cells: Cells) -> Rows:
    for data_set in sodm_tables.DATA_SETS:
        searches = [cells.get(f"{data_set}/search/{loss}") for loss in ("odm", "svm")]
        chosen = [
            NONE if each is None else f"{each['search']['C']:g}, {each['search']['gamma']:g}"
            for each in searches
        ]
        early = of_splits(cells, data_set, "odm/stratified/early")
        rows = f"{early[0]['rows'] + early[0]['test_rows']:,}" if early else NONE
        features = NONE if searches[0] is None else str(searches[0]["features"])
        leaves = str(contestants.FAN_IN ** early[0]["levels"]) if early else NONE
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
        sum(cell["fit_seconds"] for cell in of_splits(cells, data_set, f"{loss}/{which}"))
        for which in ("exact", f"{method}/early")
    )
    return f"{exact / early:.1f}" if exact and early else NONE


def _rows(loss: str) -> Iterable[tuple[str, str, list[str]]]:
    for data_set in sodm_tables.DATA_SETS:
        yield data_set, "exact", [name_of(data_set), loss.upper()]
        for method, prefix in METHODS.items():
            yield data_set, method, [name_of(data_set), f"{prefix}{loss.upper()}"]


def _variants(
    cells: Cells, data_set: str, rest: str, key: str, text: Callable[[float], str]
) -> list[str]:
    variants = ("root", "early", "printed")
    return [_mean(cells, data_set, f"{rest}/{variant}", key, text) for variant in variants]


def _mean(cells: Cells, data_set: str, rest: str, key: str, text: Callable[[float], str]) -> str:
    return figure(of_splits(cells, data_set, rest), key, text, sodm_tables.SPLITS)


def of_splits(cells: Cells, data_set: str, rest: str) -> list[dict[str, Any]]:
    """Collect what was measured of a method, a cell for each split."""
    names = (f"{data_set}/{number}/{rest}" for number in range(sodm_tables.SPLITS))
    return [cells[name] for name in names if name in cells]
