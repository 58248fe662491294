"""What a fit spends in each of the engine's verbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from widemargin.engines.spark import SparkEngine

# Those that wait for a job; others only say what is to be done.
WAITING = ("keep_noted", "numbers", "reduce", "visit", "together", "scatter")
WORKING = ("map", "regroup", "reduce", "visit", "together")


@contextmanager
def verbs_timed(
    engine: type[Any] = SparkEngine, names: tuple[str, ...] = WAITING
) -> Iterator[dict[str, list[float]]]:
    """Yield the seconds of every call by verb, as they are made.

    A verb that another one calls counts for that one.
    """
    seconds: dict[str, list[float]] = {}
    before = {name: getattr(engine, name) for name in names}
    inside: list[str] = []

    def timed(name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def call(*arguments: Any, **named: Any) -> Any:
            if inside:
                return verb(*arguments, **named)
            inside.append(name)
            began = time.perf_counter()
            try:
                return verb(*arguments, **named)
            finally:
                inside.pop()
                seconds.setdefault(name, []).append(time.perf_counter() - began)

        return call

    for name, verb in before.items():
        setattr(engine, name, timed(name, verb))
    try:
        yield seconds
    finally:
        for name, verb in before.items():
            setattr(engine, name, verb)


def totals(seconds: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Return how often each verb was called, and its seconds."""
    return {name: {"calls": len(each), "seconds": sum(each)} for name, each in seconds.items()}
