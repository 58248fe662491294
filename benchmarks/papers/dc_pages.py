"""[DC] Tables 1, 2 and 6 with ours beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import published
from .figures import NONE, Cells, Rows, figure, name_of, percent, seconds

# Row of our Table 2: what is printed for it, where our cell is.
METHODS = {
    "DC-SVM (early)": ("early", "clusters/64"),
    "DC-SVM": ("full", "clusters/1"),
    "DC-SVM, as printed": ("full", "printed"),
    "exact, at once": (None, "exact"),
    "LIBSVM (SVC)": ("libsvm", "svc/49990"),
    "LIBSVM (SVC), a fifth": ("libsvm_fifth", "svc/9998"),
    "LIBSVM (SVC), 20,000 rows": (None, "svc/20000"),
}
RULES = {"naive_sum": "sum (5)", "committee": "committee", "early": "early (6)"}


def tables(cells: Cells) -> Iterator[tuple[str, list[str], Rows]]:
    """Give every table as file name, columns and rows."""
    columns = ["Data set", "Method", "Published", "Ours", "Published s", "Our s", "Predict s"]
    yield "dc_table_2", columns, _table_2(cells)
    columns = ["Clusters", "Prediction", "Published", "Ours", "Published ms", "Our ms"]
    yield "dc_table_1", columns, _table_1(cells)
    columns = ["Data set", "Parts", "Early, published", "Early", "Bagging, published", "Bagging"]
    yield "dc_table_6", columns, _table_6(cells)


def _table_2(cells: Cells) -> Rows:
    for data_set, printed in published.DC_TABLE_2.items():
        for method, (theirs, ours) in METHODS.items():
            accuracy, spent = (None, None) if theirs is None else printed[theirs]
            measured = _some(cells, f"{data_set}/{ours}")
            if not measured and (theirs is None or ours == "printed"):
                continue  # nothing on either side
            yield [
                name_of(data_set),
                method,
                percent(accuracy),
                figure(measured, "accuracy", percent, 1),
                seconds(spent),
                figure(measured, "fit_seconds", seconds, 1),
                figure(measured, "predict_seconds", seconds, 1),
            ]


def _table_1(cells: Cells) -> Rows:
    for clusters, printed in published.DC_TABLE_1.items():
        cell = cells.get(f"covtype_binary/combined/{clusters}")
        for rule, (accuracy, milliseconds) in printed.items():
            ours, each = NONE, NONE
            if cell is not None:
                score = cell["rules"][rule]
                ours = percent(score["accuracy"])
                each = f"{1000 * score['predict_seconds'] / score['test_rows']:.2g}"
            start = [str(clusters), RULES[rule], percent(accuracy)]
            yield [*start, ours, f"{milliseconds:g}", each]


def _table_6(cells: Cells) -> Rows:
    for data_set, printed in published.DC_TABLE_6.items():
        for parts, theirs in printed.items():
            row = [name_of(data_set), str(parts)]
            for column, ours in (("early", "clusters"), ("bagging", "bagging")):
                measured = _some(cells, f"{data_set}/{ours}/{parts}")
                row += [percent(theirs[column]), figure(measured, "accuracy", percent, 1)]
            yield row


def _some(cells: Cells, name: str) -> list[dict[str, Any]]:
    return [cells[name]] if name in cells else []
