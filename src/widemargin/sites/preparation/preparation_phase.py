"""The phase before training in which sites agree on a preparation.

For every stage of `column_statistics` the sites form sums (`running_sums`) until all of them know
that all have the same: a site is *content* when its neighbours' estimates and names are its own,
its counter is 1 + the smallest that it heard of, 0 while it is not content, and a counter beyond
the longest path means that everybody was content. Whether estimates agree is seen from a few random
numbers that every site adds to its sums: they mix as everything else does, and have a known size.

Then the site with the smallest public key rounds its sums and concludes. Everybody else adopts its
conclusion, which spreads from neighbour to neighbour, so that all have the same bits. A site that
comes later, or has lost its state, adopts what was concluded without it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..network.wire import MOST_EPOCH, FrameError
from .agreed_checks import STAGES, are_names, check_agreed, unlike
from .agreed_preparation import agreed_preparation
from .column_statistics import Agreed, ColumnStatistics, Names
from .preparation import Preparation
from .prepare_frames import PrepareFrame, decode_prepare, encode_prepare
from .running_sums import RunningSums
from .site_table import SiteTable

__all__ = ["PreparationPhase"]

#: Random numbers beside the sums of a stage, and how far they may differ when sites agree.
PROBES, SAME = 4, 1e-10
ROUNDING = 1e-15
#: Rounds without a message after which a neighbour gets no more shares.
SILENCE = 6


@dataclass
class _End:
    """One end of a link; see `links` for epochs and numbers."""

    epoch: int
    their_epoch: int = 0
    written: int = 0
    read: int = 0
    degree: int = 0
    version: int | None = None  # of its study
    # What the neighbour said last, of this stage.
    counter: int = 0
    known: str = ""
    same: bool = False  # whether its estimate was this site's
    silent: int = 0
    waiting: bool = True  # whether it has to be told something


class PreparationPhase:
    """The part of one site in the agreement on a preparation.

    Parameters
    ----------
    table : SiteTable
        Rows of this site.
    public_key : str
        Key of this site.
    neighbours : iterable of str
        Keys of its neighbours.
    n_sites : int
        Number of sites, all of which must take part.
    diameter : int
        Bound on the number of links between two sites.
    agreement : int
        Digest of the settings and the schema, which all sites share.
    least_sites : int, default=1
        Nothing is concluded while `n_sites` is smaller.
    listener : callable
        Called with events.

    Notes
    -----
    The caller takes :meth:`frames`, saves :meth:`saved`, and sends them then: what neighbours have
    read is in the file, and a site that is killed contradicts nothing.
    """

    def __init__(
        self,
        table: SiteTable,
        *,
        public_key: str,
        neighbours: Iterable[str],
        n_sites: int,
        diameter: int,
        agreement: int,
        least_sites: int = 1,
        listener: Callable[..., None] = lambda event, **fields: None,
    ) -> None:
        self.table, self.statistics = table, ColumnStatistics(table.schema)
        self._key, self.n_sites, self.diameter = public_key, n_sites, diameter
        self._agreement, self._listener = agreement, listener
        self.least_sites = least_sites
        self.study_version = 0
        self._members: frozenset[str] = frozenset()
        self._since = 0  # version of the study from which on its first members are these
        self._random = np.random.default_rng()
        self._ends: dict[str, _End] = {}
        self.begin_anew()
        self.set_neighbours(neighbours)

    # --- what the caller asks --------------------------------------------------------------------

    @property
    def stage(self) -> str | None:
        """Current stage; None when all are concluded."""
        return self.statistics.next_stage(self.agreed)

    @property
    def done(self) -> bool:
        """Whether there is a preparation."""
        return self.stage is None

    @property
    def preparation(self) -> Preparation:
        """The agreed preparation, once it is there."""
        return agreed_preparation(self.statistics, self.agreed)

    def begin_anew(self) -> None:
        """Forget everything but the table and the neighbours."""
        self.agreed: Agreed = {}
        self.names: Names = self.statistics.names(self.table)
        self.leader = min(self._members, default=self._key)
        keys = list(self._ends)
        self._ends = {}
        self._begin_stage()
        self.set_neighbours(keys)

    def set_neighbours(self, keys: Iterable[str]) -> None:
        """Change the neighbours."""
        wanted = set(keys)
        for key in self._ends.keys() - wanted:
            del self._ends[key]
            self._close(key)
        for key in sorted(wanted - self._ends.keys()):
            self._ends[key] = _End(_new_epoch(0))
            self._open(key)

    def set_members(self, keys: Iterable[str], version: int) -> None:
        """Take all sites from a study; the one that concludes is then among its members.

        With other sites, what was concluded so far is not of the same rows as the rest would be:
        they begin anew.
        """
        members, before = frozenset(keys), self._members
        if members != before:
            self._since = version
        self._members, self.study_version = members, version
        self.n_sites = len(members)
        self.leader = min(members)
        if before not in (frozenset(), members) and not self.done:
            self.begin_anew()

    def version_of(self, key: str) -> int | None:
        """Return the version of a neighbour's study, None if not known."""
        return self._ends[key].version if key in self._ends else None

    def receive(self, key: str, data: bytes) -> bool:
        """Process a frame of a neighbour; return whether it was read. FrameError if invalid."""
        if key not in self._ends:
            return False
        frame = decode_prepare(data, agreement=self._agreement)
        end = self._ends[key]
        if frame.text["version"] < self._since:
            end.version = frame.text["version"]  # it counts other sites, and has to be told
            return False
        if frame.sender_epoch < end.their_epoch:
            return False
        if frame.receiver_epoch > end.epoch:
            self._restart(key, frame.receiver_epoch)
            return False
        if frame.sender_epoch > end.their_epoch:
            if end.their_epoch:
                self._close(key)
                self._open(key)
            end.their_epoch, end.read = frame.sender_epoch, 0
        self._learn(frame.text)
        end.waiting = frame.text["known"] != self._known
        end.version = frame.text["version"]
        if frame.receiver_epoch != end.epoch or frame.number <= end.read:
            return False
        if frame.acknowledged > end.written:
            self._restart(key, end.epoch)
            return False
        end.read, end.silent, end.degree = frame.number, 0, frame.degree
        end.known = frame.text["known"]
        if self.done or frame.stage != STAGES.index(str(self.stage)):
            return True
        self._read_sums(key, end, frame)
        return True

    def frames(self) -> dict[str, bytes]:
        """Take one step and return the messages to neighbours; save the state before sending.

        When the preparation is there, only neighbours that ask are told.
        """
        self._count()
        told = [key for key, end in self._ends.items() if end.waiting or not self.done]
        if not self.done:
            self._give()
        return {key: encode_prepare(self._frame(self._ends[key])) for key in told}

    # --- state -----------------------------------------------------------------------------------

    def saved(self) -> tuple[dict[str, Any], bytes]:
        """Return the state: JSON values, and the sums."""
        keys, numbers = self._sums.saved()
        header = {
            "agreement": self._agreement,
            "fingerprint": self._fingerprint,
            "members": sorted(self._members),
            "leader": self.leader,
            "names": self.names,
            "agreed": self.agreed,
            "counter": self._counter,
            "keys": keys,
            "ends": {key: vars(end) for key, end in self._ends.items()},
        }
        return header, numbers.astype("<f8").tobytes()

    def restore(self, header: dict[str, Any], numbers: bytes) -> None:
        """Go on from a saved state; ValueError if it is of other settings or other rows."""
        if header["agreement"] != self._agreement:
            raise ValueError("settings or schema have changed since it was saved")
        if header["members"] != sorted(self._members):
            raise ValueError("other sites take part since it was saved")
        check_agreed(self.statistics, header["agreed"])
        self.agreed = header["agreed"]
        self._begin_stage()
        if not self.done and header["fingerprint"] != self._fingerprint:
            raise ValueError("the rows have changed since it was saved")
        self.leader = min(self._members, default=header["leader"])
        self.names = header["names"]
        self._counter = int(header["counter"])
        listed = set(self._ends)
        self._ends = {key: _End(**end) for key, end in header["ends"].items()}
        sums = np.frombuffer(numbers, dtype="<f8").astype(np.float64)
        self._sums = RunningSums.restored(header["keys"], sums, self._size, self._random)
        self.set_neighbours(listed)

    @property
    def _fingerprint(self) -> str:
        """Digest of what this site adds to the sums of the stage."""
        return hashlib.sha256(self._own.tobytes()).hexdigest()

    # --- steps -----------------------------------------------------------------------------------

    def _begin_stage(self) -> None:
        self._counter, self._before = 0, np.full(PROBES, np.inf)
        stage = self.stage
        self._own: Array = np.empty(0)
        floor: Array = np.empty(0)
        if stage is not None:
            self._own = self.statistics.contribution(stage, self.table, self.agreed)
            floor = self.statistics.counts(stage, self.agreed)
        self._size = self._own.size + PROBES
        probes = self._random.choice([-1.0, 1.0], PROBES)
        self._sums = RunningSums(
            np.concatenate([self._own, probes]), np.append(floor, np.zeros(PROBES)), self._random
        )
        for key, end in self._ends.items():
            end.counter, end.same, end.silent, end.waiting = 0, False, 0, True
            self._open(key)

    def _open(self, key: str) -> None:
        self._sums.open(key)

    def _close(self, key: str) -> None:
        self._sums.close(key)
        if key in self._ends:
            self._ends[key].counter, self._ends[key].same = 0, False

    def _restart(self, key: str, above: int) -> None:
        """Begin a link anew: this site's state was lost, or is an older copy."""
        self._close(key)
        self._ends[key] = _End(_new_epoch(above))
        self._open(key)

    def _learn(self, text: dict[str, Any]) -> None:
        """Take from a neighbour what it knows and this site does not."""
        if not self._members:
            self.leader = min(self.leader, text["leader"])
        if not self.done and are_names(self.statistics, text.get("names")):
            self.names = self.statistics.merged([self.names, text["names"]])
        agreed = text.get("agreed", {})
        try:
            check_agreed(self.statistics, agreed)
        except (ValueError, KeyError, TypeError) as error:
            raise FrameError("text", f"conclusions are invalid: {error}.") from None
        if any(self.agreed[stage] != agreed[stage] for stage in self.agreed.keys() & agreed.keys()):
            raise FrameError(
                "conclusion",
                "the neighbour has another preparation. Remove `preparation.json` at the site that "
                "is wrong, and start it again.",
            )
        while (stage := self.stage) is not None and stage in agreed:
            if self._counter:  # this site has sums of its own to compare with
                mine, sizes = self._conclusion(), self.statistics.sizes(self.table)
                if (name := unlike(mine, agreed[stage], {"mean": sizes})) is not None:
                    raise FrameError(
                        "conclusion",
                        f"the {name} that was concluded differs from the sums of this site. Do "
                        "all sites have the same `n_sites`, and does one of them lie?",
                    )
            self._conclude(stage, agreed[stage])

    def _read_sums(self, key: str, end: _End, frame: PrepareFrame) -> None:
        if frame.sums.size != self._size + 1:
            raise FrameError("length", f"expected {self._size + 1} sums; got {frame.sums.size}.")
        try:
            new = self._sums.read(key, frame.sums)
        except ValueError as error:
            raise FrameError("magnitude", str(error)) from None
        end.counter = frame.counter
        if new[-1] > 0.0:
            theirs = new[-1 - PROBES : -1] / new[-1]
            # The longer sums run, the more of what is new is lost to rounding.
            same = SAME + ROUNDING * float(frame.sums[-1]) / float(new[-1])
            end.same = bool(np.all(np.abs(theirs - self._probes) <= same))

    @property
    def _probes(self) -> Array:
        return self._sums.estimate[-PROBES:]

    def _count(self) -> None:
        """Find out whether all sites agree, and conclude if that is this site's task."""
        while (stage := self.stage) is not None:
            known, now = self._known, self._probes
            steady = bool(np.all(np.abs(now - self._before) <= SAME)) or self.n_sites == 1
            self._before = now
            ends = self._ends.values()
            content = (
                steady
                and self.n_sites >= self.least_sites
                and (bool(self._ends) or self.n_sites == 1)
                and all(end.same and end.known == known for end in ends)
            )
            lowest = min((end.counter for end in ends), default=self.diameter + 1)
            self._counter = min(lowest + 1, 2**30) if content else 0
            if self._counter <= self.diameter or self.leader != self._key:
                return
            self._conclude(stage, self._conclusion())

    def _conclusion(self) -> dict[str, Any]:
        sums = self.n_sites * self._sums.estimate[:-PROBES]
        return self.statistics.conclusion(str(self.stage), sums, self.names, self.agreed)

    def _conclude(self, stage: str, values: dict[str, Any]) -> None:
        self.agreed = {**self.agreed, stage: values}
        self._listener("preparation_stage", stage=stage, sites=self.n_sites)
        self._begin_stage()
        if self.done:
            made = self.preparation
            self._listener(
                "prepared",
                rows=made.total_rows,
                features=made.n_features,
                digest=made.digest[:16],
            )

    def _give(self) -> None:
        fractions: dict[str, float] = {}
        if self.n_sites < self.least_sites:
            # Shares that a site gives while it has too few neighbours hide nothing.
            return
        for key, end in self._ends.items():
            end.silent += 1
            if end.their_epoch and end.silent <= SILENCE:
                most = max(len(self._ends), min(end.degree, 2**20), 1)
                fractions[key] = 1.0 / (1.0 + most)
        self._sums.give(fractions)

    def _frame(self, end: _End) -> PrepareFrame:
        end.written += 1
        end.waiting = False
        known = self._known
        text: dict[str, Any] = {
            "leader": self.leader,
            "known": known,
            "version": self.study_version,
        }
        if end.known != known:
            text |= {"names": self.names, "agreed": self.agreed}
        key = next(each for each, other in self._ends.items() if other is end)
        return PrepareFrame(
            self._agreement,
            end.epoch,
            end.their_epoch,
            end.written,
            end.read,
            len(self._ends),
            len(STAGES) if self.done else STAGES.index(str(self.stage)),
            self._counter,
            np.empty(0) if self.done else self._sums.sent[key],
            text,
        )

    @property
    def _known(self) -> str:
        """Digest of leader, names and conclusions."""
        names = {} if "sums" in self.agreed else self.names
        text = json.dumps([self.leader, names, self.agreed], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _new_epoch(above: int) -> int:
    return min(max(time.time_ns(), above + 1), MOST_EPOCH - 1)
