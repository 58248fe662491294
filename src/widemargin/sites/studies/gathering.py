"""A member of a study that has not begun: it waits until there are enough members.

The sites that begin together agree on the preparation of their columns, so none of them may begin
alone.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..config import ConfigError, SiteConfig, read_config
from ..control import ControlServer
from ..network.keys import read_public_key, read_secret_key
from .desk_client import DeskClient, EnrolmentError
from .membership import Membership
from .study import StudyError

__all__ = ["GatheringSite", "founding"]

SECONDS_BETWEEN_QUESTIONS = 1.0
# Seconds that an answer of the desk is waited for, and thus those until a site stops.
SECONDS_FOR_AN_ANSWER = 5.0


def founding(config: SiteConfig) -> SiteConfig:
    """Return the configuration for the agreement on a preparation.

    It has the members that begin together only, so that all of them have the same network, whoever
    joins meanwhile. Members that come later get the preparation from their neighbours.
    """
    key = read_public_key(config.folder)
    first = None if config.study is None else config.study.founders_of(key)
    if first is None:
        return config
    return replace(
        config,
        neighbours=first.neighbours_of(key),
        n_sites=len(first.members),
        diameter=first.longest_path,
    )


class GatheringSite:
    """A site that waits for members; `run` ends when there are enough."""

    def __init__(self, config: SiteConfig, listener: Callable[..., None]) -> None:
        self.config, self._listener = config, listener
        self._stopping = threading.Event()
        self._started = time.monotonic()
        self._membership = Membership(config.study, listener)
        self._control = ControlServer(config.folder, self._ask)
        self._tell()

    def stop(self) -> None:
        """Stop waiting; callable from any thread or signal handler."""
        self._stopping.set()

    def run(self) -> SiteConfig | None:
        """Return the configuration with enough members; None if stopped before."""
        key, secret = read_public_key(self.config.folder), read_secret_key(self.config.folder)
        assert self.config.study is not None
        try:
            desk = self.config.study.desk
            with DeskClient(desk, key, secret, timeout=SECONDS_FOR_AN_ANSWER) as client:
                while not self._enough:
                    if self._stopping.wait(SECONDS_BETWEEN_QUESTIONS):
                        return None
                    self._look(client)
            return self.config
        finally:
            self._control.close()

    @property
    def _enough(self) -> bool:
        study = self.config.study
        return study is None or study.may_begin

    def _tell(self) -> None:
        study = self.config.study
        if study is not None and not study.may_begin:
            members, needed = len(study.members), study.least_sites
            self._listener("waiting_for_members", members=members, needed=needed)

    def _look(self, client: DeskClient) -> None:
        """Ask the desk for a newer version, and change to it."""
        study = self.config.study
        assert study is not None
        try:
            newest = client.newest(study.version)
        except EnrolmentError:
            return  # it may be started later
        if newest is None:
            return
        self._membership.offer(newest)
        newer = self._membership.take()
        if newer is None:
            return
        if newer.member(client.public_key) is None:
            raise StudyError(f"this site is no member of the study {newer.name!r} any more.")
        assert self.config.study_file is not None
        newer.save(self.config.study_file)
        self._membership.adopt(newer)
        self.config = read_config(self.config.folder)
        self._tell()

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        command = question.get("command")
        if command == "stop":
            self.stop()
            return {}
        if command == "status":
            return self._status()
        raise ConfigError("the study has not begun: too few members have joined. Try again later.")

    def _status(self) -> dict[str, Any]:
        study = self.config.study
        return {
            "name": self.config.name,
            "public_key": read_public_key(self.config.folder),
            "pid": os.getpid(),
            "uptime_seconds": time.monotonic() - self._started,
            "gathering": None if study is None else [len(study.members), study.least_sites],
            "n_sites": self.config.n_sites,
            "agreed": False,
            "content": False,
            **dict.fromkeys(("rounds", "steps", "n_rows", "n_features"), 0),
            **dict.fromkeys(("bytes_sent", "bytes_received", "refused_keys"), 0),
            "links": [],
            "history": [],
        }
