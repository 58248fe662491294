"""A router as fitted attributes, and back.

Attributes are plain values, so that a model file can hold them: a dictionary per binary problem
with the arrays of :class:`~widemargin.kernel.partition.NearestGroup`, the kernel's width for
distances,
and the basis rows in the columns that the user's data have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernel.kernels import Kernel
from ..kernel.partition import NearestGroup
from .training_set import TrainingSet

Routing = dict[str, Any]


def routing_attribute(
    router: NearestGroup, rows: NDArray[np.int64], training: TrainingSet, pairwise: bool
) -> Routing:
    """Return what is kept of a router whose basis is some training rows."""
    return routing_of(router, training.given_numbers(rows), None if pairwise else training.X[rows])


def routing_of(router: NearestGroup, rows: NDArray[np.int64], basis: Any) -> Routing:
    """Return what is kept of a router, given the numbers and the values of its basis rows."""
    return {
        "rows": rows,
        "basis": basis,
        "coef": router.coef,
        "group_start": router.group_start,
        "offset": router.offset,
        "gamma": float(router.kernel.gamma),
    }


def router_of(routing: Routing, kernel: Kernel) -> NearestGroup:
    """Return the router that was kept, for a model with a kernel."""
    return NearestGroup(
        replace(kernel, gamma=routing["gamma"], constant=0.0),
        routing["basis"],
        routing["rows"],
        routing["coef"],
        routing["group_start"],
        routing["offset"],
    )
