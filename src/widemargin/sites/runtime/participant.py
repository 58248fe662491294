"""A site without its loop: the native site, its links and its saved state."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...gossip.methods import NativeSite
from ..config import SiteConfig
from ..protocol.links import Links
from ..protocol.wire import Frame, FrameError, decode, encode
from .local_site import LocalSite
from .state import SavedState, StateError, StateStore, masses_of

__all__ = ["Participant"]


class Participant:
    """Member of a network.

    Parameters
    ----------
    local : LocalSite
        Its configuration and rows.
    public_key : str
        Public key of this site.
    listener : callable
        Called with events.

    Attributes
    ----------
    site : native site
        The native site, which trains the model.
    links : Links
        Its links to neighbours.
    rounds : int
        Number of rounds since the state was created.
    saved : float
        Time of the last save, by the monotonic clock.
    """

    def __init__(self, local: LocalSite, public_key: str, listener: Callable[..., None]) -> None:
        self.local, self.config = local, local.config
        self.public_key, self._listener = public_key, listener
        self.rounds = 0
        self._fingerprint = local.rows.fingerprint
        self._store = StateStore(self.config.folder, sync=self.config.sync)
        self.site = self._restored() or self._new()
        self._open_new_links()
        self.save()

    def receive(self, key: str, data: bytes) -> tuple[Frame, bool] | None:
        """Process a message; return its frame and whether it was read, or None if invalid."""
        if key not in self.links.by_key:
            return None  # no neighbour any more
        try:
            frame = decode(
                data,
                agreement=self.config.agreement,
                dimension=self.local.problem.size,
                count=self.site.message_size,
            )
            return frame, self.links.receive(key, frame)
        except FrameError as error:
            self.links.reject(key, error)
            return None

    def round(self) -> dict[str, bytes]:
        """Take one step, save the state, and return the message to each neighbour."""
        self.site.combine()
        self.site.step()
        frames = {key: encode(frame) for key, frame in self.links.frames().items()}
        self.rounds += 1
        self.save()
        return frames

    def save(self) -> None:
        """Save the state."""
        self._store.save(
            {
                "name": self.config.name,
                "public_key": self.public_key,
                "agreement": self.config.agreement,
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

    def set_neighbours(self, config: SiteConfig) -> dict[str, list[str]]:
        """Change to the neighbours of a configuration; return the names added and removed."""
        self.config = config
        before = {key: link.neighbour for key, link in self.links.by_key.items()}
        listed = {each.public_key: each for each in config.neighbours}
        for key in before.keys() - listed.keys():
            self.links.drop(key)
        for key in before.keys() & listed.keys():
            self.links.by_key[key].neighbour = listed[key]
        self._open_new_links()
        self.save()
        return {
            "added": [listed[key].name for key in listed.keys() - before.keys()],
            "removed": [before[key].name for key in before.keys() - listed.keys()],
        }

    def _new_links(self, site: NativeSite) -> Links:
        return Links(
            site,
            agreement=self.config.agreement,
            dimension=self.local.problem.size,
            limits=self.local.limits,
            listener=self._listener,
        )

    def _new(self) -> NativeSite:
        site = self.local.native(len(self.config.neighbours))
        self.links = self._new_links(site)
        return site

    def _restored(self) -> NativeSite | None:
        """Return the saved site; set aside a state that cannot be trusted."""
        try:
            saved = self._store.load()
            return None if saved is None else self._from_saved(saved)
        except (ValueError, KeyError, TypeError) as error:  # StateError is a ValueError
            self._listener("state_set_aside", reason=str(error), path=str(self._store.set_aside()))
            return None

    def _from_saved(self, saved: SavedState) -> NativeSite:
        header = saved.header
        for name, now, what in (
            ("agreement", self.config.agreement, "[network] or [model] have changed"),
            ("fingerprint", self._fingerprint, "the rows have changed"),
        ):
            if header[name] != now:
                raise StateError(f"{what} since it was saved")
        slots = len(header["masses"]["sent"])
        site = self.local.native(max(slots, len(self.config.neighbours)))
        site.restore(saved.native)
        self.links = self._new_links(site)
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
