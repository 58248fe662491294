"""Decisions and labels of a fitted model, as operators of a graph.

They are the sums that the models evaluate themselves, in float64 where kernel values are
float32, and labels follow from these sums by the same rules, ties included.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..estimators.kernel_expansion import KernelExpansion
from ..estimators.kernel_model import KernelPredictor
from ..kernel.kernels import is_precomputed
from ..kernel.model.prediction import fitted_kernel, level_model
from ..kernel.partition import ClusterTree, NearestGroup
from .columns import Columns
from .graph import Graph
from .kernel_values import CentredVectors
from .random_features import map_to_features


def decide(graph: Graph, model: Any, x: str, *, single: bool) -> str:
    """Evaluate every binary problem on float64 rows, as (rows, problems) in float64.

    ``single`` allows float32 kernel values where they change no digit that matters.
    """
    if not isinstance(model, KernelExpansion):
        map = getattr(model, "random_features_", None)
        if map is not None:
            x = map_to_features(graph, map, Columns(x, int(map.n_features_in_))).name
        weights = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
        return graph.affine(x, np.atleast_2d(weights).T, np.atleast_1d(model.intercept_))
    fitted: Any = model  # attributes are set by the fit
    if is_precomputed(fitted):
        raise ValueError(
            "A model with kernel='precomputed' cannot be exported: it keeps no rows that kernel "
            "values could be computed with. Fit with a kernel by name."
        )
    if callable(fitted.kernel):
        raise ValueError(
            "A model whose kernel is a function cannot be exported: ONNX holds no Python code. "
            "Fit with a kernel by name."
        )
    coef = fitted.dual_coef_
    if fitted.support_.size == 0:
        return graph.affine(x, np.zeros((fitted.n_features_in_, len(coef))), fitted.intercept_)
    if getattr(fitted, "routing_", None) is not None:
        return _routed(graph, fitted, x, single)
    if fitted.kernel == "linear":
        return graph.affine(x, (fitted.support_vectors_.T @ coef.T), fitted.intercept_)
    kernel = fitted_kernel(fitted)
    vectors = CentredVectors.of(kernel, fitted.support_vectors_, coef if single else None)
    return _sums(graph, vectors, vectors.values(graph, x), coef, fitted.intercept_)


def _sums(graph: Graph, vectors: CentredVectors, values: str, coef: Array, constant: Array) -> str:
    if vectors.dtype == np.float32:
        # Rounded coefficients were part of the test that allowed float32.
        coef = coef.astype(np.float32).astype(np.float64)
        values = graph.cast(values, np.float64)
    return graph.affine(values, coef.T, constant)


def _routed(graph: Graph, model: Any, x: str, single: bool) -> str:
    """Evaluate the nearest cluster, problem by problem."""
    coef = model.dual_coef_
    # Clusters, if any is used alone, have a constant each: it is part of the kernel.
    kernel = level_model(model, 0).kernel
    vectors = CentredVectors.of(kernel, model.support_vectors_, coef if single else None)
    values = vectors.values(graph, x)
    zero = graph.constant(np.zeros((), dtype=vectors.dtype))
    columns = []
    for k in range(len(coef)):
        own, router = values, level_model(model, k).router
        if router is not None:
            near = CentredVectors.of(router.kernel, router.basis).values(graph, x)
            counts = np.diff(router.group_start)
            member = np.repeat(np.eye(len(counts)), counts, axis=0) * router.coef[:, None]
            scores = graph.affine(near, member, router.offset)
            nearest = _nearest(graph, router, scores)
            part = graph.constant(model.support_part_[k].astype(np.int64)[None, :])
            own = graph.op("Where", graph.op("Equal", nearest, part), values, zero)
        columns.append(_sums(graph, vectors, own, coef[k : k + 1], model.intercept_[k : k + 1]))
    return columns[0] if len(columns) == 1 else graph.op("Concat", *columns, axis=1)


def _nearest(graph: Graph, router: NearestGroup, scores: str) -> str:
    """Find the cluster of every row from the scores of all groups, as a column."""
    if not isinstance(router, ClusterTree):
        return graph.op("ArgMax", scores, axis=1, keepdims=1)
    of_node = np.repeat(np.arange(router.n_nodes), np.diff(router.node_start))[None, :]
    nowhere = graph.constant(np.array(-np.inf))
    leads = graph.constant(router.child)
    found = graph.constant(np.zeros((1, 1), dtype=np.int64))  # the node to look in
    position = ""
    for level in range(router.depth):
        inside = graph.op("Equal", found, graph.constant(of_node))
        own = graph.op("Where", inside, scores, nowhere)
        best = graph.op("ArgMax", own, axis=1, keepdims=1)
        if level > 0:  # rows that have arrived stay
            arrived = graph.op("Less", found, graph.constant(np.array(0)))
            best = graph.op("Where", arrived, position, best)
        position, found = best, graph.op("Gather", leads, best)
    return graph.op("Gather", graph.constant(router.leaf_number), position)


def by_pairs(model: Any, n_problems: int) -> bool:
    """Whether problems are pairs of classes, which vote."""
    if n_problems == 1 or not isinstance(model, KernelPredictor):
        return False
    scheme = getattr(model, "multi_class_", model.multi_class)  # what 'auto' chose, if it did
    return bool(scheme == "ovo")


def votes(graph: Graph, pairwise: str, n_classes: int) -> str:
    """Turn one-vs-one decisions into one column per class, as the classifiers do."""
    pairs = list(combinations(range(n_classes), 2))
    first, second = np.zeros((2, len(pairs), n_classes))
    for p, (i, j) in enumerate(pairs):
        first[p, i] = second[p, j] = 1.0
    signed = graph.constant(first - second)
    zero, one, three = (graph.constant(np.array(value)) for value in (0.0, 1.0, 3.0))
    won = graph.cast(graph.op("Greater", pairwise, zero), np.float64)
    lost = graph.constant(second.sum(axis=0))
    score = graph.op("Add", graph.op("MatMul", won, signed), lost)
    confidence = graph.op("MatMul", pairwise, signed)
    size = graph.op("Mul", graph.op("Add", graph.op("Abs", confidence), one), three)
    return graph.op("Add", score, graph.op("Div", confidence, size))


def winner(graph: Graph, scores: str, n_columns: int) -> str:
    """Return the position of the label: the largest score, the first of several."""
    if n_columns > 1:
        return graph.op("ArgMax", scores, axis=1, keepdims=0)
    positive = graph.op("Greater", scores, graph.constant(np.array(0.0)))
    return graph.op("Squeeze", graph.cast(positive, np.int64), graph.constant(np.array([1])))


def exported_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that ONNX has: int64, float64, bool or text."""
    kind = classes.dtype.kind
    if kind == "b":
        return classes
    if kind == "f":
        return classes.astype(np.float64)
    if kind in "iu":
        if kind == "u" and int(classes.max()) > np.iinfo(np.int64).max:
            raise ValueError("Labels must fit into int64 to be exported; got larger ones.")
        return classes.astype(np.int64)
    if kind in "UO" and all(isinstance(label, str) for label in classes):
        return classes.astype(str).astype(object)
    raise ValueError(
        "Labels must be integers, text, booleans or whole floats to be exported; got "
        f"{classes.dtype} ({classes[0]!r}, …)."
    )
