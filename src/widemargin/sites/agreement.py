"""What sites must agree on: canonical values, their digests, and the names of those that differ.

Two sites exchange models only if the digests of their agreements are equal. A site that refuses a
neighbour for it sends the digests of the single settings, so that both logs name what to change.
The answer is a JSON object of names and digests; it holds no values.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

__all__ = ["Agreement", "canonical", "read_digests"]

MOST_NAMES = 256
LONGEST_NAME = 64


def canonical(value: Any) -> Any:
    """Return a value such that equal settings give equal JSON: 1 and 1.0, lists and tuples."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a setting must be finite; got {value!r}.")
    if isinstance(value, int | float):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, list | tuple):
        return [canonical(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): canonical(each) for key, each in value.items()}
    return os.fspath(value)


@dataclass(frozen=True)
class Agreement:
    """Values that all sites must share, by name."""

    values: Mapping[str, Any]

    @cached_property
    def digest(self) -> int:
        """Digest of all values: 64 bits, part of every frame."""
        return int.from_bytes(_digest(self.values), "little")

    @cached_property
    def digests(self) -> dict[str, str]:
        """Digest of every value, by name."""
        return {name: _digest(value).hex() for name, value in sorted(self.values.items())}

    def with_values(self, **values: Any) -> Agreement:
        """Return an agreement on more values."""
        return Agreement({**self.values, **values})

    def to_bytes(self) -> bytes:
        """Return the digests as the payload of a frame."""
        return json.dumps(self.digests, separators=(",", ":")).encode()

    def differences(self, theirs: Mapping[str, str]) -> list[str]:
        """Return the names of values that differ from those with these digests."""
        mine = self.digests
        return sorted(k for k in mine.keys() | theirs.keys() if mine.get(k) != theirs.get(k))


def read_digests(payload: bytes) -> dict[str, str]:
    """Read the digests of a neighbour; ValueError if they are none."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or len(found) > MOST_NAMES:
        raise ValueError("digests of settings must be a JSON object of names and digests.")
    for name, digest in found.items():
        if not (name.isprintable() and 0 < len(name) <= LONGEST_NAME):
            raise ValueError("the name of a setting must be short and printable.")
        if not (isinstance(digest, str) and len(digest) == 16 and digest.isalnum()):
            raise ValueError(f"the digest of {name} must have 16 hexadecimal digits.")
    return found


def _digest(value: Any) -> bytes:
    text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()[:8]
