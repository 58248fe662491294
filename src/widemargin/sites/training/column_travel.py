"""How far a neighbour's vectors go, where a message has several problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from .travel import Journey, RowSample

__all__ = ["Journeys", "Way"]


@dataclass(frozen=True)
class Way:
    """How the vectors of one problem are measured, and how far they may go.

    A vector of ``size`` numbers grows with the penalty of the link, which doubles up to ``levels``
    times; the level stands after it, where the penalty tunes itself.
    """

    sample: RowSample
    most: float
    size: int
    levels: int = 0

    def vector(self, body: Array) -> Array:
        """Return the vector of a message as it would be at the first penalty."""
        told = float(body[self.size]) if len(body) > self.size else 0.0
        return np.asarray(body[: self.size] / 2.0 ** min(max(0.0, np.floor(told)), self.levels))


class Journeys:
    """The ways of one neighbour's vectors, one per problem; each has a bucket of its own."""

    def __init__(self, ways: Sequence[Way]) -> None:
        self._ways = ways
        self._each = [Journey(way.most) for way in ways]

    @property
    def left(self) -> float:
        """How far the neighbour may still go now, in the problem where that is least."""
        return min(each.left for each in self._each)

    def saved(self) -> list[dict[str, Any]]:
        """Return the journeys as a state keeps them."""
        return [each.saved() for each in self._each]

    def resume(self, saved: Sequence[Mapping[str, Any]]) -> None:
        """Go on from where saved journeys were; those of new problems begin."""
        for each, own in zip(self._each, saved, strict=False):
            each.resume(own)

    def begin_again(self) -> None:
        """Count the next vectors from nothing: the last ones are no longer followed."""
        for each in self._each:
            each.begin_again()

    def go(self, vectors: Mapping[int, Array]) -> None:
        """Go on to vectors, by the positions of their problems; FrameError if one is too far."""
        for column, body in vectors.items():
            way = self._ways[column]
            self._each[column].go(way.vector(body), way.sample)
