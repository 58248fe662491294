"""A site's copy of its study: which newer versions it believes, and whom it tells.

Frames carry the version of the study that their sender has. A site sends its copy to neighbours
with an older one, and the desk has the newest. A version is believed only if the owner's signature
holds; nothing else of it is read before.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping

from ..network.keys import TokenBucket
from ..network.wire import Kind, bytes_frame
from .study import Study, StudyError

__all__ = ["Membership"]

# Studies that are sent to a neighbour, and read of one, per second and at once.
PACE, BURST = 0.5, 3.0


class Membership:
    """The study of a running site; None for a site that is configured by hand."""

    def __init__(self, study: Study | None, listener: Callable[..., None]) -> None:
        self.study, self._listener = study, listener
        self._sending: dict[str, TokenBucket] = {}
        self._reading: dict[str, TokenBucket] = {}
        self._arrived: queue.SimpleQueue[Study] = queue.SimpleQueue()
        self._refused: set[str] = set()

    @property
    def frame(self) -> bytes:
        """The frame that tells a neighbour of this study."""
        assert self.study is not None
        return bytes_frame(Kind.STUDY, self.study.to_bytes(), study_version=self.study.version)

    def behind(self, versions: Mapping[str, int | None]) -> list[str]:
        """Return the keys of neighbours to tell now; versions are None where not known."""
        if self.study is None:
            return []
        older = [k for k, v in versions.items() if v is not None and v < self.study.version]
        return [k for k in older if self._sending.setdefault(k, _limit()).take()]

    def hear(self, key: str, version: int, data: bytes) -> None:
        """Check a study that a neighbour sent, and keep it if it is newer; callable by one thread.

        ``version`` is what the frame claims; a claim that is not above the own version costs
        nothing.
        """
        if self.study is None or version <= self.study.version:
            return
        if self._reading.setdefault(key, _limit()).take():
            self.offer(data)

    def offer(self, data: bytes) -> None:
        """Check a study, and keep it if it is newer; callable from any thread."""
        study = self.study
        if study is None:
            return
        try:
            newer = Study.from_bytes(data, owner=study.owner)
            if newer.version > study.version:
                study.check_successor(newer)
                self._arrived.put(newer)
        except StudyError as error:
            if str(error) not in self._refused and len(self._refused) < 16:
                self._refused.add(str(error))
                self._listener("study_refused", reason=str(error))

    def take(self) -> Study | None:
        """Return the newest version that has arrived since it was last asked, if any."""
        found: Study | None = None
        while not self._arrived.empty():
            each = self._arrived.get()
            if self.study is not None and each.version > (found or self.study).version:
                found = each
        return found

    def adopt(self, study: Study) -> None:
        """Change to another version."""
        self.study = study

    def forget(self, key: str) -> None:
        """Forget a neighbour."""
        self._sending.pop(key, None)
        self._reading.pop(key, None)


def _limit() -> TokenBucket:
    return TokenBucket(PACE, BURST)
