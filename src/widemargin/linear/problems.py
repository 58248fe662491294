"""The binary problems of a classification, posed on an engine's blocks.

Rows in memory are one block of the local engine, and problems on it are solved there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.blocks import GATHERED_BYTES, RowBlock, bytes_of
from ..core.budget import Budget
from ..core.fit import FEWEST_AT_ONCE
from ..core.losses import LossConstants
from ..core.resources import DIRECT_SIZE
from ..engines import Engine
from ..engines.local import MOST_SHARERS
from .block_problem import AnyProblem, BlockProblem
from .blocks import Pose
from .problem import LinearProblem
from .solvers import ON_BLOCKS, choose

# Bytes that a solver keeps of a row: label, piece, and up to three numbers.
BYTES_OF_ROW = 26


@dataclass(frozen=True)
class LinearProblems:
    """The binary problems of a classification: rows, loss, and the class that is positive."""

    engine: Engine  # where the rows are
    blocks: Any  # the engine's parts, of RowBlock
    # Numbers for all blocks together.
    n_rows: int
    n_features: int
    n_classes: int
    stored_bytes: int
    constants: LossConstants  # the loss, ``C`` included
    constant: float = 0.0  # value of the constant feature; 0 means no intercept
    factors: tuple[float, ...] | None = None  # weights of the classes
    whole: RowBlock | None = None  # all rows, where they are in one block of this process
    on_disk: bool = False  # whether the rows are read from disk

    @classmethod
    def of_blocks(
        cls,
        engine: Engine,
        blocks: list[RowBlock],
        n_classes: int,
        constants: LossConstants,
        constant: float,
        *,
        on_disk: bool = False,
    ) -> LinearProblems:
        """Place blocks on an engine, and pose the problems there."""
        return cls(
            engine=engine,
            blocks=engine.scatter(blocks),
            n_rows=sum(block.n_rows for block in blocks),
            n_features=int(blocks[0].X.shape[1]),
            n_classes=n_classes,
            stored_bytes=sum(bytes_of(block.X) for block in blocks),
            constants=constants,
            constant=constant,
            whole=blocks[0] if engine.in_process and len(blocks) == 1 else None,
            on_disk=on_disk,
        )

    @property
    def n_problems(self) -> int:
        """Two classes are one problem, more are one each."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def size(self) -> int:
        """Length of ``w``."""
        return self.n_features + (self.constant != 0)

    def in_one_place(self, k: int, threads: int) -> LinearProblem:
        """Pose problem ``k`` on all rows: class ``k`` (of two, the second) against the rest."""
        assert self.whole is not None
        return self._pose(k, threads).problem(self.whole)

    def posed(self, k: int, threads: int) -> AnyProblem:
        """Pose problem ``k`` where the rows are."""
        if self.whole is not None:
            return self.in_one_place(k, threads)
        pose = self._pose(k, threads)
        return BlockProblem(
            self.engine, self.blocks, pose, self.n_rows, self.stored_bytes, self.size
        )

    def _pose(self, k: int, threads: int) -> Pose:
        positive = 1 if self.n_classes == 2 else k
        return Pose(positive, self.constants, self.constant, self.factors, threads)

    def at_once(self, budget: Budget) -> int:
        """Return the number of problems to solve at the same time, within the memory limit."""
        if self.n_problems < FEWEST_AT_ONCE:
            return 1
        size = self.n_features + 1
        matrices = 3 * 8 * size**2 if size <= DIRECT_SIZE else 8 * 8 * size
        affordable = max(1, budget.memory // (BYTES_OF_ROW * self.n_rows + matrices))
        return int(min(budget.threads, self.n_problems, MOST_SHARERS, affordable))

    def choose(self, solver: str, memory: int, *, validated: bool = False) -> tuple[str, bool]:
        """Return the solver's name, and whether all rows are brought together for it.

        Where the fit is validated, they are not brought to another process: validation rows would
        have to come along.
        """
        chosen = choose(solver, self.size, on_disk=self.on_disk)
        if self.whole is not None:
            return chosen, True
        if solver in ON_BLOCKS:
            return solver, False
        stay = validated and not self.engine.in_process
        if solver == "auto" and (stay or self.stored_bytes > min(GATHERED_BYTES, memory)):
            return "newton", False
        if stay:
            raise ValueError(
                "Validation rows on an engine are for the solvers 'auto', 'newton' and 'dsvrg', "
                f"which leave rows where they are; got solver={solver!r}."
            )
        if self.stored_bytes > memory:
            raise ValueError(
                f"solver={solver!r} needs all rows in one task: {self.stored_bytes / 1e6:,.0f} "
                f"MB, and the memory limit is {memory / 1e6:,.0f} MB. Use 'newton' or 'dsvrg', "
                "which leave rows where they are, or raise the limit."
            )
        return chosen, True
