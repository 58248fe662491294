"""Whether Spark's workers can do our work, and how many there are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

# Rows of the job that asks the workers: more than any cluster has cores, few for anybody.
PROBE_ROWS = 2**14

# By session, and forgotten with it.
_known: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def require_workers(session: Any) -> int:
    """Return the cores of the cluster; raise if its workers lack this version of the library."""
    from pyspark.sql.functions import spark_partition_id, udf

    known = _known.get(session)
    if known is not None:
        return known
    own = version("widemargin")
    # A plain function, as Arrow itself may be missing there.
    probe = udf(_probe(), "string", useArrow=False)
    # Left to Spark, a range has as many partitions as tasks run at a time. Over Connect nothing
    # else tells.
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
    # A function inside a function is sent by value, so that it runs where the library is missing.
    def probe(_):  # type: ignore[no-untyped-def]  # hints would ask for Arrow
        import sys

        try:
            import pyarrow  # noqa: F401

            import widemargin
        except Exception as error:
            return f"{type(error).__name__}: {error} (in their Python, {sys.executable})"
        return str(widemargin.__version__)

    return probe
