"""Probabilities of the classes, as operators of a graph.

The formulas are those of ``core/calibrators.py`` and ``core/class_probabilities.py``. The last
step, which makes the predicted class the most probable one, works in the precision of the output:
rounding after it could undo it.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ..core.class_probabilities import LEAST_OF_PAIR
from .graph import Graph


def class_probabilities(
    graph: Graph, calibration: dict[str, Any], decisions: str, n_classes: int
) -> str:
    """Return probabilities in float64, before they are made to agree with the prediction.

    ``decisions`` has a column per binary problem.
    """
    scheme = calibration["scheme"]
    if scheme == "margins":
        decisions = _leads(graph, decisions, n_classes)
    found = _calibrated(graph, calibration, decisions)
    if scheme == "binary":
        rest = graph.op("Sub", _number(graph, 1.0), found)
        return graph.op("Concat", rest, found, axis=1)
    if scheme == "pairs":
        return _coupled(graph, found, n_classes)
    total = graph.op("ReduceSum", found, graph.constant(np.array([1])), keepdims=1)
    positive = graph.op("Greater", total, _number(graph, 0.0))
    safe = graph.op("Where", positive, total, _number(graph, 1.0))
    even = _number(graph, 1.0 / n_classes)
    return graph.op("Where", positive, graph.op("Div", found, safe), even)


def agreeing(graph: Graph, found: str, predicted: str, n_classes: int, dtype: Any) -> str:
    """Make the predicted class the most probable one, in ``dtype``."""
    found = graph.cast(found, dtype)
    own_column = graph.op("Unsqueeze", predicted, graph.constant(np.array([1])))
    is_own = graph.op("Equal", own_column, graph.constant(np.arange(n_classes)[None, :]))
    own = graph.op("GatherElements", found, own_column, axis=1)
    others = graph.op("Where", is_own, graph.constant(np.array(-np.inf, dtype=dtype)), found)
    # The last in order is that of the predicted class, which is left out.
    descending = graph.largest(others, n_classes - 1)
    largest = graph.columns(descending, [0])
    wrong = graph.op("GreaterOrEqual", largest, own)
    sums = graph.op("CumSum", descending, graph.constant(np.array(1)))
    sharing = graph.constant(np.arange(2, n_classes + 1)[None, :].astype(dtype))
    mean = graph.op("Div", graph.op("Add", own, sums), sharing)
    # Another class joins as long as it is above the mean of those before it.
    before = own
    if n_classes > 2:
        before = graph.op("Concat", own, graph.columns(mean, range(n_classes - 2)), axis=1)
    above = graph.cast(graph.op("Greater", descending, before), np.int64)
    joins = graph.op("ReduceSum", above, graph.constant(np.array([1])), keepdims=1)
    one = graph.constant(np.array(1))
    joins = graph.op("Sub", graph.op("Max", joins, one), one)
    level = graph.op("GatherElements", mean, joins, axis=1)
    # Not a product with 1 + ε, which runtimes take for a product with one.
    more = graph.op("Mul", level, graph.constant(np.array(np.finfo(dtype).eps, dtype=dtype)))
    pooled = graph.op("Where", is_own, graph.op("Add", level, more), graph.op("Min", found, level))
    return graph.op("Where", wrong, pooled, found)


def _calibrated(graph: Graph, calibration: dict[str, Any], decisions: str) -> str:
    if calibration["method"] == "sigmoid":
        scaled = graph.op("Mul", decisions, graph.constant(calibration["slope"]))
        return graph.op("Sigmoid", graph.op("Add", scaled, graph.constant(calibration["offset"])))
    start = calibration["start"]
    columns = []
    for k in range(len(start) - 1):
        knots = slice(start[k], start[k + 1])
        at, value = calibration["decision"][knots], calibration["probability"][knots]
        column = graph.columns(decisions, [k])
        columns.append(_interpolated(graph, column, at, value))
    return columns[0] if len(columns) == 1 else graph.op("Concat", *columns, axis=1)


def _interpolated(graph: Graph, x: str, at: Any, value: Any) -> str:
    """Interpolate: every piece adds the share of its rise that lies before x."""
    if len(at) == 1:
        at, value = np.append(at, at[0] + 1.0), np.append(value, value[0])
    share = graph.op("Div", graph.op("Sub", x, graph.constant(at[:-1])), _row(graph, np.diff(at)))
    share = graph.op("Clip", share, _number(graph, 0.0), _number(graph, 1.0))
    return graph.affine(share, np.diff(value)[:, None], value[:1])


def _leads(graph: Graph, scores: str, n_classes: int) -> str:
    """Return each class's score minus the largest of the others."""
    two = graph.largest(scores, 2)
    best, next_best = graph.columns(two, [0]), graph.columns(two, [1])
    first = graph.op("ArgMax", scores, axis=1, keepdims=1)
    is_first = graph.op("Equal", first, graph.constant(np.arange(n_classes)[None, :]))
    lead = graph.op("Sub", best, next_best)
    return graph.op("Where", is_first, lead, graph.op("Sub", scores, best))


def _coupled(graph: Graph, pairwise: str, n_classes: int) -> str:
    r"""Couple the probabilities of pairs.

    The minimiser of :math:`p^\top Q p` among sums of one is also that of
    :math:`p^\top (Q + e e^\top) p`, a positive definite matrix: p is the multiple of
    :math:`(Q + e e^\top)^{-1} e` with sum one, and elimination needs no pivots.
    """
    pairs = np.array(list(combinations(range(n_classes), 2)))
    n_pairs, one = len(pairs), _number(graph, 1.0)
    r = graph.op("Clip", pairwise, *(_number(graph, b) for b in (LEAST_OF_PAIR, 1 - LEAST_OF_PAIR)))
    rest = graph.op("Sub", one, r)
    first, second = (np.equal.outer(pairs[:, k], np.arange(n_classes)) * 1.0 for k in (0, 1))
    diagonal = graph.op(
        "Add",
        graph.op("MatMul", graph.op("Mul", rest, rest), graph.constant(first)),
        graph.op("MatMul", graph.op("Mul", r, r), graph.constant(second)),
    )
    beside = graph.op("Neg", graph.op("Mul", r, rest))
    place = np.diag(n_pairs + np.arange(n_classes))
    place[pairs[:, 0], pairs[:, 1]] = place[pairs[:, 1], pairs[:, 0]] = np.arange(n_pairs)
    entries = graph.columns(graph.op("Concat", beside, diagonal, axis=1), place.ravel())
    shape = graph.constant(np.array([-1, n_classes, n_classes]))
    matrix = graph.op("Add", graph.op("Reshape", entries, shape), one)
    zero = _number(graph, 0.0)
    right = graph.op("Mul", _part(graph, matrix, 0, axis=2), zero)
    system = graph.op("Concat", matrix, graph.op("Add", right, one), axis=2)
    for k in range(n_classes):
        row, column = _part(graph, system, k, axis=1), _part(graph, system, k, axis=2)
        row = graph.op("Div", row, _part(graph, row, k, axis=2))
        unit = np.zeros((1, n_classes, 1))
        unit[0, k] = 1.0
        taken = graph.op("Mul", graph.op("Sub", column, graph.constant(unit)), row)
        system = graph.op("Sub", system, taken)
    solution = _part(graph, system, n_classes, axis=2)
    found = graph.op("Squeeze", graph.op("Max", solution, zero), graph.constant(np.array([2])))
    total = graph.op("ReduceSum", found, graph.constant(np.array([1])), keepdims=1)
    return graph.op("Div", found, total)


def _part(graph: Graph, value: str, number: int, axis: int) -> str:
    return graph.op("Gather", value, graph.constant(np.array([number])), axis=axis)


def _number(graph: Graph, value: float) -> str:
    return graph.constant(np.array(value))


def _row(graph: Graph, values: Any) -> str:
    return graph.constant(np.asarray(values, dtype=np.float64)[None, :])
