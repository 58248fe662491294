"""A multi-class problem whose rows lie in blocks on an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.blocks import RowBlock
from ..engines import Engine
from ..linear.problems import GATHERED_BYTES
from .problem import MulticlassProblem
from .solvers import newton
from .solvers.weston_watkins import dealt

# Solvers that leave rows where they are.
DIVIDED = ("tournament", "newton")


@dataclass(frozen=True)
class Posed:
    """A problem, but for its rows.

    Attributes
    ----------
    n_features, n_classes : int
        Of all rows.
    formulation : {'ww', 'llw', 'cs', 'ovr'}
        The loss.
    C : float
        Weight of a row's loss.
    factors : tuple of float or None
        Weights of the classes.
    constant : float
        Value of the constant feature; 0 means no intercept.
    threads : int
        Of a task.
    """

    n_features: int
    n_classes: int
    formulation: str
    C: float
    factors: tuple[float, ...] | None = None
    constant: float = 0.0
    threads: int = 1

    @property
    def size(self) -> int:
        """Length of a class's weights: the features, and the constant one."""
        return self.n_features + int(self.constant != 0)

    def bound(self, codes: NDArray[Any], weight: Array | None) -> Array:
        """Return the weights of rows' losses."""
        bound = np.full(len(codes), self.C) if weight is None else self.C * weight
        if self.factors is not None:
            bound = bound * np.asarray(self.factors)[codes]
        return np.ascontiguousarray(bound)

    def problem(self, block: RowBlock) -> MulticlassProblem:
        """Pose the problem on a block."""
        return MulticlassProblem(
            block.X,
            block.codes,
            self.n_classes,
            self.formulation,
            self.bound(block.codes, block.weight),
            self.constant,
            self.threads,
            rows=block.rows,
        )


@dataclass(frozen=True)
class RowsOnEngine:
    """What a fit starts from.

    Attributes
    ----------
    engine : Engine
        Where the rows are.
    blocks : Parts
        The engine's parts, of :class:`.RowBlock`.
    pose : Posed
        The problem.
    n_rows, stored, stored_bytes : int
        Of all blocks: rows, their stored values, and the bytes that these take.
    class_rows : array of shape (n_classes,)
        Rows of each class.
    memory : int
        Bytes that rows may take in one task, and weights in all.
    settled : bool
        Whether rows are in an order of their own, and none of them is there twice.
    """

    engine: Engine
    blocks: Any
    pose: Posed
    n_rows: int
    stored: int
    stored_bytes: int
    class_rows: NDArray[np.int64]
    memory: int = 1 << 30
    settled: bool = False


def choose(solver: str, rows: RowsOnEngine) -> tuple[str, bool]:
    """Return the solver's name and whether rows are brought together for it."""
    if solver in DIVIDED:
        return solver, False
    if solver != "auto":
        if rows.stored_bytes > rows.memory:
            raise _too_large(f"solver={solver!r}", rows)
        return solver, True
    if rows.stored_bytes <= min(GATHERED_BYTES, rows.memory):
        return "auto", True
    formulation = rows.pose.formulation
    if formulation in newton.FORMULATIONS and newton.small_enough(rows.pose, rows.memory):
        return "newton", False
    if formulation == "ww" and not _lopsided(rows):
        return "tournament", False
    if rows.stored_bytes <= rows.memory:
        return "auto", True
    raise _too_large(f"formulation={formulation!r} with so many features", rows)


def _lopsided(rows: RowsOnEngine) -> bool:
    """Whether two bundles that meet would be as large as all rows."""
    return len(dealt(rows.class_rows)) < 3


def _too_large(what: str, rows: RowsOnEngine) -> ValueError:
    advice = {
        "ww": "Use solver='tournament', which leaves rows where they are",
        "ovr": "Use SparkLinearSVMClassifier(loss='hinge'), which solves the same problem",
        "llw": "With up to 1000 features use solver='newton', which leaves rows where they are",
    }.get(rows.pose.formulation, "Use formulation='ww', which leaves rows where they are")
    return ValueError(
        f"{what} needs all rows in one task: {rows.stored_bytes / 1e6:,.0f} MB, and the memory "
        f"limit is {rows.memory / 1e6:,.0f} MB. {advice}, or raise the limit."
    )
