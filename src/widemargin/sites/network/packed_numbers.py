"""Numbers as bytes, each in single precision where that is exact, and in double precision if not.

One bit per number says which it is, the first in the lowest bit, the last byte filled with zeros.
Then come the numbers in single precision and the others, little endian, both in order. Nothing is
rounded here: it is sites that round what they send, where single precision is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...gossip.simulation import numbers_bytes

__all__ = ["packed_numbers", "unpacked_numbers"]


def packed_numbers(numbers: Array) -> bytes:
    """Return the bytes of numbers."""
    single = _singles(numbers)
    bits = np.packbits(single, bitorder="little").tobytes()
    return bits + numbers[single].astype("<f4").tobytes() + numbers[~single].astype("<f8").tobytes()


def unpacked_numbers(data: bytes | memoryview, count: int) -> Array:
    """Return so many numbers; ValueError if these are not their bytes."""
    flags = np.frombuffer(data, dtype=np.uint8)[: -(-count // 8)]
    bits = np.unpackbits(flags, bitorder="little").astype(np.bool_)
    single = bits[:count]
    n_single = int(single.sum())
    if len(single) != count or len(data) != numbers_bytes(count, n_single):
        raise ValueError(f"{len(data)} bytes are not those of {count} numbers.")
    numbers = np.empty(count)
    longer = len(flags) + 4 * n_single
    numbers[single] = np.frombuffer(data[len(flags) : longer], dtype="<f4")
    numbers[~single] = np.frombuffer(data[longer:], dtype="<f8")
    if bits[count:].any() or (_singles(numbers) != single).any():
        raise ValueError("numbers must be in the least precision that is exact.")
    return numbers


def _singles(numbers: Array) -> NDArray[np.bool_]:
    """Return which numbers are exact in single precision."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.asarray(numbers.astype(np.float32) == numbers)
