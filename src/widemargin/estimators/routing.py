"""A router as fitted attributes, and back.

Attributes are plain values, so that a model file can hold them: a dictionary per binary problem
with the arrays of :class:`~widemargin.partition.NearestGroup`, the kernel's width for distances,
and the basis rows in the columns that the user's data have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel
from ..partition import NearestGroup
from .training_set import TrainingSet

Routing = dict[str, Any]


def routing_attribute(
    router: NearestGroup, rows: NDArray[np.int64], training: TrainingSet, pairwise: bool
) -> Routing:
    """Return what is kept of a router whose basis is some training rows."""
    return {
        "rows": training.given_numbers(rows),
        "basis": None if pairwise else training.X[rows],
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
