"""Which parts need their rows sent to the workers, and which are known to have a copy there.

Spark's storage always has the parts whole, and everything that is computed from parts for storage
reads them whole: Spark can make again what is lost. Only jobs that return a value send heads
without arrays. Tasks go where Spark has the parts, and their workers find copies there
(:mod:`.part_files`). A partition in which one is lost answers so, and a second job sends its rows.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.resources import memory_bytes
from .part_files import PartFiles

# Bytes that copies of parts may take on the disk of an executor.
LOCAL_COPIES = "4GiB"
# Copies of smaller sets cost more than they save: their removal is a job.
SMALLEST_SET = 32 * 2**20
# First and last number of the parts of a partition.
Span = tuple[int, int]
# A partition that lost its copies this often is sent its rows from then on.
MOST_LOSSES = 3
# With more partitions to send, all rows are sent: a query must not become too long.
MOST_SPANS = 200


def limit_of(local_copies: int | str, name: str = "local_copies") -> int:
    """Return the bytes that copies may take, 0 for none; ``name`` is that of the parameter."""
    return 0 if local_copies in (0, "0") else memory_bytes(local_copies, name)


@dataclass
class PartCopies:
    """What the driver knows of the copies of some parts."""

    files: PartFiles
    expected: bool = False  # whether workers have seen all parts
    losses: dict[Span, int] = field(default_factory=dict)

    def lost(self, span: Span, for_good: bool) -> None:
        """Note that copies of a partition are lost, for good if there is no room for others."""
        self.losses[span] = MOST_LOSSES if for_good else self.losses.get(span, 0) + 1

    def spared(self, frame: Any) -> Any:
        """Return a frame of chunks without the arrays that workers have."""
        hopeless = [span for span, times in self.losses.items() if times >= MOST_LOSSES]
        if not self.expected or len(hopeless) > MOST_SPANS:
            return frame
        sent = within(hopeless)
        # Spark does not even look at a column that is not asked for.
        data = f"if({sent}, data, null) as data" if hopeless else "cast(null as binary) as data"
        return frame.where(f"chunk = 0 or ({sent})").selectExpr("part", "chunk", "head", data)


def within(spans: list[Span]) -> str:
    """Return Spark's condition for the parts of some partitions."""
    return " or ".join(f"part between {a} and {b}" for a, b in spans) or "false"


class FitCopies:
    """Copies of all parts of a fit.

    Parameters
    ----------
    limit : int
        Bytes that they may take on each executor; 0 keeps none.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._fit, self._released = uuid.uuid4().hex, list[str]()
        self._used = False  # whether there may be files

    def new(self, n_bytes: int) -> PartCopies | None:
        """Return the copies of parts of this size in all: none yet, or None if none are kept."""
        if not self.limit or n_bytes < SMALLEST_SET:
            return None
        return self._new()

    def like(self, copies: PartCopies | None) -> PartCopies | None:
        """Return the copies of parts that are made of others."""
        return None if copies is None else self._new()

    def _new(self) -> PartCopies:
        return PartCopies(PartFiles(self._fit, uuid.uuid4().hex, self.limit))

    def files(self, copies: PartCopies | None) -> PartFiles | None:
        """Return the files for a task, which also removes what has been released."""
        if copies is None:
            return None
        self._used = True
        return replace(copies.files, released=tuple(self._released))

    def release(self, copies: PartCopies | None) -> None:
        """Have the next tasks remove the copies of some parts."""
        if copies is not None:
            self._released.append(copies.files.parts)

    def end(self) -> PartFiles | None:
        """Begin another fit; return the files to remove of this one, if there may be any."""
        ended = PartFiles(self._fit, "", self.limit) if self._used else None
        self._fit, self._released, self._used = uuid.uuid4().hex, [], False
        return ended
