"""Fitted preprocessing steps of scikit-learn and of this library, as operators of a graph.

A step is known by its class alone: a class derived from it may do anything. Results are those of
the steps' ``transform`` in float64, but for an encoder that raises an error at an unknown category:
a graph cannot, and encodes it by zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from ..estimators.random_features import RandomFeatures
from ..tables import TablePreprocessor
from .columns import NUMBER, TEXT, Columns, GraphTable, joined
from .encoding import encode, is_text_category
from .graph import Graph
from .random_features import map_to_features
from .scaling import (
    SingleFeatures,
    by_largest,
    by_quantiles,
    impute,
    in_single,
    standardise,
    to_range,
)
from .tables import kinds_of_plans, preprocess_table

Step = Callable[[Graph, Any, Columns], Columns]


def preprocess(graph: Graph, step: Any, table: GraphTable) -> GraphTable:
    """Apply a step to the columns of a table."""
    if is_identity(step):
        return table
    if type(step) is Pipeline:
        for _, each in step.steps:
            table = preprocess(graph, each, table)
        return table
    if type(step) is ColumnTransformer:
        blocks = []
        for each, numbers in _parts(step):
            selected = GraphTable(graph, [table.select(numbers)])
            blocks.append(preprocess(graph, each, selected).whole())
        return GraphTable(graph, [joined(graph, [block for block in blocks if block.width])])
    if type(step) is TablePreprocessor:
        return GraphTable(graph, [preprocess_table(graph, step, table)])
    if type(step) is SingleFeatures:
        return GraphTable(graph, [in_single(graph, step, table.whole())])
    return GraphTable(graph, [_writer(step)(graph, step, table.whole())])


def column_kinds(step: Any, n_columns: int) -> list[str | None]:
    """Say of every column that a step takes whether it holds numbers, text, or is not used."""
    if type(step) is Pipeline:
        effective = [each for _, each in step.steps if not is_identity(each)]
        return column_kinds(effective[0], n_columns) if effective else [NUMBER] * n_columns
    if type(step) is ColumnTransformer:
        kinds: list[str | None] = [None] * n_columns
        for each, numbers in _parts(step):
            for number, kind in zip(numbers, column_kinds(each, len(numbers)), strict=True):
                if kinds[number] not in (None, kind):
                    name = _name_of(step, number)
                    raise ValueError(
                        f"Column {name} cannot be exported: one step takes it as text, another as "
                        "numbers. An input of an ONNX graph has one type."
                    )
                kinds[number] = kind
        return kinds
    if type(step) is TablePreprocessor:
        return kinds_of_plans(step)
    if type(step) is OneHotEncoder:
        return [TEXT if is_text_category(values) else NUMBER for values in step.categories_]
    if type(step) is SimpleImputer and any(isinstance(v, str) for v in step.statistics_):
        return [TEXT] * n_columns
    return [NUMBER] * n_columns


def _parts(step: Any) -> list[tuple[Any, list[int]]]:
    """Return the steps of a ColumnTransformer that have columns, with the numbers of these."""
    parts = [(each, _column_numbers(step, chosen)) for _, each, chosen in step.transformers_]
    return [
        (each, numbers)
        for each, numbers in parts
        if numbers and not (isinstance(each, str) and each == "drop")
    ]


def _column_numbers(step: Any, chosen: Any) -> list[int]:
    everything = np.arange(step.n_features_in_)
    if isinstance(chosen, slice) and isinstance(chosen.start or chosen.stop, str):
        names = list(step.feature_names_in_)
        start = None if chosen.start is None else names.index(chosen.start)
        stop = None if chosen.stop is None else names.index(chosen.stop) + 1  # inclusive, as pandas
        chosen = slice(start, stop, chosen.step)
    if isinstance(chosen, slice):
        return [int(number) for number in everything[chosen]]
    chosen = [chosen] if isinstance(chosen, str | int | np.integer) else list(chosen)
    if chosen and isinstance(chosen[0], str):
        names = list(step.feature_names_in_)
        return [names.index(name) for name in chosen]
    return [int(number) for number in everything[np.asarray(chosen, dtype=_index_type(chosen))]]


def _index_type(chosen: list[Any]) -> Any:
    return np.bool_ if chosen and isinstance(chosen[0], bool | np.bool_) else np.int64


def _name_of(step: Any, number: int) -> str:
    names = getattr(step, "feature_names_in_", None)
    return str(number) if names is None else repr(str(names[number]))


def is_identity(step: Any) -> bool:
    """Whether a step changes nothing."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    return type(step) is FunctionTransformer and step.func is None


STEPS: dict[type[Any], Step] = {
    StandardScaler: standardise,
    MinMaxScaler: to_range,
    MaxAbsScaler: by_largest,
    RobustScaler: by_quantiles,
    SimpleImputer: impute,
    OneHotEncoder: encode,
    RandomFeatures: map_to_features,
}


# Steps that take a table apart themselves.
CONTAINERS = (ColumnTransformer, Pipeline, TablePreprocessor)


def _writer(step: Any) -> Step:
    writer = STEPS.get(type(step))
    if writer is None:
        known = sorted({each.__name__ for each in (*STEPS, *CONTAINERS)})
        raise ValueError(
            f"A step of class {type(step).__name__} cannot be exported; those that can are "
            f"{', '.join(known)}. Apply it before the exported model, or replace it."
        )
    return writer
