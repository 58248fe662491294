"""Frames of messages, a header of fixed layout and numbers, and limits on these numbers.

Nothing is ever unpickled. All of it is little endian:

====== ======= ===================================================================
offset type    contents
====== ======= ===================================================================
0      4 bytes ``WMGS``
4      uint16  version of this layout, 2
6      uint16  kind: 1 an exchange, 2 a greeting, which has no numbers; 4 a study, 5
               a difference, both of which have bytes in place of numbers
8      uint64  agreement: a digest of the settings that sites must share
16     uint64  epoch of the sender's end of the link
24     uint64  epoch of the receiver's end as known to the sender; 0 if unknown
32     uint64  number of this message, from 1 in every epoch; 0 in a greeting
40     uint64  number of the last message read from the receiver
48     uint32  number of neighbours of the sender
52     uint32  dimension: number of weights, including the intercept
56     uint32  count of the numbers, or bytes, that follow
60     uint32  version of the study that the sender has; 0 if it has none
64     bytes   the numbers (see `packed_numbers`), or the bytes
====== ======= ===================================================================

Studies and differences (see `membership` and `agreement`) are read whatever the sender's settings
are: they are what lets sites agree.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

import numpy as np

from ... import _native
from ...core.arrays import Array
from ...gossip.methods import SiteSetting
from ...gossip.simulation import numbers_bytes
from .packed_numbers import packed_numbers, unpacked_numbers

__all__ = [
    "HEADER_BYTES",
    "MOST_EPOCH",
    "MOST_STUDY_BYTES",
    "Frame",
    "FrameError",
    "Kind",
    "MessageLimits",
    "bytes_frame",
    "decode",
    "encode",
    "most_bytes",
]

MAGIC = b"WMGS"
VERSION = 2
_HEADER = struct.Struct("<4sHHQQQQQIIII")
HEADER_BYTES = _HEADER.size
# Largest whole number that a double represents exactly. Epochs leave room for later ones.
MOST_NUMBER = 2**53
MOST_EPOCH = 2**62
# Factor above what the problem allows.
ROOM = 10.0
# Bytes of a study, and of the digests of settings, that are read of a neighbour.
MOST_STUDY_BYTES = 2**18
MOST_DIFFERENCE_BYTES = 2**14
# Mass that one message may carry, in units of the mass of the whole network.
SHARES = 100.0


class Kind(IntEnum):
    """Purpose of a frame."""

    EXCHANGE = 1
    GREETING = 2
    STUDY = 4
    DIFFERENCE = 5


# Kinds that carry bytes, and how many at most.
_OF_BYTES = {Kind.STUDY: MOST_STUDY_BYTES, Kind.DIFFERENCE: MOST_DIFFERENCE_BYTES}


class FrameError(ValueError):
    """A frame that cannot be used; ``reason`` is a category, for counters."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Frame:
    """A message from one site to another; the fields are in the order of the layout."""

    kind: Kind
    agreement: int
    sender_epoch: int
    receiver_epoch: int
    number: int
    acknowledged: int
    degree: int
    dimension: int
    numbers: Array
    study_version: int = 0
    payload: bytes = b""


def encode(frame: Frame) -> bytes:
    """Return the bytes of a frame."""
    *fields, numbers, study_version, payload = vars(frame).values()
    count = len(payload) if frame.kind in _OF_BYTES else len(numbers)
    return packed_header(*fields, count, study_version) + (payload or packed_numbers(numbers))


def packed_header(*fields: int) -> bytes:
    """Return the header of a frame, from its kind on."""
    return _HEADER.pack(MAGIC, VERSION, *fields)


def header_fields(data: bytes | memoryview) -> tuple[int, ...]:
    """Read the header of a frame, from its kind on; FrameError if it is none of this version."""
    if len(data) < HEADER_BYTES:
        raise FrameError("length", f"a frame has at least {HEADER_BYTES} bytes; got {len(data)}.")
    magic, version, *fields = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise FrameError("magic", "this is no frame of a site.")
    if version != VERSION:
        raise FrameError("version", f"frames are of version {VERSION}; got {version}.")
    return tuple(fields)


def check_epochs(sender: int, receiver: int) -> None:
    """Raise FrameError if a header's epochs are impossible."""
    if not 0 < sender < MOST_EPOCH or receiver >= MOST_EPOCH:
        raise FrameError("epoch", "epochs must be positive and below 2**62.")


def most_bytes(count: int) -> int:
    """Return the bytes of a frame with so many numbers, all of them in double precision."""
    return HEADER_BYTES + numbers_bytes(count, 0)


def bytes_frame(kind: Kind, payload: bytes, *, study_version: int = 0) -> bytes:
    """Return a frame of a kind that carries bytes, and belongs to no epoch of a link."""
    return encode(Frame(kind, 0, 0, 0, 0, 0, 0, 0, np.empty(0), study_version, payload))


def decode(
    data: bytes | memoryview, *, agreement: int, dimension: int, count: int | Collection[int]
) -> Frame:
    """Read a frame and check it as far as possible without the link.

    ``agreement`` and ``dimension`` are the values of this site, which the sender must share,
    ``count`` the number of numbers in an exchange, or those that are possible. FrameError if the
    frame is invalid.
    """
    kind, theirs, sender, receiver, number, read, degree, size, given, study = header_fields(data)
    if kind not in set(Kind):
        raise FrameError("kind", f"there is no frame of kind {kind}.")
    if kind in _OF_BYTES:
        return _decoded_bytes(Kind(kind), data[HEADER_BYTES:], given, study)
    if theirs != agreement:
        raise FrameError(
            "agreement",
            "the sections [network] and [model] of the configuration must be the same at all "
            "sites; the sender's differ.",
        )
    if size != dimension:
        raise FrameError("dimension", f"models have {dimension} weights here; got {size}.")
    counts = (count,) if isinstance(count, int) else count
    allowed = counts if kind == Kind.EXCHANGE else (0,)
    if given not in allowed:
        shown = " or ".join(map(str, sorted(counts)))
        raise FrameError("length", f"an exchange has {shown} numbers; got {given}.")
    check_epochs(sender, receiver)
    if number > MOST_NUMBER or read > MOST_NUMBER or (number == 0) != (kind == Kind.GREETING):
        raise FrameError("number", "messages are numbered from 1 to 2**53.")
    try:
        numbers = unpacked_numbers(data[HEADER_BYTES:], given)
    except ValueError as error:
        raise FrameError("length", str(error)) from None
    if not np.isfinite(numbers).all():
        raise FrameError("finite", "numbers must be finite.")
    if kind == Kind.EXCHANGE:
        counter, again, last = numbers[-3:]
        if counter != np.floor(counter) or not 0 <= counter <= 2**30:
            raise FrameError("number", "the counter must be a whole number from 0 to 2**30.")
        if again != number or last != read:
            raise FrameError("number", "the header and the message must have the same numbers.")
    return Frame(Kind(kind), theirs, sender, receiver, number, read, degree, size, numbers, study)


def _decoded_bytes(kind: Kind, payload: bytes | memoryview, given: int, study: int) -> Frame:
    if given != len(payload) or not 0 < given <= _OF_BYTES[kind]:
        raise FrameError(
            "length", f"a frame of kind {kind} has 1 to {_OF_BYTES[kind]} bytes; got {given}."
        )
    return Frame(kind, 0, 0, 0, 0, 0, 0, 0, np.empty(0), study, bytes(payload))


@dataclass(frozen=True)
class MessageLimits:
    """Limits on the numbers that are accepted from neighbours.

    They follow from the settings that all sites share, and a correct neighbour stays well within
    them in any state of the network. A faulty neighbour within the limits can still do harm: see
    the threat model in the documentation.
    """

    norm: float  # largest length of a vector: a model, or what consensus sends
    figure: float  # largest value of a figure of one site
    mass: float  # of the whole network

    @classmethod
    def of(cls, setting: SiteSetting, method: Any, n_sites: int, norm: float | None) -> Self:
        """Return the limits of a problem, with the norm of the configuration if it has one."""
        constants, rows = setting.problem.constants, setting.total_rows
        length = float(np.sqrt(setting.row_square))
        # The optimum's objective is not above that of zero.
        radius = float(np.sqrt(2.0 * setting.objective_at_zero))
        reach = 1.0 + radius * length
        slope = reach * constants.steepest if constants.smooth else constants.bound
        rho = 1.0
        if method.name == "consensus":
            rho = method.rho(constants, setting.total_square, setting.n_links)
        allowed = ROOM * (2.0 * rho * radius + slope * rows * length)
        figure = max(rows * slope * reach, allowed * setting.n_links, slope**2 * rows * length**2)
        return cls(allowed if norm is None else norm, ROOM * figure, float(n_sites))

    def check(self, site: _native._GossipSite, slot: int, numbers: Array) -> None:
        """Raise FrameError if a message of a native site exceeds the limits."""
        body, figures = numbers[: site.body_size], numbers[site.body_size : -3]
        room = 1.0
        pushed = site.sums(models=True)
        if pushed is not None:  # a running sum, of which only the increase counts
            body, room = body - pushed[2][slot], SHARES * self.mass
        with np.errstate(over="ignore"):
            norm = float(np.sqrt(np.square(body).sum()))
        if not norm <= room * self.norm:
            raise FrameError(
                "magnitude",
                f"a vector must not be longer than {room * self.norm:.3g}; got {norm:.3g}. If the "
                "neighbour is sound, raise `model.max_norm` at all sites.",
            )
        sums = site.sums()
        assert sums is not None
        new = np.abs(figures - sums[2][slot])
        if not (new[-1] <= SHARES * self.mass and new.max() <= SHARES * self.mass * self.figure):
            raise FrameError("magnitude", "shares must not exceed what the whole network has.")
