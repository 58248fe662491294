"""The fitted attributes of a kernel machine: its expansion in kernels, wherever it was trained.

Attributes are plain values, so that a model file can hold them. A router becomes a dictionary per
binary problem with the arrays of :class:`~widemargin.kernel.partition.NearestGroup`, the kernel's
width for distances, and the basis rows in the columns that the user's data have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ..kernels import Kernel
from ..partition import NearestGroup

Routing = dict[str, Any]


@dataclass(frozen=True)
class Expansion:
    """Support vectors with their coefficients.

    Attributes
    ----------
    classes : array of shape (n_classes,)
        Sorted labels.
    support : array of shape (n_support,)
        Row numbers in the data as given, ascending.
    vectors : array or CSR matrix of shape (n_support, n_features)
        The rows; none of their columns when the kernel is precomputed.
    codes : array of shape (n_support,)
        Position of each row's label in ``classes``.
    coef : array of shape (n_problems, n_support)
        Coefficients.
    n_samples : int
        Rows of the data as given.
    """

    classes: NDArray[Any]
    support: NDArray[np.int64]
    vectors: Any
    codes: NDArray[Any]
    coef: Array
    n_samples: int


def set_expansion(
    estimator: Any, kernel: Kernel, expansion: Expansion, attributes: dict[str, Any]
) -> None:
    """Make an estimator a fitted one; ``attributes`` describe how the fit went."""
    codes = expansion.codes.astype(np.int32)
    estimator.classes_ = expansion.classes
    estimator.gamma_ = None if kernel.name == "precomputed" else kernel.gamma
    estimator.support_ = expansion.support
    estimator.support_vectors_ = expansion.vectors
    estimator.support_class_ = codes
    estimator.n_support_ = np.bincount(codes, minlength=len(expansion.classes)).astype(np.int32)
    estimator.dual_coef_ = expansion.coef
    for name, value in attributes.items():
        setattr(estimator, name, value)
    # Where clusters are used alone, each has a constant of its own, which is in its kernel.
    constant = 0.0 if attributes["routing_"] is not None else kernel.constant
    estimator.intercept_ = constant * expansion.coef.sum(axis=1) + 0.0  # no -0.0
    estimator.n_samples_fit_ = expansion.n_samples


def routing_of(router: NearestGroup, rows: NDArray[np.int64], basis: Any) -> Routing:
    """Return the attribute of a router, given the numbers and the values of its basis rows."""
    return {
        "rows": rows,
        "basis": basis,
        "coef": router.coef,
        "group_start": router.group_start,
        "offset": router.offset,
        "gamma": float(router.kernel.gamma),
    }


def routing_or_none(routing: list[Routing | None]) -> list[Routing | None] | None:
    """Return the routing of all problems; None if none of them has clusters."""
    return routing if any(each is not None for each in routing) else None


def router_of(routing: Routing, kernel: Kernel) -> NearestGroup:
    """Return the router of an attribute, for a model with a kernel."""
    return NearestGroup(
        replace(kernel, gamma=routing["gamma"], constant=0.0),
        routing["basis"],
        routing["rows"],
        routing["coef"],
        routing["group_start"],
        routing["offset"],
    )
