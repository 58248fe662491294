"""One-hot encoding as operators of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from .columns import Columns, joined
from .graph import Graph


def is_text_category(values: NDArray[Any]) -> bool:
    """Whether the categories of a column are texts, some of them possibly missing."""
    return values.dtype.kind == "U" or any(isinstance(value, str) for value in values)


def encode(graph: Graph, step: Any, x: Columns) -> Columns:
    """Compare every column with its categories."""
    blocks = []
    infrequent = getattr(step, "infrequent_categories_", [None] * x.width)
    for j, categories in enumerate(step.categories_):
        column = graph.columns(x.name, [j]) if x.width > 1 else x.name
        dropped = None if step.drop_idx_ is None else step.drop_idx_[j]
        places, unknown = _places(step, categories, infrequent[j], dropped)
        if places.shape[1] == 0:
            continue
        matches = graph.cast(_matches(graph, column, categories, x.text), np.float64)
        value = graph.op("MatMul", matches, graph.constant(places))
        if unknown is not None:
            some = graph.op("ReduceMax", matches, graph.constant(np.array([1])), keepdims=1)
            none = graph.op("Sub", graph.constant(np.array(1.0)), some)
            value = graph.op("Add", value, graph.op("Mul", none, graph.constant(unknown)))
        blocks.append(Columns(value, places.shape[1]))
    if not blocks:
        return Columns(x.name, 0)
    return joined(graph, blocks)


def _matches(graph: Graph, column: str, categories: NDArray[Any], text: bool) -> str:
    """Compare one column with all categories, as (rows, categories); True where equal."""
    if text:
        names = np.array([_written(value) for value in categories], dtype=object)
        if len(set(names)) < len(names):
            raise ValueError(
                "The empty text and a missing value cannot both be categories of an exported "
                "encoder: ONNX has no missing text. Replace one of them before the fit."
            )
        return graph.op("Equal", column, graph.constant(names[None, :]))
    numbers = np.asarray(categories, dtype=np.float64)[None, :]
    equal = graph.op("Equal", column, graph.constant(numbers))
    if not np.isnan(numbers).any():
        return equal
    missing = graph.op("And", graph.op("IsNaN", column), graph.constant(np.isnan(numbers)))
    return graph.op("Or", equal, missing)


def _written(value: Any) -> str:
    """Return a category as text; the empty one stands for a missing value."""
    return value if isinstance(value, str) else ""


def _places(
    step: Any, categories: NDArray[Any], infrequent: Any, dropped: Any
) -> tuple[Array, Array | None]:
    """Return where each category goes, (categories, outputs), and where unknown ones go."""
    n = len(categories)
    joint = np.zeros(n, dtype=bool)
    if infrequent is not None:
        joint = np.array([_among(value, infrequent) for value in categories], dtype=bool)
    frequent = np.flatnonzero(~joint)
    places = np.zeros((n, len(frequent) + bool(joint.any())))
    places[frequent, np.arange(len(frequent))] = 1.0
    places[joint, -1] = 1.0
    unknown = None
    if joint.any() and step.handle_unknown in ("infrequent_if_exist", "warn"):
        unknown = np.zeros((1, places.shape[1]))
        unknown[0, -1] = 1.0
    if dropped is not None:
        kept = places[int(dropped)] == 0.0
        places = places[:, kept]
        unknown = None if unknown is None else unknown[:, kept]
    return places, unknown


def _among(value: Any, marks: Any) -> bool:
    if isinstance(value, float) and np.isnan(value):
        return any(isinstance(mark, float) and np.isnan(mark) for mark in marks)
    return any(mark is value or mark == value for mark in marks)
