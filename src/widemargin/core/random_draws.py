"""Random numbers that are functions of a seed, a stream and a position, alike on every machine.

Sites of a network draw the same numbers without exchanging them, and a model that was written by
one version is read by the next. NumPy's generators do not promise this: their streams may change
from version to version. Bits and signs are exact; normal quantiles may differ by a few units in the
last place where libraries differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .arrays import Array

Words = NDArray[np.uint64]
_GOLDEN = 0x9E3779B97F4A7C15
_FEISTEL_ROUNDS = 6


def scrambled(x: Words) -> Words:
    """Scramble 64-bit words one by one (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def shuffled(place: NDArray[np.int64], size: int, seed: Sequence[int]) -> NDArray[np.int64]:
    """Return where some of the numbers 0 … size − 1 go in a random order of them all.

    A Feistel network permutes the numbers below a power of four; what leaves the range goes
    through it again until it is back.
    """
    if place.size and int(place.max()) >= size:
        raise ValueError(f"numbers to shuffle must be below {size}; got {int(place.max())}.")
    half = np.uint64(max(1, (max(1, size - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    state: Words = np.zeros(1, dtype=np.uint64)
    for part in seed:
        state = scrambled(state + np.uint64((part + 1) * _GOLDEN % 2**64))
    step = np.arange(1, _FEISTEL_ROUNDS + 1, dtype=np.uint64)
    keys = scrambled(state + step * np.uint64(_GOLDEN))
    found = place.astype(np.uint64)
    outside = np.arange(place.size)
    while outside.size:
        left, right = found[outside] >> half, found[outside] & mask
        for key in keys:
            left, right = right, left ^ (scrambled(right + key) & mask)
        found[outside] = (left << half) | right
        outside = outside[found[outside] >= size]
    return found.astype(np.int64)


class Draws:
    """The random numbers of one seed; every call names a stream, and streams are unrelated."""

    def __init__(self, seed: int) -> None:
        self._seed = np.array([seed % 2**64], dtype=np.uint64)

    def words(self, stream: int, *shape: int) -> Words:
        """Return uniform 64-bit words."""
        start = scrambled(self._seed + np.uint64((stream + 1) * _GOLDEN % 2**64))
        place = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
        return scrambled(start + place * np.uint64(_GOLDEN)).reshape(shape)

    def uniform(self, stream: int, *shape: int) -> Array:
        """Return numbers between 0 and 1, both excluded."""
        whole = (self.words(stream, *shape) >> np.uint64(12)).astype(np.float64)
        return (whole + 0.5) * 2.0**-52

    def normal(self, stream: int, *shape: int) -> Array:
        """Return standard normal numbers."""
        return np.asarray(ndtri(self.uniform(stream, *shape)))

    def signs(self, stream: int, *shape: int) -> Array:
        """Return numbers that are 1 or -1."""
        return 1.0 - 2.0 * (self.words(stream, *shape) >> np.uint64(63)).astype(np.float64)

    def below(self, end: int, stream: int, *shape: int) -> NDArray[np.int64]:
        """Return whole numbers from 0 to ``end - 1``."""
        return np.minimum(self.uniform(stream, *shape) * end, end - 1).astype(np.int64)
