"""What a site would contribute to a study, said before it takes part."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ...data import DataFileError
from ...tables.levels import Levels
from ...tables.notes import counted, listed
from ..studies.schema import Schema
from .column_statistics import ColumnStatistics
from .feature_sizes import sizes_advice
from .preparation import Preparation
from .site_table import SiteTable, read_table

__all__ = ["table_report"]

#: Deviations from the agreed mean beyond which a value is far, and the mean of a column.
FAR, SHIFTED = 8.0, 3.0


def table_report(
    path: str | PathLike[str],
    schema: Schema,
    *,
    preparation: Preparation | None = None,
    min_rows: int = 0,
    private: bool = False,
    format: str | None = None,
    label: str | int | None = None,
    zero_based: bool | None = None,
) -> dict[str, Any]:
    """Return what a file would contribute, as JSON values.

    Parameters
    ----------
    path : path-like
        The file of the site.
    schema : Schema
        The columns and classes of the study.
    preparation : Preparation, default=None
        What the sites have agreed on, if they have: values far from it are reported.
    min_rows : int, default=0
        Rows that a site needs to take part.
    private : bool, default=False
        Whether the study has differential privacy, so that nothing is told before training.
    format, label, zero_based
        As for `read_table`.

    Returns
    -------
    dict
        ``problems`` keep the site from taking part; ``warnings`` do not.
    """
    report: dict[str, Any] = {"file": str(path), "problems": [], "warnings": []}
    try:
        table = read_table(path, schema, format=format, label=label, zero_based=zero_based)
    except DataFileError as error:
        where = "" if error.line is None else f"line {error.line}: "
        return report | {"problems": [where + error.problem]}
    report |= {
        "rows": table.n_rows,
        "classes": {str(name): count for name, count in table.class_counts.items()},
        "n_columns": len(schema.columns) or schema.n_features,
    }
    if table.n_rows < min_rows:
        report["problems"].append(
            f"a site needs at least {min_rows:,} rows to take part, by --min-rows of `widemargin "
            f"study create`; this one has {table.n_rows:,}."
        )
    absent = [name for name, count in table.class_counts.items() if not count]
    if absent:
        report["warnings"].append(f"no rows of the classes {listed(absent)}")
    report["warnings"] += table.notes
    if table.cleaned is None:
        _report_rows(report, table, preparation)
    else:
        _report_numbers(report, table, preparation)
        _report_categories(report, table, preparation)
    report["told"] = ["nothing before training"] if private else _told(table)
    return report


def _report_rows(report: dict[str, Any], table: SiteTable, agreed: Preparation | None) -> None:
    if agreed is None and table.schema.scale == "none":
        advice = sizes_advice(table.X, None)
        if advice is not None:
            report["warnings"].append(f"features of very different sizes: {advice['columns']}")


def _report_numbers(report: dict[str, Any], table: SiteTable, agreed: Preparation | None) -> None:
    assert table.cleaned is not None
    numbers = table.cleaned.number_matrix
    ranges = ColumnStatistics(table.schema).ranges
    found: dict[str, Any] = {}
    for k, name in enumerate(table.number_names):
        values = numbers[~np.isnan(numbers[:, k]), k]
        entry: dict[str, Any] = {"missing": len(numbers) - len(values)}
        found[name] = entry
        if not values.size:
            report["warnings"].append(f"column {name!r} has no values")
            continue
        entry |= {"least": values.min(), "mean": values.mean(), "largest": values.max()}
        limits = ranges[k]
        if limits is not None:
            outside = int(np.count_nonzero((values < limits[0]) | (values > limits[1])))
            if outside:
                report["warnings"].append(
                    f"{outside:,} values of {name!r} are outside of the declared range, "
                    f"{limits[0]:g} to {limits[1]:g}"
                )
        elif agreed is not None and table.schema.scale != "none":
            apart = (values - agreed.centre[k]) / agreed.scale[k]
            if far := int(np.count_nonzero(np.abs(apart) > FAR)):
                report["warnings"].append(
                    f"{far:,} values of {name!r} are more than {FAR:g} deviations from the mean of "
                    f"all sites, {agreed.centre[k]:.4g}: are they in the same unit?"
                )
            elif abs(apart.mean()) > SHIFTED:
                report["warnings"].append(
                    f"the mean of {name!r}, {values.mean():.4g}, is {abs(apart.mean()):.1f} "
                    f"deviations from that of all sites, {agreed.centre[k]:.4g}: is it in the same "
                    "unit?"
                )
    report["numbers"] = found


def _report_categories(
    report: dict[str, Any], table: SiteTable, agreed: Preparation | None
) -> None:
    assert table.cleaned is not None
    kept = agreed.levels if agreed is not None else None
    columns = [column for column in table.schema.columns if column.kind == "category"]
    found = {}
    for k, column in enumerate(columns):
        levels: Levels = table.cleaned.levels[column.name]
        counts = dict(zip(levels.texts, levels.counts.tolist(), strict=True))
        rare = sum(count < table.schema.min_count for count in counts.values())
        known = column.levels if column.levels is not None else kept and kept[k]
        found[column.name] = {"levels": len(counts), "rare": rare, "missing": levels.n_missing}
        unknown = {} if known is None else {t: n for t, n in counts.items() if t not in known}
        if unknown:
            report["warnings"].append(
                f"categories of {column.name!r} that the study does not have count as rare: "
                f"{counted(unknown)}"
            )
    report["categories"] = found


def _told(table: SiteTable) -> list[str]:
    """Say what would leave the site before training."""
    statistics = ColumnStatistics(table.schema)
    told = ["the number of rows"]
    if table.schema.n_features and not table.schema.declared:
        told.append("sums of squares of the features, and how many rows use each")
    if statistics.told:
        names = [table.number_names[k] for k in statistics.told]
        told.append(f"counts, sums and squares, masked, of {listed(names)}")
    if statistics.categories:
        told.append(
            f"names of levels that at least {table.schema.min_count:,} rows have, and their rows, "
            f"masked, of {listed(statistics.categories)}"
        )
    return told
