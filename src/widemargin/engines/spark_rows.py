"""Rows of a DataFrame, brought to the driver without the driver's JVM decoding them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def collected(frame: Any, cancel: Callable[[], object]) -> list[dict[str, Any]]:
    """Return all rows as dictionaries, in the order of their partitions.

    They pass through the JVM as the Arrow batches that executors made of them. ``collect()`` has
    it decode, copy and pickle them: a matrix of 16 MB then takes over 100 MB of its heap. Over
    Spark Connect both come as Arrow.

    ``cancel`` ends the job. It is called if Ctrl-C is pressed.
    """
    try:
        with _cancelled_first(cancel):
            rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    except Exception as error:
        # The cancelled job raises an error of its own on the way out of an interrupt.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    return rows


@contextmanager
def _cancelled_first(cancel: Callable[[], object]) -> Iterator[None]:
    """Cancel the job before an interrupt is raised: ``toArrow`` waits for it to end."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def cancel_first(number: int, stack: Any) -> None:
        cancel()
        before(number, stack)

    signal.signal(signal.SIGINT, cancel_first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
