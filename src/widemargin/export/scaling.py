"""Scalers and imputers of scikit-learn, and single precision, as operators of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from .columns import Columns, joined
from .graph import Graph


def standardise(graph: Graph, step: Any, x: Columns) -> Columns:
    """Shift by the mean and divide by the deviation."""
    value = _shifted(graph, x.name, step.mean_ if step.with_mean else None)
    return Columns(_divided(graph, value, step.scale_), x.width)


def to_range(graph: Graph, step: Any, x: Columns) -> Columns:
    """Scale to a range."""
    value = graph.op("Mul", x.name, graph.constant(step.scale_))
    value = graph.op("Add", value, graph.constant(step.min_))
    if step.clip:
        value = _clipped(graph, value, *step.feature_range)
    return Columns(value, x.width)


def by_largest(graph: Graph, step: Any, x: Columns) -> Columns:
    """Divide by the largest sizes."""
    value = _divided(graph, x.name, step.scale_)
    if getattr(step, "clip", False):
        value = _clipped(graph, value, -1.0, 1.0)
    return Columns(value, x.width)


@dataclass(frozen=True)
class SingleFeatures:
    """What AutoClassifier does to features: rounds them to float32, and weights them."""

    weights: Array | None


def in_single(graph: Graph, step: SingleFeatures, x: Columns) -> Columns:
    """Round to float32 and multiply with weights in float32, so that vectors are met exactly."""
    value = graph.cast(x.name, np.float32)
    if step.weights is not None:
        value = graph.op("Mul", value, graph.constant(step.weights.astype(np.float32)))
    return Columns(graph.cast(value, np.float64), x.width)


def by_quantiles(graph: Graph, step: Any, x: Columns) -> Columns:
    """Shift by the median and divide by a range of quantiles."""
    value = _shifted(graph, x.name, step.center_ if step.with_centering else None)
    return Columns(_divided(graph, value, step.scale_ if step.with_scaling else None), x.width)


def impute(graph: Graph, step: Any, x: Columns) -> Columns:
    """Fill in what is missing."""
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


def missing_columns(graph: Graph, x: Columns, features: NDArray[Any]) -> Columns:
    """Return 1 where some of the columns are NaN, else 0."""
    found = graph.columns(graph.op("IsNaN", x.name), features)
    return Columns(graph.cast(found, np.float64), len(features))


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
