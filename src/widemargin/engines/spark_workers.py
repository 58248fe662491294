"""Whether Spark's workers can do our work, and how many there are."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

_known: dict[int, int] = {}


def require_workers(session: Any) -> int:
    """Return the cores of the cluster; raise if its workers lack this version of the library."""
    from pyspark.sql.functions import udf

    known = _known.get(id(session))
    if known is not None:
        return known
    cores, own = _cores(session), version("widemargin")
    # A plain function, as Arrow itself may be missing there.
    probe = udf(_probe(), "string", useArrow=False)
    rows = session.range(0, 4 * cores, 1, 4 * cores).select(probe("id").alias("found")).collect()
    for found in sorted({row["found"] for row in rows}):
        if found != own:
            raise RuntimeError(
                f"Spark's workers need widemargin {own}, as this process has; found: "
                f"{found}. Install it in their Python, or ship an environment with "
                "spark.archives (see the guide, 'Spark')."
            )
    _known[id(session)] = cores
    return cores


def _probe() -> Callable[[int], str]:
    # A function inside a function is sent by value, so that it runs where the library is missing.
    def probe(_):  # type: ignore[no-untyped-def]  # hints would ask for Arrow
        try:
            import pyarrow  # noqa: F401

            import widemargin
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return str(widemargin.__version__)

    return probe


def _cores(session: Any) -> int:
    """Return how many tasks run at a time, as far as Spark tells."""
    try:
        return max(1, int(session.sparkContext.defaultParallelism))
    except Exception:  # Connect has no context
        return max(1, int(session.conf.get("spark.default.parallelism", "2") or 2))
