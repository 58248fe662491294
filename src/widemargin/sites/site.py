"""A site as a process: rounds of work and talk, until it is stopped."""

from __future__ import annotations

import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from ..gossip.methods import NativeSite
from .config import ConfigError, SiteConfig, read_config
from .control import ControlServer
from .data import read_rows
from .export import classifier_of
from .keys import read_public_key, read_secret_key
from .links import Links
from .local_site import LocalSite
from .settings import SETTINGS
from .state import SavedState, StateError, Store, masses_of
from .status import History, figures_of, finite
from .transport import Transport
from .wire import FrameError, decode, encode

__all__ = ["Site", "run_site"]

Listener = Callable[..., None]

# Seconds that a round waits for neighbours that have talked lately.
LONGEST_WAIT = 0.25
# Exchanges without a word after which a neighbour is not waited for; the native core's silence.
SILENCE = 6
# Rounds after which a content site among content neighbours rests, though others may be away.
RESTING = 50
# Bytes of a frame that CURVE adds.
ENCRYPTION = 64
# How far the rows here may be from the agreed length before the log says so.
UNLIKE = 10.0


def run_site(config: SiteConfig, *, listener: Listener | None = None) -> None:
    """Run a site until it is stopped, by a command or by SIGTERM or SIGINT.

    Parameters
    ----------
    config : SiteConfig
        What its ``site.toml`` says.
    listener : callable, optional
        Told of events: their name, and fields that JSON can hold.

    Raises
    ------
    ConfigError, DataFileError, ControlError, OSError
        If it cannot start; the text says what to do.
    """
    site = Site(config, listener or (lambda event, **fields: None))
    if threading.current_thread() is threading.main_thread():
        before = {
            each: signal.signal(each, lambda *_: site.stop())
            for each in (signal.SIGTERM, signal.SIGINT)
        }
    else:
        before = {}
    try:
        site.run()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class Site:
    """One site and all it needs.

    Parameters
    ----------
    config : SiteConfig
        What its ``site.toml`` says.
    listener : callable
        Told of events.
    """

    def __init__(self, config: SiteConfig, listener: Listener) -> None:
        self._config, self._listener = config, listener
        self._public_key = read_public_key(config.folder)
        self._local = LocalSite(config, read_rows(config))
        self._questions: queue.SimpleQueue[tuple[dict[str, Any], Future[dict[str, Any]]]] = (
            queue.SimpleQueue()
        )
        self._control = ControlServer(config.folder, self._ask)
        try:
            self._begin(config)
        except BaseException:
            self._control.close()
            raise

    def _begin(self, config: SiteConfig) -> None:
        self._stopping = False
        self._started = self._last_round = time.monotonic()
        self._rounds = self._content_rounds = 0
        self._stirred = True
        self._fresh: set[str] = set()
        self._history = History()
        self._store = Store(config.folder, sync=config.sync)
        self._site = self._restored() or self._new()
        self._open_new_links()
        frame = self._local.check_memory(self._site.message_size, self._links.degree)
        self._transport = Transport(
            config.listen,
            public_key=self._public_key,
            secret_key=read_secret_key(config.folder),
            frame_bytes=frame + ENCRYPTION,
            rate_limit=config.rate_limit,
            listener=self._listener,
        )
        self._transport.set_neighbours(config.neighbours)
        self._warn_of_lengths()
        self._listener(
            "started",
            name=config.name,
            listen=config.listen,
            public_key=self._public_key,
            rows=self._local.n_rows,
            neighbours=self._links.degree,
            steps=int(self._site.steps),
        )

    def stop(self) -> None:
        """Have the site stop after the round it is in; from any thread, or a signal."""
        self._stopping = True
        self._transport.arrived.set()

    def run(self) -> None:
        """Go on until stopped."""
        try:
            while not self._stopping:
                self._transport.arrived.wait(self._until_next())
                self._answer()
                self._read()
                if self._until_next() <= 0.0:
                    self._round()
            self._save()
        finally:
            self._control.close()
            self._transport.close()
            self._answer()  # those who still wait for one
            self._listener("stopped", steps=int(self._site.steps), rounds=self._rounds)

    # --- rounds ----------------------------------------------------------------------------------

    def _round(self) -> None:
        """Work and talk once. The state is safe before anything of it leaves."""
        self._last_round = time.monotonic()
        self._site.combine()
        self._site.step()
        frames = {key: encode(frame) for key, frame in self._links.frames().items()}
        self._rounds += 1
        self._fresh.clear()
        self._stirred = False
        self._save()
        for key, frame in frames.items():
            self._links.by_key[key].sent += self._transport.send(key, frame)
        was = self._resting
        self._content_rounds = self._content_rounds + 1 if self._site.content else 0
        if self._resting != was:
            self._listener(
                "resting" if not was else "awake", steps=int(self._site.steps), agreed=self._agreed
            )
        if self._history.due:
            self._history.note(self._site, self._local.problem)
            if not np.isfinite(self._site.model()).all():
                raise FloatingPointError(
                    "the model grew beyond all bounds: scale the features, or take "
                    "`model.solver` = 'consensus'. Remove `state.wms` before you start it again."
                )

    def _read(self) -> None:
        for key, data in self._transport.take():
            if key not in self._links.by_key:
                continue  # dropped meanwhile
            try:
                frame = decode(
                    data,
                    agreement=self._config.agreement,
                    dimension=self._local.problem.size,
                    count=self._site.message_size,
                )
                if self._links.receive(key, frame):
                    self._fresh.add(key)
                    self._stirred |= frame.numbers[-3] < self._patience
                else:
                    self._stirred |= frame.receiver_epoch != self._links.by_key[key].epoch
            except FrameError as error:
                self._links.reject(key, error)

    def _until_next(self) -> float:
        """Return the seconds until the next round is due."""
        since = time.monotonic() - self._last_round
        if since < self._config.round_interval:
            return self._config.round_interval - since
        if self._resting:
            return 0.0 if self._stirred else self._config.heartbeat - since
        if self._awaited <= self._fresh and (self._awaited or self._stirred):
            return 0.0
        return max(self._config.round_interval, LONGEST_WAIT) - since

    @property
    def _awaited(self) -> set[str]:
        """Neighbours that have talked lately."""
        links = self._site.links()
        return {
            key
            for key, link in self._links.by_key.items()
            if link.their_epoch and links[link.slot, 2] <= SILENCE
        }

    @property
    def _patience(self) -> int:
        """Count at which every site is known to be content."""
        return self._config.longest_path + 1

    @property
    def _agreed(self) -> bool:
        return self._site.counter >= self._patience

    @property
    def _resting(self) -> bool:
        if self._agreed:
            return True
        if self._content_rounds < RESTING:
            return False
        heard = self._site.links()[:, 1]
        return all(heard[self._links.by_key[key].slot] >= 1 for key in self._awaited)

    # --- state -----------------------------------------------------------------------------------

    def _new_links(self, site: NativeSite) -> Links:
        return Links(
            site,
            agreement=self._config.agreement,
            dimension=self._local.problem.size,
            limits=self._local.limits,
            listener=self._listener,
        )

    def _new(self) -> NativeSite:
        site = self._local.native(len(self._config.neighbours))
        self._links = self._new_links(site)
        return site

    def _restored(self) -> NativeSite | None:
        """Return the site as it was saved; set aside what cannot be trusted."""
        try:
            saved = self._store.load()
            return None if saved is None else self._taken_up(saved)
        except (StateError, ValueError, KeyError, TypeError) as error:
            self._listener("state_set_aside", reason=str(error), path=str(self._store.set_aside()))
            return None

    def _taken_up(self, saved: SavedState) -> NativeSite:
        header = saved.header
        for name, now, what in (
            ("agreement", self._config.agreement, "[network] or [model] have changed"),
            ("fingerprint", self._fingerprint, "the rows have changed"),
        ):
            if header[name] != now:
                raise StateError(f"{what} since it was saved")
        slots = len(header["masses"]["sent"])
        site = self._local.native(max(slots, len(self._config.neighbours)))
        site.restore(saved.native)
        self._links = self._new_links(site)
        self._links.restored(header["links"], self._config.neighbours)
        self._rounds = int(header["rounds"])
        self._listener("state_restored", steps=int(site.steps), rounds=self._rounds)
        return site

    @property
    def _fingerprint(self) -> str:
        if not hasattr(self, "_known_fingerprint"):
            self._known_fingerprint = self._local.rows.fingerprint
        return self._known_fingerprint

    def _save(self) -> None:
        self._store.save(
            {
                "name": self._config.name,
                "public_key": self._public_key,
                "agreement": self._config.agreement,
                "fingerprint": self._fingerprint,
                "rounds": self._rounds,
                "steps": int(self._site.steps),
                "links": self._links.saved(),
                "masses": masses_of(self._site),
                "model_masses": masses_of(self._site, models=True),
            },
            self._site.save(),
        )
        self._saved = time.monotonic()

    def _open_new_links(self) -> None:
        """Open links to neighbours that have none, in slots that are free."""
        links = self._links
        new = [n for n in self._config.neighbours if n.public_key not in links.by_key]
        used = {link.slot for link in links.by_key.values()}
        slots = len(self._site.links())
        if len(used) + len(new) > slots:
            larger = self._local.native(len(used) + len(new))
            larger.restore(self._site.save())
            self._site = links.site = larger
            slots = len(used) + len(new)
        free = [slot for slot in range(slots) if slot not in used]
        for neighbour, slot in zip(new, free, strict=False):
            links.add(neighbour, slot)

    # --- commands --------------------------------------------------------------------------------

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Pass a question to the loop, and wait for the answer; runs in other threads."""
        future: Future[dict[str, Any]] = Future()
        self._questions.put((question, future))
        if hasattr(self, "_transport"):
            self._transport.arrived.set()
        return future.result()

    def _answer(self) -> None:
        while not self._questions.empty():
            question, future = self._questions.get()
            try:
                future.set_result(self._answer_one(question))
            except Exception as error:  # whatever it is, the asker is to hear of it
                future.set_exception(error)

    def _answer_one(self, question: dict[str, Any]) -> dict[str, Any]:
        command = question.get("command")
        if command == "status":
            return self._status()
        if command == "stop":
            self._stopping = True
            return {}
        if command == "reload":
            return self._reload()
        if command == "model":
            return self._export(question.get("path"))
        raise ValueError(
            f"`command` must be 'status', 'reload', 'stop' or 'model'; got {command!r}."
        )

    def _reload(self) -> dict[str, Any]:
        """Take over the neighbours that the file names now."""
        config = read_config(self._config.folder / "site.toml")
        changed = [
            s.name for s in SETTINGS if getattr(config, s.name) != getattr(self._config, s.name)
        ]
        if changed:
            raise ConfigError(
                f"only neighbours can change while a site runs; {', '.join(changed)} did, too. "
                "Stop the site and start it again."
            )
        self._local.check_memory(self._site.message_size, len(config.neighbours))
        before = {key: link.neighbour for key, link in self._links.by_key.items()}
        self._config = config
        listed = {each.public_key: each for each in config.neighbours}
        for key in before.keys() - listed.keys():
            self._links.drop(key)
        for key in before.keys() & listed.keys():
            self._links.by_key[key].neighbour = listed[key]
        self._open_new_links()
        self._transport.set_neighbours(config.neighbours)
        self._fresh &= listed.keys()
        self._stirred, self._content_rounds = True, 0
        self._save()
        fields = {
            "added": [listed[key].name for key in listed.keys() - before.keys()],
            "removed": [before[key].name for key in before.keys() - listed.keys()],
        }
        self._listener("reloaded", **fields)
        return fields

    def _export(self, path: Any) -> dict[str, Any]:
        if not isinstance(path, str) or not Path(path).is_absolute():
            raise ValueError(f"`path` must be an absolute path; got {path!r}.")
        model = classifier_of(
            self._config,
            self._site.model(),
            int(self._site.steps),
            self._agreed,
            self._local.rows.feature_names,
        )
        model.save(path)
        return {"path": path, "agreed": self._agreed}

    def _status(self) -> dict[str, Any]:
        now = time.monotonic()
        return {
            "name": self._config.name,
            "public_key": self._public_key,
            "pid": os.getpid(),
            "uptime_seconds": now - self._started,
            "rounds": self._rounds,
            **figures_of(self._site, self._config.n_sites),
            "agreed": self._agreed,
            "training_accuracy": self._history.accuracy,
            "n_rows": self._local.n_rows,
            "n_features": self._config.n_features,
            "bytes_sent": self._transport.bytes_sent,
            "bytes_received": self._transport.bytes_received,
            "state_saved_seconds_ago": now - self._saved if hasattr(self, "_saved") else None,
            "links": [self._link_status(key, now) for key in self._links.by_key],
            "refused_keys": self._transport.refused,
            "history": self._history.points,
        }

    def _link_status(self, key: str, now: float) -> dict[str, Any]:
        link = self._links.by_key[key]
        _, _, silent, _, _, distance = self._site.links()[link.slot]
        ago = None if link.last_heard is None else now - link.last_heard
        norm = float(np.linalg.norm(self._site.model()))
        return {
            "name": link.neighbour.name,
            "address": link.neighbour.address,
            "connected": ago is not None and ago < 3.0 + 3.0 * self._config.heartbeat,
            "silent": int(silent),
            "sent": link.sent,
            "received": link.received,
            "rejected": link.rejected + self._transport.dropped(key),
            "reasons": dict(link.reasons),
            "distance": finite(distance / norm) if norm > 0 else None,
            "epoch": link.epoch,
            "last_heard_seconds_ago": ago,
        }

    def _warn_of_lengths(self) -> None:
        if not self._local.n_rows:
            return
        here, agreed = self._local.mean_square, self._config.row_square
        if not agreed / UNLIKE <= here <= agreed * UNLIKE or not math.isfinite(here):
            self._listener(
                "row_square_unlike",
                here=here,
                agreed=agreed,
                advice="Set `network.row_square` at all sites to about the mean squared length of "
                "a row: consensus is slow otherwise.",
            )
