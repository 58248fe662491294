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
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..partition import Division
from .merge import Carry, Fold, Weighting, every_dual, small_copy
from .starts import Start, best_multiple


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Attributes
    ----------
    name : str
        Value of ``strategy_``.
    partition : Division
        Makes the leaves.
    weight : Weighting
        Factor of row weights in a part.
    carry : Carry
        Selects what a part passes on to the next level.
    regroup : Division
        Makes the parts of the next level.
    start : Start
        Makes the start of a merged part.
    routed : bool
        Whether the model of an unfinished level uses the nearest cluster alone; otherwise it is
        the mean of all local models.
    refine : bool
        Whether the root solves its support vectors first.
    last_level : int
        Level nearest to the root that the method goes to, as published; 0 is the root.
    """

    name: str
    partition: Division
    weight: Weighting = small_copy
    carry: Carry = every_dual
    regroup: Division = field(default_factory=lambda: Fold(divided=True))
    start: Start = best_multiple
    routed: bool = False
    refine: bool = False
    last_level: int = 0
