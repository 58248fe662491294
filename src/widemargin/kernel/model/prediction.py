"""The fitted attributes of a kernel machine, wherever it was trained, and decisions from them.

Attributes are plain values, so that a model file can hold them. A router becomes a dictionary per
binary problem with the arrays of :class:`~widemargin.kernel.partition.NearestGroup`, or of a
:class:`~widemargin.kernel.partition.ClusterTree`, the kernel's width for distances, and the basis
rows in the columns that the user's data have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.resources import thread_count
from ...core.rows import as_rows, canonical, drop_unused_columns, sparse_if_faster
from ..kernels import (
    FLOAT32_ROUNDING,
    Kernel,
    evaluate_callable,
    is_precomputed,
    rounding_of_distances,
    weighted_sums,
)
from ..near_groups import near_decisions
from ..partition import ClusterTree, NearestGroup
from .level_model import LevelModel

Routing = dict[str, Any]


@dataclass(frozen=True)
class WeightedVectors:
    """Support vectors with their coefficients."""

    support: NDArray[np.int64]  # (n_support,): row numbers in the data as given, ascending
    # (n_support, n_features): the rows; none of their columns when the kernel is precomputed.
    vectors: Any
    coef: Array  # (n_problems, n_support): coefficients
    n_samples: int  # rows of the data as given


@dataclass(frozen=True)
class Expansion(WeightedVectors):
    """The support vectors of a classifier."""

    classes: NDArray[Any]  # (n_classes,): sorted labels
    codes: NDArray[Any]  # (n_support,): position of each row's label in ``classes``
    # "ovr" or "ovo": how several classes became binary problems; or "ww" or "cs", one problem.
    scheme: str


def set_expansion(
    estimator: Any, kernel: Kernel, expansion: Expansion, attributes: dict[str, Any]
) -> None:
    """Make an estimator a fitted classifier; ``attributes`` describe how the fit went."""
    codes = expansion.codes.astype(np.int32)
    estimator.classes_ = expansion.classes
    estimator.multi_class_ = expansion.scheme
    estimator.support_class_ = codes
    estimator.n_support_ = np.bincount(codes, minlength=len(expansion.classes)).astype(np.int32)
    set_support(estimator, kernel, expansion, attributes)


def set_support(
    estimator: Any, kernel: Kernel, expansion: WeightedVectors, attributes: dict[str, Any]
) -> None:
    """Set what classifiers and regressors have in common."""
    estimator.kernel_constant_ = float(kernel.constant)
    estimator.gamma_ = None if kernel.name == "precomputed" else kernel.gamma
    estimator.support_ = expansion.support
    estimator.support_vectors_ = expansion.vectors
    estimator.dual_coef_ = expansion.coef
    for name, value in attributes.items():
        setattr(estimator, name, value)
    # Where clusters are used alone, each has a constant of its own, which is in its kernel.
    constant = 0.0 if attributes["routing_"] is not None else kernel.constant
    estimator.intercept_ = constant * expansion.coef.sum(axis=1) + 0.0  # no -0.0
    estimator.n_samples_fit_ = expansion.n_samples


def routing_of(router: NearestGroup, rows: NDArray[np.int64], basis: Any) -> Routing:
    """Return the attribute of a router, given the numbers and the values of its basis rows."""
    routing = {
        "rows": rows,
        "basis": basis,
        "coef": router.coef,
        "group_start": router.group_start,
        "offset": router.offset,
        "gamma": float(router.kernel.gamma),
    }
    if isinstance(router, ClusterTree):
        routing |= {"node_start": router.node_start, "child": router.child}
    return routing


def routing_or_none(routing: list[Routing | None]) -> list[Routing | None] | None:
    """Return the routing of all problems; None if none of them has clusters."""
    return routing if any(each is not None for each in routing) else None


def router_of(routing: Routing, kernel: Kernel) -> NearestGroup:
    """Return the router of an attribute, for a model with a kernel."""
    groups = NearestGroup(
        replace(kernel, gamma=routing["gamma"], constant=0.0),
        routing["basis"],
        routing["rows"],
        routing["coef"],
        routing["group_start"],
        routing["offset"],
    )
    if "child" not in routing:
        return groups
    return ClusterTree.with_nodes(groups, routing["node_start"], routing["child"])


def fitted_kernel(model: Any, constant: bool = False) -> Kernel:
    """Return the kernel as fitted; its constant is in ``intercept_`` unless asked for."""
    extra = float(model.kernel_constant_) if constant else 0.0
    if not isinstance(model.kernel, str) or is_precomputed(model):
        return Kernel("precomputed", constant=extra)
    gamma = float(model.gamma_)
    return Kernel(model.kernel, gamma, float(model.coef0), int(model.degree), extra)


def decisions(model: Any, X: Any) -> Array:
    """Evaluate every binary problem on checked rows, as (rows, problems)."""
    if model.support_.size == 0:
        values = np.zeros((len(model.dual_coef_), X.shape[0]))
    elif getattr(model, "routing_", None) is not None:
        values = _routed_decisions(model, X)
    elif is_precomputed(model):
        values = weighted_sums(X[:, model.support_], model.dual_coef_)
    elif callable(model.kernel):
        gram = evaluate_callable(model.kernel, X, model.support_vectors_)
        values = weighted_sums(gram, model.dual_coef_)
    else:
        values = _kernel_decisions(model, X)
    return np.asarray(values.T + model.intercept_)


def labels(model: Any, values: Array) -> NDArray[Any]:
    """Return the labels that decisions imply."""
    if values.shape[1] == 1:
        return np.asarray(model.classes_[(values[:, 0] > 0).astype(np.intp)])
    return np.asarray(model.classes_[np.argmax(by_class(model, values), axis=1)])


def by_class(model: Any, values: Array) -> Array:
    """Turn decisions about pairs of classes, if they are that, into one column for each class."""
    pairs = values.shape[1] > 1 and model.multi_class_ == "ovo"
    return votes(values, len(model.classes_)) if pairs else values


def level_model(model: Any, k: int) -> LevelModel:
    """Return the decision function of one binary problem, without the plain intercept."""
    used: Any = np.flatnonzero(model.dual_coef_[k])
    if used.size == model.dual_coef_.shape[1]:
        used = slice(None)  # no copy of what may be millions of vectors
    routing = getattr(model, "routing_", None)
    part = getattr(model, "support_part_", None)
    kernel = fitted_kernel(model, constant=routing is not None)
    named = isinstance(model.kernel, str) and not is_precomputed(model)
    return LevelModel(
        kernel,
        sparse_if_faster(model.support_vectors_[used]) if named else None,
        model.support_[used],
        model.dual_coef_[k, used],
        None if part is None else part[k, used],
        None if routing is None or routing[k] is None else router_of(routing[k], kernel),
    )


def _kernel_decisions(model: Any, X: Any) -> Array:
    X, basis = _comparable(model, X)
    X, basis = drop_unused_columns(canonical(X), canonical(sparse_if_faster(basis)))
    coef, threads = model.dual_coef_, thread_count(model.n_jobs)
    if len(coef) == 1:
        rows, points = as_rows(X, X.dtype), as_rows(basis, X.dtype)
        found = near_decisions(fitted_kernel(model), rows, points, coef, threads)
        if found is not None:
            return found
    if len(coef) > 1 and model.multi_class_ == "ovo" and hasattr(model, "support_class_"):
        # Neighbours of one class take part in the same few problems: the others are skipped.
        # Model files of the first format do not know the classes.
        by_class = np.argsort(model.support_class_, kind="stable")
        basis, coef = basis[by_class], coef[:, by_class]
    return fitted_kernel(model).product(
        as_rows(X, X.dtype),
        as_rows(basis, X.dtype),
        coef,
        threads=threads,
    )


def _routed_decisions(model: Any, X: Any) -> Array:
    """Evaluate the nearest cluster, problem by problem."""
    values = None
    if is_precomputed(model):
        values = X[:, model.support_]
    elif callable(model.kernel):
        values = evaluate_callable(model.kernel, X, model.support_vectors_)
    else:
        X, _ = _comparable(model, X)
    out = np.zeros((len(model.dual_coef_), X.shape[0]))
    for k in range(len(out)):
        one = level_model(model, k)
        if values is None:
            out[k] = one.decide(X, thread_count(model.n_jobs))
            continue
        kept = model.routing_[k]
        routing = None
        if kept is not None and is_precomputed(model):
            routing = X[:, kept["rows"]]
        elif kept is not None:
            routing = evaluate_callable(model.kernel, X, kept["basis"])
        in_problem = np.flatnonzero(model.dual_coef_[k])
        out[k] = one.decide_values(values[:, in_problem], routing)
    return out


def _comparable(model: Any, X: Any) -> tuple[Any, Any]:
    """Return rows and support vectors in one precision, high enough for their distances."""
    basis = model.support_vectors_
    single = X.dtype == basis.dtype == np.float32
    if single and rounding_of_distances(fitted_kernel(model), basis) > FLOAT32_ROUNDING:
        single = False
    dtype = np.float32 if single else np.float64
    return X.astype(dtype, copy=False), basis.astype(dtype, copy=False)


def votes(pairwise: Array, n_classes: int) -> Array:
    """Turn one-vs-one decisions into one column per class.

    Each class scores a vote per pair it wins, plus its summed decisions squeezed into
    (−1/3, 1/3), which break ties and never overturn a vote.

    Parameters
    ----------
    pairwise : array of shape (n_rows, n_pairs)
        Decisions, positive for the first class of a pair.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of shape (n_rows, n_classes)
    """
    score = np.zeros((pairwise.shape[0], n_classes))
    confidence = np.zeros_like(score)
    for column, (i, j) in zip(pairwise.T, combinations(range(n_classes), 2), strict=True):
        score[:, i] += column > 0
        score[:, j] += column <= 0
        confidence[:, i] += column
        confidence[:, j] -= column
    return score + confidence / (3.0 * (np.abs(confidence) + 1.0))
