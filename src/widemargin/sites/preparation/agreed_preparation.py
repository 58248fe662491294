"""The preparation that follows from what the sites have concluded in all stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..studies.schema import Schema
from .column_statistics import Agreed, ColumnStatistics, rounded
from .preparation import Preparation

__all__ = ["agreed_preparation", "declared_preparation", "filled"]

#: The largest typical size of a feature, in units of the median one, that needs no scaling.
COMPARABLE = 10.0


def agreed_preparation(statistics: ColumnStatistics, agreed: Agreed) -> Preparation:
    """Return the preparation when all stages are concluded."""
    schema, first = statistics.schema, agreed["sums"]
    if schema.n_features:
        return _of_rows(statistics, first)
    numbers = [_number(statistics, k, agreed) for k in range(len(statistics.ranges))]
    centre, scale, fill, missing = zip(*numbers, strict=True) if numbers else ((), (), (), ())
    if schema.scale == "none":
        centre, scale = (0.0,) * len(numbers), (1.0,) * len(numbers)
    levels, rare = _categories(statistics, agreed)
    square = None if schema.declared else _row_square(statistics, agreed, missing, len(levels))
    return Preparation(schema, first["rows"], centre, scale, fill, missing, levels, rare, square)


def declared_preparation(schema: Schema, total_rows: int) -> Preparation:
    """Return the preparation that follows from a declared schema: sites need not agree on it."""
    if not schema.declared:
        raise ValueError("all columns must be declared.")
    of_columns: dict[str, Any] = {"rows": total_rows, "present": [], "mean": [], "names": {}}
    of_rows: dict[str, Any] = {"rows": total_rows, "square": None, "typical": [], "share": []}
    sums = of_rows if schema.n_features else of_columns
    return agreed_preparation(ColumnStatistics(schema), {"sums": sums})


def _number(
    statistics: ColumnStatistics, k: int, agreed: Agreed
) -> tuple[float, float, float, int]:
    """Return centre, scale, replacement and missing values of a number."""
    limits = statistics.ranges[k]
    if limits is not None:
        middle = (limits[0] + limits[1]) / 2.0
        return middle, (limits[1] - limits[0]) / 2.0, middle, 0
    place, rows = statistics.told.index(k), agreed["sums"]["rows"]
    present, mean = agreed["sums"]["present"][place], agreed["sums"]["mean"][place]
    spread, fill = agreed["squares"]["deviation"][place], mean
    gappy = [each for each, _, _ in statistics.gappy(agreed)]
    if k in gappy:
        fill = agreed["sketch"]["median"][gappy.index(k)]
    missing = max(0, rows - present)
    return (*filled(present, missing, mean, spread, fill), fill, missing)


def _categories(
    statistics: ColumnStatistics, agreed: Agreed
) -> tuple[tuple[tuple[str, ...], ...], tuple[bool, ...]]:
    levels, rare = [], []
    for column in statistics.schema.columns:
        if column.kind != "category":
            continue
        if column.levels is not None:
            levels.append(column.levels)
            rare.append(False)
        else:
            place = statistics.categories.index(column.name)
            levels.append(tuple(agreed["squares"]["levels"][place]))
            rare.append(agreed["squares"]["rare"][place])
    return tuple(levels), tuple(rare)


def _row_square(
    statistics: ColumnStatistics, agreed: Agreed, missing: Any, n_categories: int
) -> float:
    """Return the mean squared length of a row: it sets the pace of training only."""
    first, second = agreed["sums"], agreed["squares"]
    squares = np.sign(second["deviation"])
    if statistics.schema.scale == "none":
        squares = np.square(first["mean"]) + np.square(second["deviation"])
    # Values spread evenly over a declared range have a mean square of a third.
    declared = (len(statistics.ranges) - len(statistics.told)) / 3.0
    marks = sum(missing) / first["rows"]
    return rounded(float(np.sum(squares)) + declared + marks + n_categories)


def _of_rows(statistics: ColumnStatistics, first: dict[str, Any]) -> Preparation:
    schema, rows, typical = statistics.schema, first["rows"], np.array(first["typical"])
    used = typical[typical > 0.0]
    if not used.size or used.max() <= COMPARABLE * np.median(used):
        return Preparation(schema, rows, row_square=first["square"])
    scale = np.where(typical > 0.0, typical, 1.0)
    share = np.array(first["share"])[typical > 0.0]
    return Preparation(
        schema, rows, scale=tuple(scale.tolist()), row_square=rounded(float(share.sum()))
    )


def filled(
    present: int, missing: int, mean: float, spread: float, fill: float
) -> tuple[float, float]:
    """Return mean and deviation of a column whose missing values are replaced; never 0."""
    rows = max(1, present + max(0, missing))
    whole = (present * mean + (rows - present) * fill) / rows
    square = present * (spread**2 + (mean - whole) ** 2) + (rows - present) * (fill - whole) ** 2
    return rounded(whole), rounded(float(np.sqrt(square / rows))) or 1.0
