"""The loosest ``tol`` with which a peer's own gap is small enough.

Peers stop when the optimality conditions are violated by at most ``tol``, which says nothing about
the gap beforehand: it has to be measured. The gap is taken to fall with ``tol``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

TOLS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
FIRST_TOL = 1e-2
TARGET_GAP = 1e-3
# A peer that stalls has the same gap with several tols, up to this share: it gets the loosest.
SAME_GAP = 0.05


@dataclass(frozen=True)
class Rung:
    """A tol, and what the peer gets with it; the gap is None where it ran out of time."""

    tol: float
    gap: float | None

    @property
    def reached(self) -> bool:
        """Whether the gap is small enough."""
        return self.gap is not None and self.gap <= TARGET_GAP


def loosest(gap_at: Callable[[float], float | None], first: float = FIRST_TOL) -> Rung | None:
    """Walk from a first tol to the loosest one whose gap is at most 1e-3.

    Parameters
    ----------
    gap_at : callable
        Fits the peer with a tol; returns its relative gap, None if it did not finish.
    first : float
        Where to begin.

    Returns
    -------
    Rung or None
        The rung found. Where none is good enough, the one with the smallest gap, which
        ``reached`` tells; None where no fit finished.
    """
    if first not in TOLS:
        raise ValueError(f"`first` must be one of {TOLS}; got {first}.")
    at = TOLS.index(first)
    tried: list[Rung] = []
    for tol in TOLS[at:]:
        tried.append(Rung(tol, gap_at(tol)))
        if tried[-1].reached or tried[-1].gap is None:  # too slow: no hope for tighter ones
            break
    loosest_tried = tried[0]
    for tol in reversed(TOLS[:at]):
        if not _as_good(loosest_tried, _best(tried)):
            break
        loosest_tried = Rung(tol, gap_at(tol))
        tried.append(loosest_tried)
    best = _best(tried)
    good = [each for each in tried if each.gap is not None and _as_good(each, best)]
    return max(good, key=lambda each: each.tol, default=None)


def _best(tried: list[Rung]) -> float | None:
    return min((each.gap for each in tried if each.gap is not None), default=None)


def _as_good(rung: Rung, best: float | None) -> bool:
    if rung.gap is None or best is None:
        return best is None
    return rung.reached if best <= TARGET_GAP else rung.gap <= (1.0 + SAME_GAP) * best
