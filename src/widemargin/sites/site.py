"""A site as a process: rounds of training and exchange until it is stopped."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..core.resources import memory_bytes
from ..persistence.model_file import save
from .absence import missing_neighbours
from .config import ConfigError, SiteConfig, read_config
from .network.descriptors import raise_limit
from .network.keys import read_public_key, read_secret_key
from .network.transport import Transport
from .network.wire import HEADER_BYTES, MOST_STUDY_BYTES, FrameError
from .preparation.column_statistics import ColumnStatistics
from .preparation.feature_sizes import sizes_advice
from .preparation.kept_preparation import PreparationAnswers, kept_preparation, most_bytes
from .preparation.prepare_frames import PREPARE, kind_of
from .preparation.preparing import PreparingSite
from .questions import Questions
from .settings import SETTINGS
from .status import Pace, SiteHistory, status_of
from .studies.desk_watch import DeskWatch
from .studies.gathering import GatheringSite, founding
from .studies.study import Study, read_study
from .training.local_rows import read_rows
from .training.local_site import LocalSite
from .training.participant import Participant

__all__ = ["Site", "run_site"]

Listener = Callable[..., None]

# Bytes that CURVE adds to a frame.
ENCRYPTION = 64
# Settings that follow from the members of a study.
OF_MEMBERS = ("study", "n_sites", "diameter", "least_sites")
# Factor between the mean squared length of the rows and the agreed one that is reported.
UNLIKE = 10.0


def run_site(config: SiteConfig, *, listener: Listener | None = None) -> None:
    """Run a site until it is stopped, by a command or by SIGTERM or SIGINT.

    Parameters
    ----------
    config : SiteConfig
        Contents of its ``site.toml``.
    listener : callable, optional
        Called with events: a name, and fields with JSON values. Calls come from several threads.

    Raises
    ------
    ConfigError, DataFileError, ControlError, OSError
        If it cannot start; the message says what to do.
    """
    raise_limit()
    told = listener or (lambda event, **fields: None)
    if config.schema is not None and config.preparation is None:
        prepared = _prepared(config, told)
        if prepared is None:
            return
        config = prepared
    elif config.study is not None and not (config.folder / "state.wms").exists():
        gathered = _gathered(config, told)
        if gathered is None:
            return
        config = gathered
    site = Site(config, told)
    with _stopped_by_signals(site):
        site.run()


def _prepared(config: SiteConfig, listener: Listener) -> SiteConfig | None:
    """Return the configuration with the preparation of all sites; None if stopped before."""
    kept = kept_preparation(config)
    if kept is not None:
        return config.prepared(kept[0])
    gathered = _gathered(config, listener)
    if gathered is None:
        return None
    preparing = PreparingSite(founding(gathered), listener)
    with _stopped_by_signals(preparing):
        prepared = preparing.run()
    if prepared is None or prepared.preparation is None:
        return None
    # Members may have come and gone meanwhile.
    newest = gathered if gathered.study is None else read_config(gathered.folder)
    return newest.prepared(prepared.preparation)


def _gathered(config: SiteConfig, listener: Listener) -> SiteConfig | None:
    """Return the configuration with the members that a study begins with; None if stopped."""
    if config.study is None or config.study.may_begin:
        return config
    gathering = GatheringSite(config, listener)
    with _stopped_by_signals(gathering):
        return gathering.run()


@contextmanager
def _stopped_by_signals(site: Site | PreparingSite | GatheringSite) -> Iterator[None]:
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGTERM, signal.SIGINT):
            before[each] = signal.signal(each, lambda *_: site.stop())
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class Site:
    """One running site; ``listener`` is called with events."""

    def __init__(self, config: SiteConfig, listener: Listener) -> None:
        self._listener = listener
        self._stopping = self._disk_failed = False
        self._started = time.monotonic()
        self._wake = threading.Event()
        local = LocalSite(config, read_rows(config))
        # First, since two processes must not share a state.
        self._questions = Questions(
            config.folder, self._answer, self._wake, ended="the site is stopping."
        )
        try:
            self._taking_part = Participant(local, read_public_key(config.folder), listener)
            kept = kept_preparation(config)
            self._answers = kept and PreparationAnswers(
                config, self._taking_part.public_key, kept[1]
            )
            self._transport = self._connected()
        except BaseException:
            self._questions.close(answer=False)
            raise
        self._desk = DeskWatch(self._taking_part, self._wake, listener)
        self._pace = Pace(self._taking_part)
        self._history = SiteHistory()
        self._report_start()

    def stop(self) -> None:
        """Stop the site after the current round; callable from any thread or signal handler."""
        self._stopping = True
        self._wake.set()

    def run(self) -> None:
        """Run until stopped."""
        part = self._taking_part
        try:
            while not self._stopping:
                self._wake.wait(max(0.0, self._pace.until_next()))
                self._wake.clear()
                self._questions.answer()
                self._read()
                self._follow_study()
                if self._pace.until_next() <= 0.0:
                    self._round()
            part.put_away()
        finally:
            self._questions.close()
            self._desk.close()
            self._transport.close()
            self._listener("stopped", steps=int(part.site.steps), rounds=part.rounds)

    def _round(self) -> None:
        part, was = self._taking_part, self._pace.resting
        self._pace.begin_round()
        for key, frame in self._frames().items():
            self._transport.send(key, frame)
        self._pace.end_round()
        self._transport.check_memory()
        if self._pace.resting != was:
            event = "awake" if was else "resting"
            self._listener(event, steps=int(part.site.steps), agreed=self._pace.agreed)
        if self._history.due:
            self._history.note(part.site, part.local)
            if not np.isfinite(part.site.model()).all():
                raise FloatingPointError(
                    "the model grew beyond all bounds: scale the features, or take "
                    "`model.solver` = 'consensus'. Remove `state.wms` before you start it again."
                )

    def _frames(self) -> dict[str, bytes]:
        """Take one step. A state that cannot be saved must not be sent."""
        try:
            frames = self._taking_part.round()
        except OSError as error:
            if not self._disk_failed:
                self._listener("state_not_saved", error=str(error))
            self._disk_failed = True
            return {}
        if self._disk_failed:
            self._listener("state_saved_again")
        self._disk_failed = False
        return frames

    def _read(self) -> None:
        for key, data in self._transport.take():
            try:
                if self._answers is not None and kind_of(data) == PREPARE:
                    self._tell_preparation(self._answers, key, data)
                    continue
                came = self._taking_part.receive(key, data)
            except Exception as error:  # nothing that a neighbour sends may end the site
                fault = FrameError("unexpected", f"{type(error).__name__}: {error}")
                self._taking_part.links.reject(key, fault)
                continue
            if came is not None:
                self._pace.hear(key, *came)

    def _tell_preparation(self, answers: PreparationAnswers, key: str, data: bytes) -> None:
        """Tell a neighbour that came later what the others have agreed on."""
        try:
            study = self._taking_part.membership.study
            version, answer = answers.answer(data, 0 if study is None else study.version)
        except FrameError as error:
            if key in self._taking_part.links.by_key:
                self._taking_part.links.reject(key, error)
            return
        if key in self._taking_part.links.by_key:
            self._taking_part.links.by_key[key].study_version = version
            if answer is not None:
                self._transport.send(key, answer)

    def _follow_study(self) -> None:
        """Tell neighbours of the study, and change to a newer version that has arrived."""
        part = self._taking_part
        newer = part.membership.take()
        if newer is not None:
            self._adopt(newer)
        for key, frame in part.answers():
            self._transport.send(key, frame)

    def _adopt(self, newer: Study) -> None:
        part = self._taking_part
        part.membership.adopt(newer)
        # Also to those that are no neighbours any more: they may not know why.
        for key in part.links.by_key:
            self._transport.send(key, part.membership.frame)
        if newer.member(part.public_key) is None:
            self._listener("removed_from_study", version=newer.version)
            self._stopping = True
            return
        try:
            assert part.config.study_file is not None
            newer.save(part.config.study_file)
            config = self._current_config()
            fields = self._change_neighbours(config)
        except (ConfigError, OSError) as error:
            self._listener("study_refused", reason=str(error))
            return
        # Neighbours come and go with the order of the members, so that one may stay a member.
        self._listener(
            "study_adopted",
            version=newer.version,
            members=[member.name for member in newer.members],
            **{f"neighbours_{change}": names for change, names in fields.items()},
        )

    def _current_config(self) -> SiteConfig:
        """Read the configuration again; the preparation stays."""
        old = self._taking_part.config
        config = read_config(old.folder / "site.toml")
        return config if old.preparation is None else config.prepared(old.preparation)

    def _change_neighbours(self, config: SiteConfig) -> dict[str, list[str]]:
        part = self._taking_part
        part.local.check_memory(max(part.message_sizes), len(config.neighbours))
        fields = part.set_neighbours(config)
        self._transport.set_neighbours(config.neighbours)
        self._pace.fresh &= part.links.by_key.keys()
        self._pace.wake()
        return fields

    def _connected(self) -> Transport:
        config, part = self._taking_part.config, self._taking_part
        frame = part.local.check_memory(max(part.message_sizes), part.links.degree)
        if config.schema is not None:
            frame = max(frame, most_bytes(ColumnStatistics(config.schema)))
        return Transport(
            config.listen,
            public_key=part.public_key,
            secret_key=read_secret_key(config.folder),
            frame_bytes=max(frame, HEADER_BYTES + MOST_STUDY_BYTES) + ENCRYPTION,
            rate_limit=config.rate_limit,
            max_memory=memory_bytes(config.max_memory),
            neighbours=config.neighbours,
            arrived=self._wake,
            listener=self._listener,
            folder=Path(config.folder),
        )

    # --- commands --------------------------------------------------------------------------------

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        command = question.get("command")
        if command == "status":
            return self._status()
        if command == "stop":
            self._stopping = True
            return {}
        if command == "reload":
            return self._reload()
        if command == "leave":
            return self._leave()
        if command == "model":
            return self._export(question.get("path"))
        raise ValueError(
            f"`command` must be 'status', 'reload', 'stop', 'leave' or 'model'; got {command!r}."
        )

    def _reload(self) -> dict[str, Any]:
        """Change to the neighbours in the file."""
        old = self._taking_part.config
        config = self._current_config()
        changed = [s.name for s in SETTINGS if getattr(config, s.name) != getattr(old, s.name)]
        if old.study is not None and config.study is not None and changed:
            old.study.check_successor(config.study)
            changed = [name for name in changed if name not in OF_MEMBERS]
        if changed:
            raise ConfigError(
                f"only neighbours can change while a site runs; {', '.join(changed)} did, too. "
                "Stop the site and start it again."
            )
        fields = self._change_neighbours(config)
        self._listener("reloaded", **fields)
        return fields

    def _leave(self) -> dict[str, Any]:
        """Act on the study in the folder, in which this site is no member any more."""
        part = self._taking_part
        study = part.membership.study
        if study is None or part.config.study_file is None:
            raise ValueError("this site is in no study.")
        newer = read_study(part.config.study_file, owner=study.owner)
        study.check_successor(newer)
        self._adopt(newer)
        return {}

    def _export(self, path: Any) -> dict[str, Any]:
        if not isinstance(path, str) or not Path(path).is_absolute():
            raise ValueError(f"`path` must be an absolute path; got {path!r}.")
        part, agreed = self._taking_part, self._pace.agreed
        privacy = None if part.budget is None else part.budget.status()
        save(part.local.exported(part.site, agreed, privacy), path)
        return {"path": path, "agreed": agreed}

    def _status(self) -> dict[str, Any]:
        return {
            "uptime_seconds": time.monotonic() - self._started,
            "agreed": self._pace.agreed,
            "resting": self._pace.resting,
            **status_of(self._taking_part, self._transport),
            "missing": self._missing(),
            "training_accuracy": self._history.accuracy,
            "history": self._history.points,
        }

    def _missing(self) -> list[dict[str, Any]]:
        part = self._taking_part
        heard = {key: link.last_heard for key, link in part.links.by_key.items()}
        return missing_neighbours(part.config, heard, self._started, trains=True)

    def _report_start(self) -> None:
        part, config = self._taking_part, self._taking_part.config
        self._listener(
            "started",
            name=config.name,
            listen=config.listen,
            public_key=part.public_key,
            rows=part.local.n_rows,
            neighbours=part.links.degree,
            steps=int(part.site.steps),
        )
        rows = part.local.rows
        if (fields := sizes_advice(rows.X, rows.feature_names)) is not None:
            self._listener("features_unscaled", **fields)
        if config.solver == "private":
            return  # its pace follows from the longest row
        here, agreed = part.local.mean_square, part.local.row_square
        if not agreed / UNLIKE <= here <= agreed * UNLIKE or not math.isfinite(here):
            self._listener(
                "row_square_unlike",
                here=here,
                agreed=agreed,
                advice="Set `network.row_square` at all sites to about the mean squared length of "
                "a row: consensus is slow otherwise.",
            )
