r"""Dual block descent on several problems that share their rows and their kernel.

One-vs-rest and one-vs-one problems, the folds of a cross-validation and the values of ``C`` of a
path have the same rows and violate at much the same ones. So they share blocks: a block takes the
rows that violate most in any of the problems, its kernel matrix is at hand for all of them, every
problem is solved on it alone, in parallel, and one kernel product with a column for each problem
updates the margins of all rows. Kernel values are what they share; the arithmetic of the descent is
each problem's own.

Kernel values cost most, so blocks are large and solved to a small part of their gap: the fewest
products with all rows. Rows with a dual stay in the block as long as there is room, and keep their
kernel values (:class:`.BlockMatrix`).

A fold that leaves a row out gives it no weight (:func:`leave_out`): its dual stays zero and it adds
nothing to either objective, but its margin is kept up to date like any other. That margin is the
decision on a row that was not trained on, which is what a cross-validation needs. A pair of classes
has rows of its own instead: kernel values between rows that share no problem are not computed.

Rows that have settled in all problems (:mod:`.settled_rows`) are set aside: their margins are left
as they are until the other rows have reached the targets. Then they are computed anew, and the
descent goes on with all rows where that opens a gap.

Stops when :math:`(P - D) / P \le` ``tol`` for every problem by the margins that the descent has
kept; :mod:`.shared_certificates` proves it. A block with :math:`b` new of :math:`B` rows, :math:`c`
of which change, costs :math:`b B + c M` kernel values for all problems together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.losses import LossTerms
from ..kernels import Kernel
from .block_matrix import BlockMatrix
from .next_block import NextBlock
from .row_groups import RowGroup, SharedProblem, row_groups
from .settled_rows import settled_rows, worth_settling
from .shared_margins import Arrays, SharedMargins

# Rows of a working set within a block.
WORKING_SET = 384
# Blocks of fewer rows would undo each other's work.
FEWEST_BLOCK_ROWS = 256
# Share of the memory for the matrix of a block.
SHARE_OF_MEMORY = 0.75
# Problems that have some of the rows only are solved on a copy of their part of the matrix; so many
# copies exist at a time.
COPIES = 2
# A problem is solved on a block until its gap there has fallen to this fraction,
REDUCTION = 0.005
# or far enough to leave this fraction of the target gap,
ENOUGH = 0.3
# or for this many working sets.
SETS_PER_BLOCK = 400
# A problem has stalled if, over this many blocks,
PATIENCE = 50
# its dual rises by less than this multiple of its gap.
LEAST_PROGRESS = 1e-3
# Curvature of a row that is left out, so large that the row's step is zero in any precision.
LEFT_OUT = 1e300


def leave_out(terms: LossTerms, rows: NDArray[np.bool_]) -> LossTerms:
    """Give some rows no weight."""

    def stiff(curvature: Array) -> Array:
        return np.where(rows & (curvature > 0), LEFT_OUT, curvature)

    def none(end: Array) -> Array:
        return np.where(rows & np.isfinite(end), 0.0, end)

    return replace(
        terms,
        below=stiff(terms.below),
        above=stiff(terms.above),
        bound=none(terms.bound),
        floor=none(terms.floor),
    )


def rows_of_block(memory: int, itemsize: int, own_rows: bool = False) -> int:
    """Return how many rows a block may have."""
    matrices = 1 + COPIES if own_rows else 1
    return isqrt(int(SHARE_OF_MEMORY * memory / (itemsize * matrices)))


class SharedBlocks:
    """Solves problems on the same rows together.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows.
    kernel : Kernel
        A positive semi-definite one.
    threads : int
        Threads; results do not depend on it.
    memory : int
        Bytes for kernel matrices of blocks.
    seed : int
        Breaks ties between rows that violate alike.
    own_rows : bool
        Whether problems may have some of the rows only, as pairs of classes do; that takes memory.
    """

    def __init__(
        self,
        X: Any,
        kernel: Kernel,
        threads: int,
        memory: int,
        seed: int,
        own_rows: bool = False,
    ) -> None:
        self.threads, self.seed, self.own_rows = threads, seed, own_rows
        self.margins = SharedMargins(X, kernel, threads)
        rows, self.n_rows = self.margins.rows, int(X.shape[0])
        self.diagonal = kernel.diagonal(rows)
        largest = min(rows_of_block(memory, X.dtype.itemsize, own_rows), self.n_rows)
        self.matrix = BlockMatrix(rows, kernel, X.dtype, largest, threads)
        self.next_block = NextBlock(self.diagonal, largest, seed)
        self.active = np.ones(self.n_rows, dtype=np.bool_)  # not set aside

    @property
    def entries(self) -> int:
        """Kernel values evaluated so far."""
        return self.matrix.entries + self.margins.entries

    def solve(
        self,
        problems: Sequence[SharedProblem],
        net_dual: Arrays,
        margin: Arrays,
        target: Array,
        *,
        max_sets: int,
        stop: Callable[[float], bool],
        record: Callable[[Array, Array, NDArray[np.int64]], None] | None = None,
    ) -> NDArray[np.int64]:
        """Bring every problem to its target gap, in place.

        Parameters
        ----------
        problems : sequence of SharedProblem
            The problems.
        net_dual, margin : sequences of arrays of shape (n_rows of the problem,)
            Where to start: duals inside the loss's domain, and Q times them.
        target : array of shape (n_problems,)
            Relative gaps to reach.
        max_sets : int
            Working sets allowed to each problem.
        stop : callable
            Called with the largest gap after every block; true means stop.
        record : callable, optional
            Called after every block with the primals, gaps and working sets of all problems.

        Returns
        -------
        array of int of shape (n_problems,)
            Working sets taken.
        """
        n_problems, groups = len(problems), row_groups(problems, self.n_rows)
        sets = np.zeros(n_problems, dtype=np.int64)
        stalled = np.zeros(n_problems, dtype=np.bool_)
        looked_at = np.full(n_problems, -np.inf)  # duals, PATIENCE blocks ago
        number = 0
        while True:
            shares = [
                gap_shares(each.terms, *state)
                for each, *state in zip(problems, net_dual, margin, strict=True)
            ]
            primal = np.array([objective for _, objective in shares])
            gap = np.array([float(share.sum()) for share, _ in shares])
            relative = gap / np.maximum(primal, 1e-300)
            if number % PATIENCE == 0:
                stalled |= primal - gap - looked_at <= LEAST_PROGRESS * gap
                looked_at = primal - gap
            open_ = (relative > target) & (sets < max_sets) & ~stalled
            if record is not None:
                record(primal, gap, sets)
            number += 1
            if not open_.any() or stop(float(relative[open_].max())):
                if self.active.all():
                    return sets
                self._take_back(groups, problems, net_dual, margin)
                continue
            chosen = np.flatnonzero(open_)
            self.matrix.hold(
                self.next_block.choose(self.matrix.block, problems, net_dual, margin, chosen)
            )
            if worth_settling(relative, target):
                settled = settled_rows(problems, net_dual, margin, self.n_rows)
                settled[self.matrix.block] = False
                self.active &= ~settled
            enough = np.maximum(REDUCTION, ENOUGH * target / np.maximum(relative, 1e-300))
            taken, changes = self._solve_block(
                problems,
                net_dual,
                margin,
                chosen,
                [share for share, _ in shares],
                enough,
                max_sets - sets,
            )
            if not taken.any():  # rounding leaves nothing to gain
                self._take_back(groups, problems, net_dual, margin)
                return sets
            for group in groups:
                self._update_margins(group, problems, margin, changes)
            sets += taken

    def _solve_block(
        self,
        problems: Sequence[SharedProblem],
        net_dual: Arrays,
        margin: Arrays,
        chosen: NDArray[np.int64],
        shares: list[Array],
        fraction: Array,
        allowed_sets: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], Array]:
        """Solve every problem on the block; return working sets and signed changes of duals."""
        block, values = self.matrix.block, self.matrix.values
        changes = np.zeros((len(problems), len(block)))
        taken = np.zeros(len(problems), dtype=np.int64)
        threads = max(1, self.threads // len(chosen))

        def solve(p: int) -> None:
            problem = problems[p]
            inside, place = problem.places(block)
            matrix = values if len(inside) == len(block) else values[np.ix_(inside, inside)]
            here, label = problem.terms.at(place), problem.label[place]
            dual, at = net_dual[p][place], margin[p][place]
            if here.offset is not None:  # the native solver takes residuals
                at = at - here.offset
            taken[p] = _native.solve_block(
                matrix,
                label,
                self.diagonal[block[inside]],
                here.lower_margin,
                here.upper_margin,
                here.below,
                here.above,
                here.bound,
                here.floor,
                dual,
                at,
                gap=float(fraction[p] * shares[p][place].sum()),
                sets=min(SETS_PER_BLOCK, int(allowed_sets[p])),
                working_set=WORKING_SET,
                threads=threads,
                seed=self.seed,
            )
            change = dual - net_dual[p][place]
            changes[p, inside] = change * label
            net_dual[p][place] = dual
            margin[p][place] = at if here.offset is None else at + here.offset

        in_parallel(solve, chosen, min(self.threads, COPIES) if self.own_rows else self.threads)
        return taken, changes

    def _update_margins(
        self,
        group: RowGroup,
        problems: Sequence[SharedProblem],
        margin: Arrays,
        changes: Array,
    ) -> None:
        """Add what the block's changes do to the margins of a group's other active rows."""
        block = self.matrix.block
        rows = np.arange(self.n_rows) if group.rows is None else group.rows
        outside = np.flatnonzero(self.active[rows] & ~np.isin(rows, block))
        self.margins.add(group, problems, margin, block, changes, outside)

    def _take_back(
        self,
        groups: Sequence[RowGroup],
        problems: Sequence[SharedProblem],
        net_dual: Arrays,
        margin: Arrays,
    ) -> None:
        """Compute the margins of the rows that were set aside, and make all rows active."""
        for group in groups:
            aside = ~self.active if group.rows is None else ~self.active[group.rows]
            if aside.any():
                picked = np.flatnonzero(aside)
                found = self.margins.of_group(group, problems, net_dual, picked, single=True)
                for p, place, at in found:
                    margin[p][place] = at
        self.active[:] = True


def gap_shares(terms: LossTerms, net_dual: Array, margin: Array) -> tuple[Array, float]:
    """Return what each row adds to the duality gap, and the primal objective."""
    losses, along = terms.primal(margin), net_dual * margin
    return along + losses + terms.phi(net_dual), 0.5 * float(along.sum()) + float(losses.sum())


def in_parallel(work: Callable[[int], None], items: Iterable[int], threads: int) -> None:
    """Do work on every item, in the calling thread if there is one thread or one item."""
    items = [int(item) for item in items]
    if threads == 1 or len(items) == 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, items))
