"""The published divide-and-conquer methods, as rows of one table.

==============================  ===================  ==========  ===============  ========  ========
method                          partition            row weight  carry            regroup   model
==============================  ===================  ==========  ===============  ========  ========
Ca-SVM, Ca-ODM (``cascade``)    random               C·M/m       support vectors  fold      mean
DiP-SVM, DiP-ODM                k-means strata in    C·M/m       support vectors  fold      mean
(``preserving``)                input space, dealt
SSVM, SODM (``stratified``)     landmark strata,     C·M/m       every dual       fold      mean
                                dealt out
DC-SVM, DC-ODM                  kernel k-means       C           every dual       cluster   nearest
(``clustered``)                                                                   again     cluster
==============================  ===================  ==========  ===============  ========  ========

A new method is a new row: a :class:`Method` made by a
:class:`~widemargin.kernel.divide.strategies.Strategy`.

The row weight belongs to the partition, not to the loss. Parts that look like the whole set are
small copies of the whole problem: a row weighs M/m times more in them, and merged duals are
divided. Clusters are blocks of the one problem: weights and duals stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ...engines import Engine
from ..partition import Divided, Division
from ..samples import Part, join
from .starts import Start, best_multiple

# (weight of all rows, weight that a part stands for) -> factor of the part's row weights
Weighting = Callable[[float, float], float]
Carry = Callable[[Part], Part]


def small_copy(total: float, mass: float) -> float:
    """Weigh rows so that the part's loss stands for that of all rows: C·M/m."""
    return total / mass


def block_of_whole(total: float, mass: float) -> float:
    """Weigh rows as the whole problem does: C."""
    return 1.0


def every_dual(part: Part) -> Part:
    """Carry all rows."""
    return part


def support_vectors(part: Part) -> Part:
    """Carry only rows with a non-zero dual, but at least one row, as a part may not be empty."""
    kept = part.net_dual != 0
    if not kept.any():
        kept[0] = True
    return part.keep(kept)


@dataclass(frozen=True)
class Fold:
    """Merge neighbours, ``n_from / n_to`` at a time.

    With ``divided``, duals are divided by the number of parts merged (in proportion to what each
    stands for): each of them explained the whole set alone, together they share that.
    """

    divided: bool

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Merge parts."""

        def split(number: int, part: Part) -> list[tuple[int, Part]]:
            return [(number * n_to // n_from, part)]

        combine = partial(_merge, divided=self.divided)
        return Divided(engine.regroup(parts, split, combine, n_to), n_to)


def _merge(parts: list[Part], divided: bool) -> Part:
    if divided:
        total = sum(part.mass for part in parts)
        parts = [replace(p, net_dual=p.net_dual * (p.mass / total)) for p in parts]
    return join(parts)


@dataclass(frozen=True)
class Method:
    """One row of the table."""

    name: str  # value of ``strategy_``
    partition: Division  # makes the leaves
    weight: Weighting = small_copy  # factor of row weights in a part
    carry: Carry = every_dual  # selects what a part passes on to the next level
    # Makes the parts of the next level.
    regroup: Division = field(default_factory=lambda: Fold(divided=True))
    start: Start = best_multiple  # makes the start of a merged part
    # Whether the model of an unfinished level uses the nearest cluster alone; otherwise it is the
    # mean of all local models.
    routed: bool = False
    refine: bool = False  # whether the root solves its support vectors first
    # Level nearest to the root that the method goes to, as published; 0 is the root.
    last_level: int = 0
    # Whether it runs as published: every level to `tol`, by coordinate descent unless a solver is
    # named.
    printed: bool = False
