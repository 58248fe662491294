"""Engines keep the parts of a training set and run work on them, by a few verbs.

Algorithms are written once against :class:`Engine`; ``local`` (threads of this process) is the
engine that is always there, ``spark`` runs on an existing cluster.

==========================  =====================================================
verb                        meaning
==========================  =====================================================
``scatter(blocks)``         place the parts
``map(parts, fn)``          every part, in parallel
``regroup(parts, split,     break every part into pieces addressed to new parts,
combine, n_to)``            and put the pieces of each new part together
``reduce(parts, fn,         one small value from all parts
combine)``
``visit(parts, i, fn,       run on one part, pass a value on
value)``
``together(parts, fn)``     run on all parts in one place
``release(parts)``          free them, or all that the engine keeps
==========================  =====================================================
"""

from __future__ import annotations

from typing import Any

from .contract import Engine, Report, Share
from .local import LocalEngine

__all__ = ["Engine", "LocalEngine", "Report", "Share", "resolve"]


def resolve(engine: Any, threads: int) -> Engine:
    """Turn the ``engine`` parameter of an estimator into an engine."""
    if isinstance(engine, str) and engine == "local":
        return LocalEngine(threads)
    if isinstance(engine, str) and engine == "spark":
        try:
            from .spark import SparkEngine
        except ImportError as error:
            raise ImportError(
                "engine='spark' needs pyspark and pyarrow; install them with: pip install "
                "'widemargin[spark]'"
            ) from error
        return SparkEngine()
    if isinstance(engine, Engine):
        return engine
    raise ValueError(
        "`engine` must be 'local', 'spark' or an object with the verbs scatter, release, map, "
        "regroup, reduce, visit and together, and with share, stopping and in_process (see "
        f"widemargin.engines.Engine); got {engine!r}."
    )
