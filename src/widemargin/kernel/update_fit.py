r"""The fit of problems of which some rows have changed, from the solution that they had.

Old duals and margins are close to the new ones where few rows have changed, so the descent begins
with small blocks. All problems share them, as in :mod:`.shared_fit`. Only rows that came need
margins at first, one kernel value for each of :math:`s` support vectors. For :math:`k` new rows of
which :math:`M` there are, and :math:`c` duals that the descent changes, that makes about
:math:`k\,s + c\,M` kernel values, where a fit from zero takes about :math:`M\,s` to compute its
margins alone.

The certificate is that of :mod:`.solvers.shared_certificates`: margins are those that were kept,
with their rounding measured on a sample of rows, so that errors of many updates cannot add up
unnoticed; where they prove too little, all margins are computed anew in float64.
"""

from __future__ import annotations

import numpy as np

from ..core.budget import Budget
from .problems import KernelProblems
from .shared_fit import SharedFit, has_room
from .solvers.row_groups import row_groups
from .solvers.shared_blocks import SharedBlocks

# New rows of the first block: of losses where all rows have duals that want to move a little,
FIRST_BLOCK_IF_SMOOTH = 256
# and of the hinge, where few do.
FIRST_BLOCK = 1024


def can_update(problems: KernelProblems, solver: str, budget: Budget) -> bool:
    """Whether :class:`UpdateFit` is for these problems.

    Their kernel must be positive semi-definite and not linear, for which there are other solvers,
    and there must be memory for blocks and for the duals of all problems.
    """
    kernel = problems.kernel
    if solver not in ("auto", "blocks") or kernel.name == "linear":
        return False
    return kernel.positive_semidefinite and has_room(problems, budget)


class UpdateFit(SharedFit):
    """An exact fit that starts next to its solution.

    ``neighbours`` are the duals to start from, with their margins; NaN where these are not known.
    """

    def _blocks(self, first: int = FIRST_BLOCK) -> SharedBlocks:
        smooth = self.shared[0].terms.smooth
        return super()._blocks(FIRST_BLOCK_IF_SMOOTH if smooth else first)

    def _begin(self, blocks: SharedBlocks) -> None:
        """Take the duals as they are, and compute the margins that are missing."""
        assert self.neighbours is not None
        for k, (each, start) in enumerate(zip(self.shared, self.neighbours, strict=True)):
            self.net_dual[k][:] = each.terms.nearest(start.net_dual)
            moved = not np.array_equal(self.net_dual[k], start.net_dual)
            self.margin[k][:] = np.nan if moved or start.margin is None else start.margin
        for group in row_groups(self.shared, self.problems.n_rows):
            missing = np.zeros(self.problems.n_rows, dtype=np.bool_)
            own = slice(None) if group.rows is None else group.rows
            for p, place in zip(group.problems, group.places, strict=True):
                missing[own] |= np.isnan(self.margin[p][place])
            picked = np.flatnonzero(missing[own])
            if not len(picked):
                continue
            found = blocks.margins.of_group(group, self.shared, self.net_dual, picked, single=True)
            for p, place, at in found:
                self.margin[p][place] = at
