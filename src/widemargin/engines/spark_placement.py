"""Keys that send rows to a given partition of Spark.

``repartition(n, key)`` sends a row to partition pmod(hash(key), n), where the hash of an integer is
Murmur3 with seed 42. Trying small numbers therefore gives a key for every partition.
"""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF


def spark_hash(key: int) -> int:
    """Return Spark's ``hash`` of a value of an int column."""
    k = (key * 0xCC9E2D51) & _MASK
    k = (_rotated(k, 15) * 0x1B873593) & _MASK
    h = (_rotated(42 ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # size of an int in bytes
    h ^= h >> 16
    h = (h * 0x85EBCA6B) & _MASK
    h ^= h >> 13
    h = (h * 0xC2B2AE35) & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


@lru_cache(maxsize=64)
def partition_keys(n_partitions: int) -> tuple[int, ...]:
    """Return one key per partition whose rows Spark puts there."""
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < n_partitions:
        keys.setdefault(spark_hash(key) % n_partitions, key)
        key += 1
    return tuple(keys[partition] for partition in range(n_partitions))


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
