"""A running site's questions to the desk of its study, whether it has new members."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from ..config import SiteConfig
from ..network.keys import read_secret_key
from .desk_client import DeskClient, EnrolmentError
from .membership import Membership

__all__ = ["DeskWatch", "StudyMember"]


class StudyMember(Protocol):
    """A site that trains, or prepares to."""

    config: SiteConfig
    public_key: str
    membership: Membership


# Members often come one after another: after a start and after a change, the desk is asked so many
# times at shorter intervals, in seconds.
HURRIED, HURRY = 20, 1.0


class DeskWatch:
    """Asks the desk every ``study_interval`` seconds, in a thread of its own.

    A site goes on without a desk; only changes of the members need it. Sites in no study have
    nothing to ask.
    """

    def __init__(
        self, part: StudyMember, arrived: threading.Event, listener: Callable[..., None]
    ) -> None:
        self._membership, self._arrived, self._listener = part.membership, arrived, listener
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        study, config = part.membership.study, part.config
        if study is None:
            return
        self._interval = config.study_interval
        self._client = DeskClient(study.desk, part.public_key, read_secret_key(config.folder))
        self._thread = threading.Thread(target=self._watch, name="desk", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop asking; an answer that is awaited is not waited for."""
        self._ended.set()

    def _watch(self) -> None:
        answered, hurried = True, HURRIED
        while not self._ended.wait(min(HURRY, self._interval) if hurried else self._interval):
            hurried = max(0, hurried - 1)
            study = self._membership.study
            assert study is not None
            try:
                newest = self._client.newest(study.version)
            except EnrolmentError as error:
                if answered:
                    self._listener(
                        "desk_unreachable", address=study.desk.address, reason=str(error)
                    )
                answered = False
                continue
            if not answered:
                self._listener("desk_reachable", address=study.desk.address)
            answered = True
            if newest is not None:
                hurried = HURRIED
                self._membership.offer(newest)
                self._arrived.set()
        self._client.close()
