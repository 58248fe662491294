"""The preprocessor of tables, as operators of a graph.

A graph cannot read what is written in cells: numbers and truth values are inputs as numbers (0 and
1), dates as days since 1970 in float64, categories as text without spaces around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tables import TablePreprocessor
from ..tables.cleaning import MISSING_LEVEL
from ..tables.dates import PERIODS
from .columns import DAY, NUMBER, TEXT, Columns, GraphTable, joined
from .encoding import encode
from .graph import Graph
from .scaling import impute, missing_columns, standardise

KINDS = {"number": NUMBER, "boolean": NUMBER, "date": DAY, "category": TEXT, "dropped": None}


def kinds_of_plans(step: TablePreprocessor) -> list[str | None]:
    """Say of every column whether it holds numbers, days, text, or is not used."""
    if step.sparse_input_:
        return [NUMBER] * step.n_features_in_
    return [KINDS[plan["role"]] for plan in step.columns_.values()]


def preprocess_table(graph: Graph, step: TablePreprocessor, table: GraphTable) -> Columns:
    """Clean columns by their plans, and apply imputer, scaler, indicator and encoder."""
    if step.sparse_input_:
        return _sparse(graph, step, table.whole())
    numbers, categories = [], []
    for i, plan in enumerate(step.columns_.values()):
        if plan["role"] == "dropped":
            continue
        column = table.select([i])
        if plan["role"] == "category":
            categories.append(_marked(graph, step, column))
        elif plan["role"] == "date":
            numbers += [_date_part(graph, column, part) for part in plan["parts"]]
        else:
            numbers.append(_number(graph, column, plan))
    blocks = []
    if numbers:
        matrix = joined(graph, numbers)
        blocks.append(standardise(graph, step.scaler_, impute(graph, step.imputer_, matrix)))
        if step.indicator_ is not None and len(step.indicator_.features_):
            blocks.append(missing_columns(graph, matrix, step.indicator_.features_))
    if categories:
        blocks.append(encode(graph, step.encoder_, joined(graph, categories)))
    return joined(graph, blocks)


def _number(graph: Graph, column: Columns, plan: dict[str, Any]) -> Columns:
    value = column.name
    if plan["role"] == "number":
        infinite = graph.op("IsInf", value)
        value = graph.op("Where", infinite, graph.constant(np.array(np.nan)), value)
    if plan.get("unit") is not None:
        size = graph.op("Div", graph.op("Abs", value), graph.constant(np.array(plan["unit"])))
        squeezed = graph.op("Log", graph.op("Add", size, graph.constant(np.array(1.0))))
        value = graph.op("Mul", graph.op("Sign", value), squeezed)
    return Columns(value, 1)


def _date_part(graph: Graph, column: Columns, part: str) -> Columns:
    if part == "day":
        return column
    cycle, function = part.split("_")
    # Hours move within a day; year and week are those of the day as a whole.
    within = column.name if cycle == "hour" else graph.op("Floor", column.name)
    turns = graph.op("Div", within, graph.constant(np.array(PERIODS[cycle])))
    angle = graph.op("Mul", turns, graph.constant(np.array(2.0 * np.pi)))
    return Columns(graph.op("Sin" if function == "sin" else "Cos", angle), 1)


def _marked(graph: Graph, step: TablePreprocessor, column: Columns) -> Columns:
    """Replace texts that stand for a missing value by the level of missing ones."""
    marks = [form for mark in step.missing_marks for form in (mark, mark.lower(), mark.upper())]
    written = np.array(sorted({"", *marks}), dtype=object)[None, :]
    equal = graph.cast(graph.op("Equal", column.name, graph.constant(written)), np.float64)
    count = graph.op("ReduceMax", equal, graph.constant(np.array([1])), keepdims=1)
    missing = graph.op("Greater", count, graph.constant(np.array(0.0)))
    level = graph.constant(np.array(MISSING_LEVEL, dtype=object))
    return Columns(graph.op("Where", missing, level, column.name), 1, text=True)


def _sparse(graph: Graph, step: TablePreprocessor, x: Columns) -> Columns:
    """Put zeros for what is missing or infinite, and divide by the largest values."""
    odd = graph.op("Or", graph.op("IsNaN", x.name), graph.op("IsInf", x.name))
    value = graph.op("Where", odd, graph.constant(np.array(0.0)), x.name)
    if step.scaler_ is not None:
        value = graph.op("Div", value, graph.constant(step.scaler_.scale_))
    return Columns(value, x.width)
