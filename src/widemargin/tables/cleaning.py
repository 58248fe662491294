"""Carry plans out: columns become numbers, with NaN for what is missing, or texts of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import Column
from .dates import ISO, date_features, days_of_times, parse_days
from .levels import Levels, find_levels
from .number_text import parse_numbers
from .plans import Plan

#: The level of rows whose category is missing.
MISSING_LEVEL = "missing"
#: Texts that a message about a column quotes.
QUOTED = 5


@dataclass
class Cleaned:
    """The columns that stay, and what was found in them that fit had not seen."""

    n_rows: int
    numbers: list[NDArray[np.float64]] = field(default_factory=list)
    categories: list[NDArray[np.object_]] = field(default_factory=list)
    levels: dict[str, Levels] = field(default_factory=dict)
    strays: dict[str, dict[str, int]] = field(default_factory=dict)

    @cached_property
    def number_matrix(self) -> NDArray[np.float64]:
        """Return the numbers as a matrix, one column each."""
        matrix = np.empty((self.n_rows, len(self.numbers)), dtype=np.float64)
        for i, column in enumerate(self.numbers):
            matrix[:, i] = column
        return matrix

    @cached_property
    def category_matrix(self) -> NDArray[np.object_]:
        """Return the categories as a matrix of texts, one column each."""
        matrix = np.empty((self.n_rows, len(self.categories)), dtype=object)
        for i, column in enumerate(self.categories):
            matrix[:, i] = column
        return matrix


def clean(columns: Sequence[Column], plans: dict[str, Plan], marks: frozenset[str]) -> Cleaned:
    """Turn columns into what their plans say."""
    cleaned = Cleaned(len(columns[0].values))
    for column in columns:
        plan = plans[column.name]
        if plan["role"] == "category":
            levels = find_levels(column, marks)
            cleaned.levels[column.name] = levels
            texts = np.array(levels.texts, dtype=object)
            cleaned.categories.append(levels.spread(texts, MISSING_LEVEL))
        elif plan["role"] == "date":
            cleaned.numbers += date_features(_days(column, plan, marks, cleaned), plan["parts"])
        elif plan["role"] == "boolean":
            cleaned.numbers.append(_truth(column, plan, marks, cleaned))
        elif plan["role"] == "number":
            cleaned.numbers.append(_numbers(column, plan, marks, cleaned))
    return cleaned


def number_names(name: str, plan: Plan) -> list[str]:
    """Return the names of the numbers that a column becomes."""
    if plan["role"] == "date":
        return [name if part == "day" else f"{name}_{part}" for part in plan["parts"]]
    return [name] if plan["role"] in ("number", "boolean") else []


def _numbers(
    column: Column, plan: Plan, marks: frozenset[str], cleaned: Cleaned
) -> NDArray[np.float64]:
    if column.values.dtype.kind in "fiub":
        values = column.values.astype(np.float64)
    else:
        levels = find_levels(column, marks)
        numbers = parse_numbers(levels.texts, plan["style"])
        _keep_strays(column.name, levels, numbers, plan, cleaned)
        values = levels.spread(numbers, np.nan)
    values[np.isinf(values)] = np.nan
    unit = plan.get("unit")
    return values if unit is None else np.sign(values) * np.log1p(np.abs(values) / unit)


def _truth(
    column: Column, plan: Plan, marks: frozenset[str], cleaned: Cleaned
) -> NDArray[np.float64]:
    if column.values.dtype.kind in "fiub":
        return column.values.astype(np.float64)
    levels = find_levels(column, marks)
    meaning = {plan["false"]: 0.0, plan["true"]: 1.0, "0": 0.0, "1": 1.0}
    values = np.array([meaning.get(text.lower(), np.nan) for text in levels.texts], dtype=float)
    _keep_strays(column.name, levels, values, plan, cleaned)
    return levels.spread(values, np.nan)


def _days(
    column: Column, plan: Plan, marks: frozenset[str], cleaned: Cleaned
) -> NDArray[np.float64]:
    if column.values.dtype.kind == "M":
        return days_of_times(column.values)
    levels = find_levels(column, marks)
    days = parse_days(levels.texts, plan["form"])
    if plan["form"] != ISO and np.isnan(days).any():
        # A second file may come from a program that writes dates by the standard.
        days = np.where(np.isnan(days), parse_days(levels.texts, ISO), days)
    _keep_strays(column.name, levels, days, plan, cleaned)
    return levels.spread(days, np.nan)


def _keep_strays(
    name: str, levels: Levels, values: NDArray[Any], plan: Plan, cleaned: Cleaned
) -> None:
    """Keep texts that could not be read and were not known from fit, with their rows."""
    unread = np.flatnonzero(np.isnan(values))
    counts = levels.counts if unread.size else np.zeros(0, dtype=np.int64)
    strays = {
        levels.texts[i]: int(counts[i])
        for i in unread
        if levels.texts[i] not in plan.get("strays", [])
    }
    if strays:
        cleaned.strays[name] = strays
