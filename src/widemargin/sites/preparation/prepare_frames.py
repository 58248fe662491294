"""Frames by which sites agree on a preparation: the header of `wire`, numbers, and a text.

The last field of the header is the length of the text here, which follows the numbers: JSON, with
the smallest public key that the sender has heard of (``leader``), a digest of what it knows
(``known``), and the ``version`` of its study, 0 if it has none. To a neighbour that knows something
else it also has that: ``names`` of levels, and what was ``agreed`` so far. The numbers are the
stage, the counter, and the running sums.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..network.keys import check_public_key
from ..network.wire import (
    HEADER_BYTES,
    MOST_NUMBER,
    FrameError,
    check_epochs,
    header_fields,
    packed_header,
)

__all__ = ["MOST_TEXT", "PREPARE", "PrepareFrame", "decode_prepare", "encode_prepare", "kind_of"]

#: Kind of these frames in the header.
PREPARE = 3
#: Longest text in bytes.
MOST_TEXT = 2**21
_KEYS = {"leader", "known", "version", "names", "agreed"}
_OPTIONAL = {"names", "agreed"}


@dataclass(frozen=True, eq=False)
class PrepareFrame:
    """A message about the preparation."""

    agreement: int
    sender_epoch: int
    receiver_epoch: int
    number: int
    acknowledged: int
    degree: int
    stage: int
    counter: int
    sums: Array
    text: dict[str, Any]


def kind_of(data: bytes) -> int:
    """Return the kind that a frame claims; 0 if it is too short to have one."""
    return int(struct.unpack_from("<H", data, 6)[0]) if len(data) >= HEADER_BYTES else 0


def encode_prepare(frame: PrepareFrame) -> bytes:
    """Return the bytes of a frame."""
    numbers = np.concatenate([[frame.stage, frame.counter], frame.sums]).astype("<f8")
    text = json.dumps(frame.text, separators=(",", ":")).encode()
    header = packed_header(
        PREPARE,
        frame.agreement,
        frame.sender_epoch,
        frame.receiver_epoch,
        frame.number,
        frame.acknowledged,
        frame.degree,
        0,
        len(numbers),
        len(text),
    )
    return header + numbers.tobytes() + text


def decode_prepare(data: bytes, *, agreement: int) -> PrepareFrame:
    """Read a frame and check it as far as possible without the link; FrameError if invalid."""
    kind, theirs, sender, receiver, number, read, degree, rest, count, length = header_fields(data)
    if kind != PREPARE or rest != 0:
        raise FrameError("kind", f"there is no frame of kind {kind}.")
    if theirs != agreement:
        raise FrameError("agreement", "the settings and the schema must be the same at all sites.")
    if count < 2 or length > MOST_TEXT or len(data) != HEADER_BYTES + 8 * count + length:
        raise FrameError("length", "the frame is not as long as its header says.")
    check_epochs(sender, receiver)
    if number > MOST_NUMBER or read > MOST_NUMBER:
        raise FrameError("number", "messages are numbered from 0 to 2**53.")
    numbers = np.frombuffer(data, dtype="<f8", offset=HEADER_BYTES, count=count).astype(np.float64)
    if not np.isfinite(numbers).all():
        raise FrameError("finite", "numbers must be finite.")
    stage, counter = numbers[:2]
    if stage not in range(4) or counter != np.floor(counter) or not 0 <= counter <= 2**30:
        raise FrameError("number", "stage and counter must be whole numbers.")
    text = _text(bytes(data[HEADER_BYTES + 8 * count :]))
    return PrepareFrame(
        theirs, sender, receiver, number, read, degree, int(stage), int(counter), numbers[2:], text
    )


def _text(data: bytes) -> dict[str, Any]:
    try:
        text = json.loads(data)
        if not isinstance(text, dict) or not _KEYS - _OPTIONAL <= text.keys() <= _KEYS:
            raise ValueError("other keys")
        check_public_key(text["leader"])
        if not isinstance(text["known"], str) or len(text["known"]) > 64:
            raise ValueError("another digest")
        if type(text["version"]) is not int or not 0 <= text["version"] < 2**32:
            raise ValueError("another version")
    except (ValueError, TypeError, RecursionError) as error:
        raise FrameError("text", f"the text of the frame is invalid: {error}.") from None
    return text
