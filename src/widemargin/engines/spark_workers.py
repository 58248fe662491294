"""Spark's Python workers: the library they must have, their number, and their garbage."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

# Rows of the job that probes the workers: more than a cluster has cores, but few.
PROBE_ROWS = 2**14
# Modules that were loaded when this worker was settled.
_settled = 0
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


def settle_worker() -> None:
    """Exempt what is loaded from garbage collection, which a worker does after every task.

    Collecting takes 75 ms where the library, SciPy and scikit-learn are loaded, and the next task
    waits for it.
    """
    global _settled
    if len(sys.modules) > _settled and "SPARK_REUSE_WORKER" in os.environ:
        gc.freeze()
        _settled = len(sys.modules)
