"""Engines keep the parts of a training set and run functions on them.

Algorithms are written once against the :class:`Engine` protocol. ``local`` (threads of this
process) is the default, ``spark`` runs on an existing cluster.

======================================  =========================================================
verb                                    meaning
======================================  =========================================================
``scatter(blocks)``                     place parts
``release(parts)``                      free parts, or all parts of the engine
``map(parts, fn, report)``              apply a function to every part, in parallel
``regroup(parts, split, combine,        split every part into pieces addressed to new parts, and
n_to)``                                 combine the pieces of each new part
``reduce(parts, fn, combine)``          combine one small value of every part
``visit(parts, i, fn, value)``          run a function on one part, pass a value through it
``together(parts, fn)``                 run a function on all parts in one place
``share(n_parts)``                      threads of each part, and parts that share the memory
``stopping()``                          whether work in progress should stop
======================================  =========================================================
"""

from __future__ import annotations

from typing import Any

from .contract import Cheap, Engine, Report, Share
from .local import LocalEngine

__all__ = ["ENGINES", "Cheap", "Engine", "LocalEngine", "Report", "Share", "resolve"]

# Engines that have a name.
ENGINES = ("local", "spark")


def resolve(engine: Any, threads: int) -> Engine:
    """Return the engine for an estimator's ``engine`` parameter."""
    if isinstance(engine, str) and engine == "local":
        return LocalEngine(threads)
    if isinstance(engine, str) and engine == "spark":
        from .spark import SparkEngine

        return SparkEngine()
    if isinstance(engine, Engine):
        return engine
    raise ValueError(
        "`engine` must be 'local', 'spark' or an object with the verbs scatter, release, map, "
        "regroup, reduce, visit and together, and with share, stopping and in_process (see "
        f"widemargin.engines.Engine); got {engine!r}."
    )
