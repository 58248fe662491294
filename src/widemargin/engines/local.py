"""The local engine: parts in memory, work on threads of this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import reduce as fold
from typing import Any, TypeVar

from ..core.resources import single_threaded_blas
from .contract import Report, Share

Value = TypeVar("Value")

# Waits of the main thread are this short, so that it notices Ctrl-C.
SECONDS_BETWEEN_LOOKS = 0.1
# Maximum number of parts that are worked on at a time and share the memory limit, on any machine.
MOST_SHARERS = 8


class LocalEngine:
    """Engine that keeps parts in a list and works on them with threads.

    The native core releases the interpreter's lock, so threads are enough. Only the main thread
    receives Ctrl-C: it waits while others work, makes them stop, and then raises.

    Parameters
    ----------
    threads : int
        Total number of threads; results do not depend on it.
    """

    in_process = True

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._stop = threading.Event()
        self._idle: dict[tuple[int, int], ThreadPoolExecutor] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"threads": self.threads}  # an event cannot be copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        LocalEngine.__init__(self, state["threads"])

    def share(self, n_parts: int) -> Share:
        """Return how many parts share the memory, and the threads of each."""
        sharers = max(1, min(n_parts, MOST_SHARERS))
        return Share(sharers, max(1, self.threads // self._concurrent(n_parts)))

    def _concurrent(self, n_parts: int) -> int:
        return max(1, min(self.threads, n_parts, MOST_SHARERS))

    def stopping(self) -> bool:
        """Return whether work in progress should stop."""
        return self._stop.is_set()

    def scatter(self, blocks: Sequence[Any]) -> list[Any]:
        """Place the parts."""
        return list(blocks)

    def release(self, parts: list[Any] | None = None) -> None:
        """Do nothing: parts are freed with their last reference."""

    def map(
        self, parts: list[Any], fn: Callable[[Any], Any], report: Report | None = None
    ) -> list[Any]:
        """Apply ``fn`` to every part, large ones first; a single part in the main thread."""
        return self._applied(parts, fn, report)

    def _applied(
        self, parts: list[Any], fn: Callable[[Any], Any], report: Report | None
    ) -> list[Any]:
        concurrent = self._concurrent(len(parts))
        self._stop.clear()
        if concurrent == 1:
            return _one_by_one(parts, fn, report)
        by_size = sorted(range(len(parts)), key=lambda k: -getattr(parts[k], "n_rows", 0))
        # The limit on BLAS threads holds for the process, so it is set before the threads start.
        with single_threaded_blas(), self._pool(concurrent) as pool:
            waiting = {k: pool.submit(fn, parts[k]) for k in by_size}
            try:
                _wait(list(waiting.values()), report)
            except BaseException:
                self._stop.set()
                for future in waiting.values():
                    future.cancel()
                wait(waiting.values())
                raise
        return [waiting[k].result() for k in range(len(parts))]

    @contextmanager
    def _pool(self, concurrent: int) -> Iterator[ThreadPoolExecutor]:
        """Reuse the threads of the last map, or start new ones, which takes a millisecond.

        A map within a map starts its own, and so does a forked process, which inherits no threads.
        """
        key = (os.getpid(), concurrent)
        pool = self._idle.pop(key, None) or ThreadPoolExecutor(concurrent)
        yield pool
        self._idle[key] = pool

    def regroup(
        self,
        parts: list[Any],
        split: Callable[[int, Any], list[tuple[int, Any]]],
        combine: Callable[[list[Any]], Any],
        n_to: int,
    ) -> list[Any]:
        """Redistribute pieces of parts to new parts."""
        pieces: list[list[Any]] = [[] for _ in range(n_to)]
        for k, part in enumerate(parts):
            for target, piece in split(k, part):
                pieces[target].append(piece)
        return [combine(each) for each in pieces if each]

    def reduce(
        self, parts: list[Any], fn: Callable[[Any], Value], combine: Callable[[Value, Value], Value]
    ) -> Value:
        """Combine a value of every part, in their order."""
        values: list[Value] = self._applied(parts, fn, None)
        return fold(combine, values)

    def visit(
        self, parts: list[Any], i: int, fn: Callable[[Any, Value], Value], value: Value
    ) -> Value:
        """Run ``fn`` on part ``i`` with a value, and return the result."""
        return fn(parts[i], value)

    def together(self, parts: list[Any], fn: Callable[[list[Any]], Value]) -> Value:
        """Run ``fn`` on all parts."""
        return fn(parts)


def _one_by_one(parts: list[Any], fn: Callable[[Any], Any], report: Report | None) -> list[Any]:
    results = []
    for part in parts:
        results.append(fn(part))
        if report is not None and len(parts) > 1:
            report(len(results), len(parts))
    return results


def _wait(futures: list[Future[Any]], report: Report | None) -> None:
    """Wait for all futures, in steps short enough to notice Ctrl-C."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
        for future in done:
            future.result()  # raises the exception of the part, if any
        if report is not None:
            report(len(futures) - len(pending), len(futures))
