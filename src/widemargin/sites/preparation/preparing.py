"""A site before training: it agrees on a preparation with the others, and then remembers it.

``preparing.wms`` holds the state of the phase, saved before anything is sent.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...core.resources import memory_bytes
from ..absence import missing_neighbours
from ..config import ConfigError, SiteConfig, read_config
from ..network.keys import read_public_key, read_secret_key
from ..network.transport import Transport
from ..network.wire import FrameError, Kind, decode
from ..questions import Questions
from ..studies.desk_watch import DeskWatch
from ..studies.gathering import founding
from ..studies.membership import Membership
from ..studies.study import Study
from ..training.local_rows import read_site_table
from ..training.participant import StateStore
from .kept_preparation import keep_preparation, most_bytes
from .preparation_phase import PreparationPhase
from .prepare_frames import (
    PREPARE,
    kind_of,
)

__all__ = ["PreparingSite"]

Listener = Callable[..., None]

# Seconds that a round waits for neighbours.
LONGEST_WAIT = 0.25


class PreparingSite:
    """A site that agrees with the others on a preparation; `run` ends when they have."""

    def __init__(self, config: SiteConfig, listener: Listener) -> None:
        assert config.schema is not None
        self.config, self._listener = config, listener
        self._stopping = self._disk_failed = False
        self._wake = threading.Event()
        self._started = self._last = time.monotonic()
        self._rounds, self._heard = 0, dict[str, float]()
        self._reported: set[tuple[str, str]] = set()
        table = read_site_table(config, config.schema)
        for note in table.notes:
            listener("table_note", note=note)
        self.public_key = read_public_key(config.folder)
        self.membership = Membership(config.study, listener)
        self._versions: dict[str, int | None] = {}
        self._questions = Questions(
            config.folder, self._answer, self._wake, ended="the site is about to train: ask again."
        )
        try:
            self._phase = PreparationPhase(
                table,
                public_key=self.public_key,
                neighbours=[each.public_key for each in config.neighbours],
                n_sites=config.n_sites,
                diameter=config.longest_path,
                agreement=config.preparing_agreement,
                least_sites=config.least_sites,
                listener=listener,
            )
            self._store = StateStore(config.folder, sync=config.sync, name="preparing.wms")
            self._follow(config)
            self._restore()
            self._transport = Transport(
                config.listen,
                public_key=self.public_key,
                secret_key=read_secret_key(config.folder),
                frame_bytes=most_bytes(self._phase.statistics),
                rate_limit=config.rate_limit,
                max_memory=memory_bytes(config.max_memory),
                neighbours=config.neighbours,
                arrived=self._wake,
                listener=listener,
                folder=Path(config.folder),
            )
        except BaseException:
            self._questions.close(answer=False)
            raise
        self._desk = DeskWatch(self, self._wake, listener)
        listener("preparing", rows=table.n_rows, neighbours=len(config.neighbours))

    def stop(self) -> None:
        """Stop after the current round; callable from any thread or signal handler."""
        self._stopping = True
        self._wake.set()

    def run(self) -> SiteConfig | None:
        """Return the configuration with the preparation; None if stopped before it was there."""
        try:
            while not (self._stopping or self._phase.done):
                self._wake.wait(max(0.0, self._until_next()))
                self._wake.clear()
                self._questions.answer()
                self._read()
                self._follow_study()
                if self._until_next() <= 0.0:
                    self._round()
            if not self._phase.done:
                return None
            keep_preparation(self.config, self._phase.agreed)
            with suppress(FileNotFoundError):
                self._store.path.unlink()
            return self.config.prepared(self._phase.preparation)
        finally:
            self._questions.close()
            self._desk.close()
            self._transport.close()

    def _until_next(self) -> float:
        now = time.monotonic()
        wait = self.config.round_interval
        heard = [self._heard.get(each.public_key, 0.0) for each in self.config.neighbours]
        if not all(time > self._last for time in heard):
            wait = max(wait, LONGEST_WAIT)
        return self._last + wait - now

    def _round(self) -> None:
        self._last = time.monotonic()
        self._rounds += 1
        frames = self._phase.frames()
        try:
            self._store.save(*self._phase.saved())
        except OSError as error:
            # What is not saved must not be sent.
            if not self._disk_failed:
                self._listener("state_not_saved", error=str(error))
            self._disk_failed = True
            return
        self._disk_failed = False
        for key, frame in frames.items():
            self._transport.send(key, frame)
        self._transport.check_memory()

    def _read(self) -> None:
        for key, data in self._transport.take():
            try:
                if kind_of(data) == Kind.STUDY:
                    frame = decode(data, agreement=0, dimension=0, count=0)
                    self.membership.hear(key, frame.study_version, frame.payload)
                # Others are of neighbours that train already; they answer what they are asked.
                if kind_of(data) == PREPARE:
                    self._heard[key] = time.monotonic()
                    self._phase.receive(key, data)
                    self._versions[key] = self._phase.version_of(key)
            except FrameError as error:
                if (key, error.reason) not in self._reported:
                    self._reported.add((key, error.reason))
                    names = {each.public_key: each.name for each in self.config.neighbours}
                    self._listener(
                        "frame_rejected",
                        neighbour=names.get(key, key),
                        reason=error.reason,
                        detail=str(error),
                    )

    def _follow_study(self) -> None:
        """Tell neighbours of the study, and change to a newer version that has arrived."""
        newer = self.membership.take()
        if newer is not None:
            self._adopt(newer)
        known = {each.public_key for each in self.config.neighbours}
        versions = {key: each for key, each in self._versions.items() if key in known}
        for key in self.membership.behind(versions):
            self._transport.send(key, self.membership.frame)

    def _adopt(self, newer: Study) -> None:
        self.membership.adopt(newer)
        if newer.member(self.public_key) is None:
            self._listener("removed_from_study", version=newer.version)
            self._stopping = True
            return
        try:
            assert self.config.study_file is not None
            newer.save(self.config.study_file)
            config = founding(read_config(self.config.folder))
        except (ConfigError, OSError) as error:
            self._listener("study_refused", reason=str(error))
            return
        self._transport.set_neighbours(config.neighbours)
        self._follow(config)
        members = [member.name for member in newer.members]
        self._listener("study_adopted", version=newer.version, members=members)

    def _follow(self, config: SiteConfig) -> None:
        """Change to the neighbours and the number of sites of a configuration."""
        self.config = config
        phase = self._phase
        phase.set_neighbours(each.public_key for each in config.neighbours)
        phase.n_sites, phase.diameter = config.n_sites, config.longest_path
        phase.least_sites = config.least_sites
        if config.study is not None:
            first = config.study.founders_of(self.public_key) or config.study
            keys = [member.public_key for member in first.members]
            phase.set_members(keys, config.study.version)
        if config.n_sites < config.least_sites:
            self._listener("waiting_for_members", members=config.n_sites, needed=config.least_sites)

    def _restore(self) -> None:
        try:
            saved = self._store.load()
            if saved is not None:
                self._phase.restore(saved.header, saved.native)
        except (ValueError, KeyError, TypeError) as error:
            self._listener("state_set_aside", reason=str(error), path=str(self._store.set_aside()))
            self._phase.begin_anew()

    # --- commands --------------------------------------------------------------------------------

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        command = question.get("command")
        if command == "stop":
            self._stopping = True
            return {}
        if command == "status":
            return self._status()
        raise ValueError("the sites still agree on a preparation: try again when they train.")

    def _status(self) -> dict[str, Any]:
        now, phase = time.monotonic(), self._phase
        return {
            "name": self.config.name,
            "public_key": self.public_key,
            "pid": os.getpid(),
            "uptime_seconds": now - self._started,
            "preparing": phase.stage,
            "agreed": False,
            "content": False,
            "rounds": self._rounds,
            "steps": 0,
            "n_rows": phase.table.n_rows,
            "n_features": 0,
            "bytes_sent": self._transport.bytes_sent,
            "bytes_received": self._transport.bytes_received,
            "refused_keys": self._transport.refused,
            "links": [self._link(each, now) for each in self.config.neighbours],
            "missing": missing_neighbours(self.config, self._heard, self._started, trains=False),
            "history": [],
        }

    def _link(self, neighbour: Any, now: float) -> dict[str, Any]:
        heard = self._heard.get(neighbour.public_key)
        ago = None if heard is None else now - heard
        return {
            "name": neighbour.name,
            "address": neighbour.address,
            "connected": ago is not None and ago < 3.0,
            "last_heard_seconds_ago": ago,
            **dict.fromkeys(("sent", "received", "rejected", "silent", "epoch"), 0),
        }
