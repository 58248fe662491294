"""Frames that an enemy with a neighbour's keys may send."""

from __future__ import annotations

import numpy as np

from widemargin.sites.network.packed_numbers import packed_numbers, unpacked_numbers
from widemargin.sites.network.wire import HEADER_BYTES


def hostile(frame: bytes, rng: np.random.Generator, k: int) -> bytes:
    """Vary a sound frame: garbage, cut, altered, or in good form and a lie."""
    data = bytearray(frame)
    kind = k % 8
    if kind == 0:
        return bytes(rng.integers(0, 256, rng.integers(0, 300), dtype=np.uint8))
    if kind == 1:
        return bytes(data[: rng.integers(0, len(data))])
    if kind == 2:
        for _ in range(rng.integers(1, 8)):
            data[rng.integers(len(data))] = rng.integers(256)
    elif kind == 3:
        numbers = numbers_of(frame)
        numbers[rng.integers(len(numbers))] = rng.choice([np.nan, np.inf, -np.inf])
        return frame[:HEADER_BYTES] + packed_numbers(numbers)
    elif kind == 4:
        data[4:6] = rng.integers(0, 256, 2, dtype=np.uint8).tobytes()
    else:
        numbers = numbers_of(frame)
        numbers[:-3] = rng.standard_normal(len(numbers) - 3) * 10.0 ** rng.integers(-3, 300)
        if kind == 6:  # believable
            numbers[:-3] = rng.standard_normal(len(numbers) - 3)
        numbers[-3], numbers[-2] = rng.integers(0, 2**30), k + 1
        data[HEADER_BYTES:] = packed_numbers(numbers)
        data[32:40] = (k + 1).to_bytes(8, "little")
        if kind == 7:
            data[16:24] = int(rng.integers(1, 2**62)).to_bytes(8, "little")
    return bytes(data)


def numbers_of(frame: bytes) -> np.ndarray:
    """Return the numbers of a sound frame."""
    return unpacked_numbers(frame[HEADER_BYTES:], int.from_bytes(frame[56:60], "little"))
