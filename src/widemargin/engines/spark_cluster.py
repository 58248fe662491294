"""The Spark cluster that an engine runs on: its workers, its cores, and where a shuffle puts rows.

``repartition(n, key)`` sends a row to partition pmod(hash(key), n), where the hash of an integer is
Murmur3 with seed 42. Trying small numbers therefore gives a key for every partition.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

# Rows of the job that probes the workers: more than a cluster has cores, but few.
PROBE_ROWS = 2**14

_MASK = 0xFFFFFFFF

# Cores by session; an entry goes with its session.
_known: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def require_workers(session: Any) -> int:
    """Return the cores of the cluster; raise if its workers lack this version of the library."""
    from pyspark.sql.functions import spark_partition_id, udf

    known = _known.get(session)
    if known is not None:
        return known
    own = version("widemargin")
    # Without Arrow, which may be missing on the workers.
    probe = udf(_probe(), "string", useArrow=False)
    # By default a range has as many partitions as tasks run at a time. Spark Connect offers no
    # other way to find out.
    asked = session.range(PROBE_ROWS).select(spark_partition_id().alias("partition"), probe("id"))
    answers = {tuple(row) for row in asked.collect()}
    for found in sorted({found for _, found in answers}):
        if found != own:
            raise RuntimeError(
                f"Spark's workers need widemargin {own} and pyarrow, as this process has; found "
                f"{found}. Install them there, have workers run another Python (environment "
                f"variable PYSPARK_PYTHON, set before the session starts; here it would be "
                f"{sys.executable}), or ship an environment with spark.archives (see the guide, "
                "'Spark')."
            )
    cores = _known[session] = len({partition for partition, _ in answers})
    return cores


def _probe() -> Callable[[int], str]:
    # A nested function is pickled by value, so it runs where the library is missing.
    def probe(_):  # type: ignore[no-untyped-def]  # type hints would make it an Arrow function
        import sys

        try:
            import pyarrow  # noqa: F401

            import widemargin
        except Exception as error:
            return f"{type(error).__name__}: {error} (in their Python, {sys.executable})"
        return str(widemargin.__version__)

    return probe


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
