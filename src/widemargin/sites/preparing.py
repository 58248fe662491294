"""A site before training: it agrees on a preparation with the others, and then remembers it.

``preparing.wms`` holds the state of the phase, saved before anything is sent. ``preparation.json``
holds the result, which also answers sites that come later.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..core.resources import memory_bytes
from ..persistence.atomic_write import write_atomically
from .agreed_checks import check_agreed
from .agreed_preparation import agreed_preparation
from .column_statistics import Agreed, ColumnStatistics
from .config import ConfigError, SiteConfig
from .control import ControlServer
from .keys import read_public_key, read_secret_key
from .local_site import read_site_table
from .participant import StateStore
from .preparation import Preparation
from .preparation_phase import PROBES, PreparationPhase
from .prepare_frames import (
    MOST_TEXT,
    PREPARE,
    PrepareFrame,
    decode_prepare,
    encode_prepare,
    kind_of,
)
from .transport import Transport
from .wire import HEADER_BYTES, FrameError

__all__ = ["PreparationAnswers", "PreparingSite", "kept_preparation"]

Listener = Callable[..., None]

FILE = "preparation.json"
# Seconds that a round waits for neighbours.
LONGEST_WAIT = 0.25
# Bytes that CURVE adds to a frame.
ENCRYPTION = 64


def most_bytes(statistics: ColumnStatistics) -> int:
    """Return the size of the largest frame about a preparation."""
    numbers = (
        3
        + PROBES
        + max(statistics.size("sums", {}), 100 * len(statistics.told), len(statistics.told) + 8_000)
    )
    return HEADER_BYTES + 8 * numbers + MOST_TEXT + ENCRYPTION


def kept_preparation(config: SiteConfig) -> tuple[Preparation, Agreed] | None:
    """Return the preparation in the folder of a site, with its stages; None if there is none.

    ConfigError if the file is damaged, or of another schema.
    """
    path = Path(config.folder) / FILE
    if config.schema is None or not path.exists():
        return None
    statistics = ColumnStatistics(config.schema)
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["schema"] != config.schema.digest:
            raise ValueError("it is of another schema")
        check_agreed(statistics, kept["agreed"])
        return agreed_preparation(statistics, kept["agreed"]), kept["agreed"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} cannot be used: {error}. Remove it, and the site asks its neighbours again."
        ) from None


def keep_preparation(config: SiteConfig, agreed: Agreed) -> None:
    """Write the preparation to the folder of a site."""
    assert config.schema is not None
    made = agreed_preparation(ColumnStatistics(config.schema), agreed)
    kept = {"schema": config.schema.digest, "digest": made.digest, "agreed": agreed}
    text = json.dumps(kept, indent=1).encode()
    write_atomically(Path(config.folder) / FILE, text, sync=config.sync)


class PreparationAnswers:
    """Answers of a site that has a preparation to neighbours that ask for it."""

    def __init__(self, config: SiteConfig, public_key: str, agreed: Agreed) -> None:
        self._agreement, self._key, self._agreed = config.preparing_agreement, public_key, agreed
        self._epoch = time.time_ns()
        self._neighbours = len(config.neighbours)
        self._written = 0

    def answer(self, data: bytes) -> bytes | None:
        """Return the answer to a frame; None if the neighbour has a preparation, too.

        FrameError if the frame is invalid.
        """
        frame = decode_prepare(data, agreement=self._agreement)
        theirs = frame.text.get("agreed", {})
        if isinstance(theirs, dict) and any(
            theirs[stage] != self._agreed.get(stage) for stage in theirs
        ):
            raise FrameError(
                "conclusion",
                f"the neighbour has another preparation. Remove `{FILE}` at the site that is "
                "wrong, and start it again.",
            )
        if frame.stage == 3:
            return None
        self._written += 1
        answer = PrepareFrame(
            self._agreement,
            # Not below one that the neighbour has heard, should the clock have been set back.
            max(self._epoch, frame.receiver_epoch),
            frame.sender_epoch,
            self._written,
            0,
            self._neighbours,
            3,
            0,
            np.empty(0),
            {"leader": self._key, "known": "", "agreed": self._agreed},
        )
        return encode_prepare(answer)


class PreparingSite:
    """A site that agrees with the others on a preparation; `run` ends when they have."""

    def __init__(self, config: SiteConfig, listener: Listener) -> None:
        assert config.schema is not None
        self.config, self._listener = config, listener
        self._stopping = self._ended = self._disk_failed = False
        self._asking = threading.Lock()
        self._wake = threading.Event()
        self._started = self._last = time.monotonic()
        self._questions: queue.SimpleQueue[tuple[dict[str, Any], Future[dict[str, Any]]]] = (
            queue.SimpleQueue()
        )
        self._rounds, self._heard = 0, dict[str, float]()
        self._reported: set[tuple[str, str]] = set()
        table = read_site_table(config, config.schema)
        for note in table.notes:
            listener("table_note", note=note)
        self._public_key = read_public_key(config.folder)
        self._control = ControlServer(config.folder, self._ask)
        try:
            self._phase = PreparationPhase(
                table,
                public_key=self._public_key,
                neighbours=[each.public_key for each in config.neighbours],
                n_sites=config.n_sites,
                diameter=config.longest_path,
                agreement=config.preparing_agreement,
                listener=listener,
            )
            self._store = StateStore(config.folder, sync=config.sync, name="preparing.wms")
            self._restore()
            self._transport = Transport(
                config.listen,
                public_key=self._public_key,
                secret_key=read_secret_key(config.folder),
                frame_bytes=most_bytes(self._phase.statistics),
                rate_limit=config.rate_limit,
                max_memory=memory_bytes(config.max_memory),
                neighbours=config.neighbours,
                arrived=self._wake,
                listener=listener,
            )
        except BaseException:
            self._ended = True
            self._control.close()
            raise
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
                self._answer()
                self._read()
                if self._until_next() <= 0.0:
                    self._round()
            if not self._phase.done:
                return None
            keep_preparation(self.config, self._phase.agreed)
            with suppress(FileNotFoundError):
                self._store.path.unlink()
            return self.config.prepared(self._phase.preparation)
        finally:
            with self._asking:
                self._ended = True
            self._answer()
            self._control.close()
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
            if kind_of(data) != PREPARE:
                continue  # of a neighbour that trains already; it answers what it is asked
            self._heard[key] = time.monotonic()
            try:
                self._phase.receive(key, data)
            except FrameError as error:
                if (key, error.reason) not in self._reported:
                    self._reported.add((key, error.reason))
                    name = next(n.name for n in self.config.neighbours if n.public_key == key)
                    self._listener(
                        "frame_rejected", neighbour=name, reason=error.reason, detail=str(error)
                    )

    def _restore(self) -> None:
        try:
            saved = self._store.load()
            if saved is not None:
                self._phase.restore(saved.header, saved.native)
        except (ValueError, KeyError, TypeError) as error:
            self._listener("state_set_aside", reason=str(error), path=str(self._store.set_aside()))
            self._phase.begin_anew()

    # --- commands --------------------------------------------------------------------------------

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Pass a question to the loop and wait for the answer; runs in other threads."""
        future: Future[dict[str, Any]] = Future()
        with self._asking:
            if self._ended:
                raise ValueError("the site is about to train: ask again.")
            self._questions.put((question, future))
        self._wake.set()
        return future.result(60.0)

    def _answer(self) -> None:
        while not self._questions.empty():
            question, future = self._questions.get()
            command = question.get("command")
            if command == "stop":
                self._stopping = True
                future.set_result({})
            elif command == "status":
                future.set_result(self._status())
            else:
                future.set_exception(
                    ValueError("the sites still agree on a preparation: try again when they train.")
                )

    def _status(self) -> dict[str, Any]:
        now, phase = time.monotonic(), self._phase
        return {
            "name": self.config.name,
            "public_key": self._public_key,
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
