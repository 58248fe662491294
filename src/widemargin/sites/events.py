"""The log of a site: one event per line.

Lines are JSON, or easier to read on a terminal, with the same fields.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

__all__ = ["EventLog"]

# Events that an operator should look at.
WARNINGS = {
    "features_unscaled",
    "crowded",
    "frame_rejected",
    "memory_exceeded",
    "desk_unreachable",
    "neighbour_out_of_limits",
    "refused",
    "relay_failed",
    "removed_from_study",
    "row_square_unlike",
    "settings_differ",
    "state_behind",
    "state_not_saved",
    "state_set_aside",
    "transport_failed",
    "study_refused",
    "table_note",
    "unreachable",
}
NOT_FINITE = {math.inf: "inf", -math.inf: "-inf"}


class EventLog:
    """Listener that writes each event as a line.

    Parameters
    ----------
    site : str
        Name of the site, part of every line.
    path : path-like, default=None
        File to append to; standard error if None. A file that was moved away (log rotation) is
        created again.
    as_json : bool, default=None
        Whether lines are JSON; None takes JSON unless they go to a terminal.

    Examples
    --------
    >>> import sys
    >>> log = EventLog("plant-3", as_json=True, stream=sys.stdout)
    >>> log("started", rows=120)  # doctest: +ELLIPSIS
    {"time": "...", "level": "info", "site": "plant-3", "event": "started", "rows": 120}
    """

    def __init__(
        self,
        site: str,
        path: str | os.PathLike[str] | None = None,
        *,
        as_json: bool | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self._site = site
        self._path = None if path is None else Path(path)
        self._stream = sys.stderr if stream is None else stream
        self._lock = threading.Lock()
        if self._path is not None:
            self._stream = self._opened()
        self._as_json = not self._stream.isatty() if as_json is None else as_json

    def __call__(self, event: str, **fields: Any) -> None:
        """Write one event."""
        level = "warning" if event in WARNINGS else "info"
        now = datetime.now(UTC)
        if self._as_json:
            line = _json_line(now, level, self._site, event, fields)
        else:
            line = _readable_line(now, level, self._site, event, fields)
        # A full disk or a closed terminal must not stop the site.
        with self._lock, suppress(OSError, ValueError):
            self._reopen_if_moved()
            self._stream.write(line + "\n")
            self._stream.flush()

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._path is not None:
            with self._lock:
                self._stream.close()

    def _opened(self) -> TextIO:
        assert self._path is not None
        return open(self._path, "a", encoding="utf-8")

    def _reopen_if_moved(self) -> None:
        if self._path is None:
            return
        here = os.fstat(self._stream.fileno())
        with suppress(FileNotFoundError):
            there = os.stat(self._path)
            if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
                return
        self._stream.close()
        self._stream = self._opened()


def _json_line(now: datetime, level: str, site: str, event: str, fields: dict[str, Any]) -> str:
    line = {
        "time": now.isoformat(timespec="milliseconds"),
        "level": level,
        "site": site,
        "event": event,
        **{name: _finite(value) for name, value in fields.items()},
    }
    return json.dumps(line, default=str)


def _readable_line(now: datetime, level: str, site: str, event: str, fields: dict[str, Any]) -> str:
    time = now.astimezone().strftime("%H:%M:%S")
    words = "".join(f" {name}={_shown(value)}" for name, value in fields.items())
    urgent = "" if level == "info" else f"{level.upper()} "
    return f"{time} {site}: {urgent}{event.replace('_', ' ')}{words}"


def _finite(value: Any) -> Any:
    """Replace numbers that JSON cannot represent by texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return NOT_FINITE.get(value, "nan")
    return value


def _shown(value: Any) -> str:
    """Return a value as text without control characters."""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    return text if text.isprintable() and " " not in text else json.dumps(text)
