"""The peak of a process's anonymous memory: arrays and stacks, without files that are mapped."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from .processes import field_mb

ROLLUP = Path("/proc/self/smaps_rollup")
SECONDS = 0.05


def anonymous_mb() -> float:
    """Return the anonymous memory of this process; NaN where the system does not report it."""
    return field_mb(ROLLUP, "Anonymous") if ROLLUP.exists() else float("nan")


class AnonymousPeak:
    """Watches memory while it is entered: ``mb`` is the most that was seen, ``start`` the first.

    It is looked up many times a second, so that only a short peak can be missed.
    """

    def __init__(self) -> None:
        self.start = self.mb = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self.start = self.mb = anonymous_mb()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(SECONDS):
            self.mb = max(self.mb, anonymous_mb())
