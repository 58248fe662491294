"""A site without its loop: the native site, its links and its saved state.

The file `state.wms` is written so that a kill at any moment does no harm. The state is saved
*before* the messages of a round are sent. Whatever neighbours have received, including
acknowledgements, is therefore in the file, and a site that restarts from it contradicts nothing: to
its neighbours it seems to have paused and to have missed what it read since.

Layout: ``WMSITE`` and the version, two bytes; the length of the header, eight; the header, JSON;
the state of the native site; a BLAKE2b digest of all that, 16 bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...persistence.atomic_write import TEMPORARY_SUFFIX, write_atomically
from ..agreement import Differences
from ..config import SiteConfig
from ..network.wire import Frame, FrameError, Kind, bytes_frame, decode, encode
from ..studies.membership import Membership
from .budget import budget_of
from .choice import Choice, followed
from .columns import AnySite, SiteColumns
from .links import Links
from .local_site import LocalSite

__all__ = ["Participant", "SavedState", "StateError", "StateStore", "masses_of", "read_state"]

_MAGIC = b"WMSITE"
VERSION = 2
_START = struct.Struct("<6sHQ")
_DIGEST = 16


class StateError(ValueError):
    """A state file that cannot be trusted."""


@dataclass(frozen=True)
class SavedState:
    """The contents of a state file."""

    header: dict[str, Any]  # name, links, progress and masses
    native: bytes  # state of the native site

    @property
    def total_mass(self) -> float:
        """Mass that the site holds plus sent minus received mass: 1, up to rounding."""
        masses = self.header["masses"]
        return float(masses["held"] + sum(masses["sent"]) - sum(masses["received"]))


def masses_of(site: AnySite, *, models: bool = False) -> dict[str, Any] | None:
    """Return the mass that a site holds, and the mass sent and received through each link.

    The Push-Sum is that of figures, which every method has, or of models, which may be None.
    """
    sums = site.sums(models)
    if sums is None:
        return None
    held, sent, received = sums
    return {
        "held": float(held[-1]),
        "sent": sent[:, -1].tolist(),
        "received": received[:, -1].tolist(),
    }


def read_state(path: str | os.PathLike[str]) -> SavedState:
    """Read a state file, or the one in a folder.

    StateError if it is damaged or of another version; FileNotFoundError if there is none.
    """
    file = Path(path)
    data = (file / "state.wms" if file.is_dir() else file).read_bytes()
    if len(data) < _START.size + _DIGEST:
        raise StateError(f"it is cut short, at {len(data)} bytes")
    magic, version, length = _START.unpack_from(data)
    if magic != _MAGIC:
        raise StateError("it is no state of a site")
    if version != VERSION:
        raise StateError(f"it is of version {version}; this one reads version {VERSION}")
    if hashlib.blake2b(data[:-_DIGEST], digest_size=_DIGEST).digest() != data[-_DIGEST:]:
        raise StateError("its checksum is wrong: it is damaged")
    begin = _START.size
    if length > len(data) - begin - _DIGEST:
        raise StateError("its header is longer than the file")
    return SavedState(
        json.loads(data[begin : begin + length]), data[begin + length : len(data) - _DIGEST]
    )


class StateStore:
    """State file in the folder of a site; ``sync`` flushes every state to the disk."""

    def __init__(
        self, folder: str | os.PathLike[str], *, sync: bool, name: str = "state.wms"
    ) -> None:
        self.path, self._sync = Path(folder) / name, sync
        # Files that a killed process left behind.
        for left in self.path.parent.glob(f".*{TEMPORARY_SUFFIX}"):
            with suppress(OSError):
                left.unlink()

    def save(self, header: dict[str, Any], native: bytes) -> None:
        """Replace the state; messages may be sent after this returns."""
        text = json.dumps(header).encode()
        data = _START.pack(_MAGIC, VERSION, len(text)) + text + native
        digest = hashlib.blake2b(data, digest_size=_DIGEST).digest()
        write_atomically(self.path, data + digest, mode=0o600, sync=self._sync)

    def load(self) -> SavedState | None:
        """Return the state, or None if there is none; StateError if it cannot be trusted."""
        try:
            return read_state(self.path)
        except FileNotFoundError:
            return None

    def set_aside(self) -> Path:
        """Rename a state that cannot be trusted, and return its new path."""
        number = 1
        name = self.path.stem
        while (place := self.path.with_name(f"{name}.damaged-{number}.wms")).exists():
            number += 1
        os.rename(self.path, place)
        return place


class Participant:
    """Member of a network: the native site, which trains the model, its links and its saved state.

    ``rounds`` counts from the creation of the state; ``saved`` is the time of the last save, by the
    monotonic clock.
    """

    def __init__(self, local: LocalSite, public_key: str, listener: Callable[..., None]) -> None:
        self.local, self.config = local, local.config
        self.public_key, self._listener = public_key, listener
        self.rounds = 0
        self._fingerprint = local.rows.fingerprint
        self._differences = Differences(local.agreed, listener)
        self.membership = Membership(self.config.study, listener)
        self._store = StateStore(self.config.folder, sync=self.config.sync)
        self.site = self._restored() or self._linked(local.native(len(self.config.neighbours)))
        self.budget = budget_of(self.config, local.n_problems)
        if self.budget is not None:
            self.budget.begin(self.site)
        self._open_new_links()
        self.save()

    def receive(self, key: str, data: bytes) -> tuple[Frame, bool] | None:
        """Process a message; return its frame and whether it was read, or None if invalid."""
        if key not in self.links.by_key:
            return None  # no neighbour any more
        try:
            frame = decode(
                data,
                agreement=self.local.agreed.digest,
                dimension=self.local.problem.size,
                count=self.message_sizes,
            )
            if frame.kind in (Kind.STUDY, Kind.DIFFERENCE):
                self._be_told(key, frame)
                return None
            self.links.by_key[key].study_version = frame.study_version
            frame = self._followed(key, frame)
            was_read = self.links.receive(key, frame)
            self._distrust_an_old_state()
            return frame, was_read
        except FrameError as error:
            self.links.reject(key, error)
            if error.reason == "agreement":
                self._differences.refuse(key)
            return None

    def _distrust_an_old_state(self) -> None:
        """Release nothing more if neighbours were told what this state does not know of."""
        if not self.links.behind or self.budget is None:
            return
        self.links.behind = False
        if self.budget.made < self.budget.account.releases:
            self.budget.exhaust(self.site)
            self._listener("privacy_budget_unknown", **self.budget.status())

    @property
    def message_sizes(self) -> frozenset[int]:
        """Sizes of messages that neighbours may send, in numbers."""
        if isinstance(self.site, SiteColumns):
            return self.site.message_sizes
        return frozenset({self.site.message_size})

    def _followed(self, key: str, frame: Frame) -> Frame:
        """Follow a neighbour's choice of C; return the frame as it is read here."""
        if not isinstance(self.site, Choice):
            return frame
        frame, changed = followed(self.site, self.links, frame)
        if changed:
            self._report_choice(self.links.by_key[key].neighbour.name)
        return frame

    def _report_choice(self, heard_from: str | None) -> None:
        assert isinstance(self.site, Choice)
        chosen, table = self.site.chosen, self.site.table
        assert chosen is not None
        scores = None if table is None else [round(each, 5) for each in table]
        self._listener(
            "C_chosen", C=self.site.values[chosen], held_out_accuracy=scores, heard_from=heard_from
        )

    def answers(self) -> list[tuple[str, bytes]]:
        """Return frames for neighbours with an older study or with other settings."""
        told = [
            (key, bytes_frame(Kind.DIFFERENCE, payload))
            for key, payload in self._differences.answers().items()
        ]
        versions = {key: link.study_version for key, link in self.links.by_key.items()}
        return told + [(key, self.membership.frame) for key in self.membership.behind(versions)]

    def _be_told(self, key: str, frame: Frame) -> None:
        """Read what does not concern the model."""
        if frame.kind is Kind.STUDY:
            self.membership.hear(key, frame.study_version, frame.payload)
            return
        try:
            self._differences.hear(key, self.links.by_key[key].neighbour.name, frame.payload)
        except ValueError as error:
            raise FrameError("difference", str(error)) from None

    def round(self) -> dict[str, bytes]:
        """Take one step, save the state, and return the message to each neighbour."""
        undecided = isinstance(self.site, Choice) and self.site.chosen is None
        self.site.combine()
        if undecided and isinstance(self.site, Choice) and self.site.chosen is not None:
            self._report_choice(None)
        self.site.step()
        frames = {key: encode(frame) for key, frame in self.links.frames().items()}
        self.rounds += 1
        self.save()
        # After the state: a state that is behind the budget would have to be set aside.
        if self.budget is not None and self.budget.record(self.site):
            self._listener("privacy_budget_spent", **self.budget.status())
        return frames

    def save(self) -> None:
        """Save the state."""
        self._store.save(
            {
                "name": self.config.name,
                "public_key": self.public_key,
                "agreement": self.local.agreed.digest,
                "fingerprint": self._fingerprint,
                "rounds": self.rounds,
                "steps": int(self.site.steps),
                "links": self.links.saved(),
                "masses": masses_of(self.site),
                "model_masses": masses_of(self.site, models=True),
            },
            self.site.save(),
        )
        self.saved = time.monotonic()

    def put_away(self) -> None:
        """Save the state at an orderly stop, by which an operator forgives the neighbours.

        After a crash they go on with what they had left: whoever can crash a site must not gain a
        new allowance by it.
        """
        self.links.forgive()
        self.save()

    def set_neighbours(self, config: SiteConfig) -> dict[str, list[str]]:
        """Change to the neighbours of a configuration; return the names added and removed."""
        self._change_numbers(config)
        before = {key: link.neighbour for key, link in self.links.by_key.items()}
        listed = {each.public_key: each for each in config.neighbours}
        for key in before.keys() - listed.keys():
            self.links.drop(key)
            self._differences.forget(key)
            self.membership.forget(key)
        for key in before.keys() & listed.keys():
            self.links.by_key[key].neighbour = listed[key]
        self._open_new_links()
        self.save()
        return {
            "added": [listed[key].name for key in listed.keys() - before.keys()],
            "removed": [before[key].name for key in before.keys() - listed.keys()],
        }

    def _change_numbers(self, config: SiteConfig) -> None:
        """Change to a configuration whose study has more or fewer members; keep the state."""
        changed = (config.n_sites, config.longest_path) != (
            self.config.n_sites,
            self.config.longest_path,
        )
        self.config = config
        if config.study is not None:
            self.membership.adopt(config.study)
            self.links.study_version = config.study.version
        if changed:
            self.local = self.local.with_config(config)
            site = self.local.native(len(self.site.links()))
            site.restore(self.site.save())
            self.site = self.links.site = site
            self.links.limits = self.local.limits

    def _linked(self, site: AnySite) -> AnySite:
        """Return a native site, after creating its links, which are closed."""
        self.links = Links(
            site,
            agreement=self.local.agreed.digest,
            dimension=self.local.problem.size,
            limits=self.local.limits,
            listener=self._listener,
            ways=self.local.ways,
        )
        if self.config.study is not None:
            self.links.study_version = self.config.study.version
        return site

    def _restored(self) -> AnySite | None:
        """Return the saved site; set aside a state that cannot be trusted."""
        try:
            saved = self._store.load()
            return None if saved is None else self._from_saved(saved)
        except (ValueError, KeyError, TypeError) as error:  # StateError is a ValueError
            self._listener("state_set_aside", reason=str(error), path=str(self._store.set_aside()))
            return None

    def _from_saved(self, saved: SavedState) -> AnySite:
        header = saved.header
        for name, now, what in (
            ("agreement", self.local.agreed.digest, "settings or columns have changed"),
            ("fingerprint", self._fingerprint, "the rows have changed"),
        ):
            if header[name] != now:
                raise StateError(f"{what} since it was saved")
        slots = len(header["masses"]["sent"])
        site = self._linked(self.local.native(max(slots, len(self.config.neighbours))))
        site.restore(saved.native)
        self.links.restored(header["links"], self.config.neighbours)
        self.rounds = int(header["rounds"])
        self._listener("state_restored", steps=int(site.steps), rounds=self.rounds)
        return site

    def _open_new_links(self) -> None:
        """Open links to neighbours that have none, in slots that are free."""
        links = self.links
        new = [n for n in self.config.neighbours if n.public_key not in links.by_key]
        used = {link.slot for link in links.by_key.values()}
        slots = max(len(self.site.links()), len(used) + len(new))
        if slots > len(self.site.links()):
            larger = self.local.native(slots)
            larger.restore(self.site.save())
            self.site = links.site = larger
        free = (slot for slot in range(slots) if slot not in used)
        for neighbour in new:
            links.add(neighbour, next(free))
