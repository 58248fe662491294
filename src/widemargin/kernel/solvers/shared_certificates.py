r"""Certificates of several problems on the same rows, and what is left to be done without them.

A solution is certified from the margins that the descent has kept, with their rounding measured on
samples (:mod:`widemargin.kernel.certificates`); in float64 where that is not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.outcome import Certificate, certify
from .row_groups import SharedProblem
from .shared_blocks import SharedBlocks
from .shared_margins import Arrays

# The descent stops a little below `tol`, so that the certificate seldom fails.
SAFETY = 0.9


def certified(
    shared: SharedBlocks,
    problems: Sequence[SharedProblem],
    net_dual: Arrays,
    margin: Arrays,
    tol: float,
    *,
    max_sets: int,
    stop: Callable[[float], bool],
) -> tuple[list[Certificate], NDArray[np.int64]]:
    """Certify solutions, and go on with those that are not within ``tol``.

    ``net_dual`` and ``margin`` are improved in place. Returns the working sets that took, too.
    """
    sets = np.zeros(len(problems), dtype=np.int64)
    target = np.full(len(problems), SAFETY * tol)
    best = np.full(len(problems), np.inf)
    proofs: dict[int, Certificate] = {}
    left = list(range(len(problems)))
    while True:
        some = [problems[p] for p in left]
        duals, margins = [net_dual[p] for p in left], [margin[p] for p in left]
        found = _certificates(shared, some, duals, margins, tol)
        proofs |= zip(left, found, strict=True)
        gap = np.array([each.relative_gap for each in found])
        again = (gap > tol) & (gap <= 0.9 * best[left])
        best[left] = gap
        if not again.any() or stop(float(gap.max())):
            return [proofs[p] for p in range(len(problems))], sets
        left = [p for p, more in zip(left, again, strict=True) if more]
        target[left] *= 0.5
        some = [problems[p] for p in left]
        duals, margins = [net_dual[p] for p in left], [margin[p] for p in left]
        sets[left] += shared.solve(some, duals, margins, target[left], max_sets=max_sets, stop=stop)


def _certificates(
    shared: SharedBlocks,
    problems: Sequence[SharedProblem],
    net_dual: Arrays,
    margin: Arrays,
    tol: float,
) -> list[Certificate]:
    """Certify from the margins as they are; from exact ones, put in their place, if need be."""
    rounding = shared.margins.rounding(problems, net_dual, margin)
    states = list(zip(problems, net_dual, margin, strict=True))
    proofs = [
        certify(each.terms, dual, at, off)
        for (each, dual, at), off in zip(states, rounding, strict=True)
    ]
    undecided = [
        p
        for p, (each, dual, at) in enumerate(states)
        if proofs[p].relative_gap > tol >= certify(each.terms, dual, at).relative_gap
    ]
    if undecided:
        exact = shared.margins.of(
            [problems[p] for p in undecided], [net_dual[p] for p in undecided]
        )
        for p, margins in zip(undecided, exact, strict=True):
            margin[p][:] = margins
            proofs[p] = certify(problems[p].terms, net_dual[p], margins)
    return proofs
