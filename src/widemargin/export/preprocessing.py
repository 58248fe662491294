"""Fitted preprocessing steps of scikit-learn, as operators of a graph.

A step is known by its class alone: a class derived from it may do anything. Results are those of
the steps' ``transform`` in float64, but for an encoder that raises an error at an unknown category:
a graph cannot, and encodes it by zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
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

from .columns import NUMBER, TEXT, Columns, Table, joined
from .encoding import encode, is_text_category
from .graph import Graph

Step = Callable[[Graph, Any, Columns], Columns]


def preprocess(graph: Graph, step: Any, table: Table) -> Table:
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
            selected = Table(graph, [table.select(numbers)])
            blocks.append(preprocess(graph, each, selected).whole())
        return Table(graph, [joined(graph, [block for block in blocks if block.width])])
    return Table(graph, [_writer(step)(graph, step, table.whole())])


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


def _standardise(graph: Graph, step: Any, x: Columns) -> Columns:
    value = _shifted(graph, x.name, step.mean_ if step.with_mean else None)
    return Columns(_divided(graph, value, step.scale_), x.width)


def _to_range(graph: Graph, step: Any, x: Columns) -> Columns:
    value = graph.op("Mul", x.name, graph.constant(step.scale_))
    value = graph.op("Add", value, graph.constant(step.min_))
    if step.clip:
        value = _clipped(graph, value, *step.feature_range)
    return Columns(value, x.width)


def _by_largest(graph: Graph, step: Any, x: Columns) -> Columns:
    value = _divided(graph, x.name, step.scale_)
    if getattr(step, "clip", False):
        value = _clipped(graph, value, -1.0, 1.0)
    return Columns(value, x.width)


def _by_quantiles(graph: Graph, step: Any, x: Columns) -> Columns:
    value = _shifted(graph, x.name, step.center_ if step.with_centering else None)
    return Columns(_divided(graph, value, step.scale_ if step.with_scaling else None), x.width)


def _impute(graph: Graph, step: Any, x: Columns) -> Columns:
    missing = _missing(graph, step.missing_values, x)
    fill = np.asarray(step.statistics_)
    kept = np.array([not _is_nan(value) for value in fill], dtype=bool)
    if x.text:
        filling = graph.constant(np.array([str(value) for value in fill], dtype=object)[None, :])
    else:
        filling = graph.constant(np.asarray(fill, dtype=np.float64)[None, :])
    filled = graph.op("Where", missing, filling, x.name)
    if not kept.all():  # columns without any value in the training set are left out
        filled = graph.columns(filled, np.flatnonzero(kept))
    result = Columns(filled, int(kept.sum()), x.text)
    if not step.add_indicator:
        return result
    features = step.indicator_.features_
    shown = graph.cast(graph.columns(missing, features), np.float64)
    return joined(graph, [result, Columns(shown, len(features))])


def _missing(graph: Graph, mark: Any, x: Columns) -> str:
    """Find missing values: those equal to the mark, NaN or the empty text."""
    if x.text:
        wanted = mark if isinstance(mark, str) else ""
        return graph.op("Equal", x.name, graph.constant(np.array(wanted, dtype=object)))
    if mark is None or _is_nan(mark):
        return graph.op("IsNaN", x.name)
    return graph.op("Equal", x.name, graph.constant(np.array(float(mark))))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _shifted(graph: Graph, value: str, by: NDArray[Any] | None) -> str:
    return value if by is None else graph.op("Sub", value, graph.constant(by))


def _divided(graph: Graph, value: str, by: NDArray[Any] | None) -> str:
    return value if by is None else graph.op("Div", value, graph.constant(by))


def _clipped(graph: Graph, value: str, low: float, high: float) -> str:
    bounds = (graph.constant(np.array(float(bound))) for bound in (low, high))
    return graph.op("Clip", value, *bounds)


STEPS: dict[type[Any], Step] = {
    StandardScaler: _standardise,
    MinMaxScaler: _to_range,
    MaxAbsScaler: _by_largest,
    RobustScaler: _by_quantiles,
    SimpleImputer: _impute,
    OneHotEncoder: encode,
}


def _writer(step: Any) -> Step:
    writer = STEPS.get(type(step))
    if writer is None:
        known = sorted({*(each.__name__ for each in STEPS), "ColumnTransformer", "Pipeline"})
        raise ValueError(
            f"A step of class {type(step).__name__} cannot be exported; those that can are "
            f"{', '.join(known)}. Apply it before the exported model, or replace it."
        )
    return writer
