"""Several problems in one exchange: one native site for each, with the interface of a single one.

A message is the concatenation of what the native sites write, less the last three numbers of each:
counter, number and acknowledgement are the same for all, and stand once, at the end. Native sites
of one message are always prepared, written and read together, so their masses are equal as well.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ...core.arrays import Array
from ...gossip.methods import NativeSite
from ..network.wire import MessageLimits

__all__ = [
    "AnySite",
    "ColumnLimits",
    "SiteColumns",
    "bodies_of",
    "columns_of",
    "models_of",
    "packed",
    "unpacked",
]

# Counter, number and acknowledgement: the last numbers of a message.
TRAILER = 3
_COUNT = struct.Struct("<Q")


class SiteColumns:
    """Native sites with the same rows and links, one per problem, driven as one site.

    Parameters
    ----------
    parts : sequence of NativeSite
        The native sites, which must have messages of one size.
    """

    def __init__(self, parts: Sequence[NativeSite]) -> None:
        self.parts = list(parts)

    @property
    def active(self) -> range:
        """Positions of ``parts`` among all problems."""
        return range(len(self.parts))

    def combine(self) -> None:
        """Use the messages that were read."""
        for part in self.parts:
            part.combine()

    def step(self) -> None:
        """Take one step in every problem."""
        for part in self.parts:
            part.step()

    def prepare(self, fraction: Array) -> None:
        """Share out the masses before messages are written."""
        for part in self.parts:
            part.prepare(fraction)

    def write(self, link: int) -> Array:
        """Return the message to a neighbour."""
        written = [part.write(link) for part in self.parts]
        counter = np.array([float(self.counter)])
        bodies = [each[:-TRAILER] for each in written]
        return np.concatenate([*bodies, counter, written[0][1 - TRAILER :]])

    def read(self, link: int, message: Array) -> None:
        """Read the message of a neighbour."""
        if len(message) != self.message_size:
            raise ValueError("the message is of another length.")
        for part, own in zip(self.parts, self.split(message), strict=True):
            part.read(link, own)

    def split(self, message: Array) -> list[Array]:
        """Return the message of every native site."""
        unit, last = self.unit, message[-TRAILER:]
        return [
            np.concatenate([message[k * unit : (k + 1) * unit], last])
            for k in range(len(self.parts))
        ]

    def open(self, link: int) -> None:
        """Open a link in every problem."""
        for part in self.parts:
            part.open(link)

    def abandon(self, link: int) -> None:
        """Close a link and undo what it carried."""
        for part in self.parts:
            part.abandon(link)

    def disregard(self, link: int) -> None:
        """Follow the neighbour's last message no longer, until another is read."""
        for part in self.parts:
            part.disregard(link)

    def save(self) -> bytes:
        """Return the state."""
        return packed([part.save() for part in self.parts])

    def restore(self, state: bytes) -> None:
        """Continue from a state; ValueError if it is of another site."""
        saved = unpacked(state)
        if len(saved) != len(self.parts):
            raise ValueError(f"the state has {len(saved)} problems; {len(self.parts)} are needed.")
        for part, own in zip(self.parts, saved, strict=True):
            part.restore(own)

    def models(self) -> Array:
        """Return the weights, one row per problem."""
        return np.array([part.model() for part in self.parts])

    def model(self) -> Array:
        """Return the weights of all problems, one after the other."""
        return self.models().ravel()

    def links(self) -> Array:
        """Return what a native site says of its links; of figures beyond numbers, the largest."""
        each = [part.links() for part in self.parts]
        links = each[0].copy()
        links[:, 5:] = np.max([one[:, 5:] for one in each], axis=0)
        return links

    def sums(self, models: bool = False) -> tuple[Array, Array, Array] | None:
        """Return the sums of all problems' figures held, sent and received; masses count once."""
        each = [part.sums(models) for part in self.parts]
        known = [one for one in each if one is not None]
        if not known:
            return None
        held, sent, received = (np.sum([one[k] for one in known], axis=0) for k in range(3))
        for total, first in zip((held, sent, received), known[0], strict=True):
            total[..., -1] = first[..., -1]
        return held, sent, received

    @property
    def estimate(self) -> float:
        """The largest estimated gap."""
        return max(part.estimate for part in self.parts)

    @property
    def agreement(self) -> float:
        """Relative distance of neighbours' models that counts as agreement."""
        return self.parts[0].agreement

    @property
    def apart(self) -> float:
        """The largest distance to a neighbour's model."""
        return max(part.apart for part in self.parts)

    @property
    def content(self) -> bool:
        """Whether all problems are within the tolerance."""
        return all(part.content for part in self.parts)

    @property
    def counter(self) -> int:
        """The smallest counter: all problems of sites within so many links were content."""
        return min(part.counter for part in self.parts)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.parts[0].steps

    @property
    def unit(self) -> int:
        """Numbers of a message that belong to one problem."""
        return self.parts[0].message_size - TRAILER

    @property
    def message_size(self) -> int:
        """Number of numbers in a message."""
        return len(self.parts) * self.unit + TRAILER

    @property
    def message_sizes(self) -> frozenset[int]:
        """Sizes of messages that neighbours may send."""
        return frozenset({self.message_size})


AnySite: TypeAlias = "NativeSite | SiteColumns"


class ColumnLimits:
    """Limits of messages with several problems, each with limits of its own."""

    def __init__(self, limits: Sequence[MessageLimits]) -> None:
        self.each = list(limits)

    def check(self, site: SiteColumns, slot: int, numbers: Array) -> None:
        """Raise FrameError if a message exceeds the limits."""
        messages = zip(site.active, site.parts, site.split(numbers), strict=True)
        for column, part, own in messages:
            self.each[column].check(part, slot, own)


def columns_of(site: AnySite) -> list[NativeSite]:
    """Return the native sites of a site, one per problem."""
    return site.parts if isinstance(site, SiteColumns) else [site]


def bodies_of(site: AnySite, message: Array) -> dict[int, Array]:
    """Return the vectors that a message has of the method, by the positions of their problems."""
    if not isinstance(site, SiteColumns):
        return {0: message[: site.body_size]}
    messages = zip(site.active, site.parts, site.split(message), strict=True)
    return {column: own[: part.body_size] for column, part, own in messages}


def models_of(site: AnySite) -> Array:
    """Return the weights of a site, one row per problem."""
    return site.models() if isinstance(site, SiteColumns) else site.model()[np.newaxis]


def packed(parts: Sequence[bytes]) -> bytes:
    """Join byte strings, each after its length."""
    return b"".join(_COUNT.pack(len(part)) + part for part in parts)


def unpacked(data: bytes) -> list[bytes]:
    """Return what was packed; ValueError if that is impossible."""
    parts, at = [], 0
    while at < len(data):
        if len(data) - at < _COUNT.size:
            raise ValueError("the state is cut short.")
        (length,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        if length > len(data) - at:
            raise ValueError("the state is cut short.")
        parts.append(data[at : at + length])
        at += length
    return parts
