"""How far a neighbour's vectors go, where a message has several problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.arrays import Array
from .travel import Journey, RowSample

__all__ = ["Journeys", "Way"]


@dataclass(frozen=True)
class Way:
    """How the vectors of one problem are measured, and how far they may go."""

    sample: RowSample
    most: float


class Journeys:
    """The ways of one neighbour's vectors, one per problem; each has a bucket of its own."""

    def __init__(self, ways: Sequence[Way]) -> None:
        self._ways = ways
        self._each = [Journey(way.most) for way in ways]

    @property
    def left(self) -> float:
        """How far the neighbour may still go now, in the problem where that is least."""
        return min(each.left for each in self._each)

    def go(self, vectors: Mapping[int, Array]) -> None:
        """Go on to vectors, by the positions of their problems; FrameError if one is too far."""
        for column, vector in vectors.items():
            self._each[column].go(vector, self._ways[column].sample)
