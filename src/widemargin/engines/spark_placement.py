"""Where Spark puts rows: keys that a shuffle sends to a partition of our choice.

``repartition(n, key)`` sends a row to partition pmod(hash(key), n), and its hash of an integer is
Murmur3 with seed 42. Knowing it, one key per partition is found by trying small numbers.
"""

from __future__ import annotations

from functools import lru_cache

MASK = 0xFFFFFFFF


def spark_hash(key: int) -> int:
    """Return what Spark's ``hash`` makes of an int column's value."""
    k = (key * 0xCC9E2D51) & MASK
    k = (_turned(k, 15) * 0x1B873593) & MASK
    h = (_turned(42 ^ k, 13) * 5 + 0xE6546B64) & MASK
    h ^= 4  # bytes of an int
    h ^= h >> 16
    h = (h * 0x85EBCA6B) & MASK
    h ^= h >> 13
    h = (h * 0xC2B2AE35) & MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


@lru_cache(maxsize=64)
def partition_keys(n_partitions: int) -> tuple[int, ...]:
    """Return for every partition a key whose rows go there."""
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < n_partitions:
        keys.setdefault(spark_hash(key) % n_partitions, key)
        key += 1
    return tuple(keys[partition] for partition in range(n_partitions))


def _turned(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & MASK
