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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .network.keys import TokenBucket

__all__ = ["Agreement", "Differences", "canonical", "read_digests"]

MOST_NAMES = 256
LONGEST_NAME = 64
# Answers to a neighbour with other settings, per second.
ANSWERS = 1.0 / 30.0


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


class Differences:
    """Exchange of digests with neighbours that have other settings; by their public keys."""

    def __init__(self, agreed: Agreement, listener: Callable[..., None]) -> None:
        self.agreed, self._listener = agreed, listener
        self._due: set[str] = set()
        self._limits: dict[str, TokenBucket] = {}
        self._reported: dict[str, list[str]] = {}

    def refuse(self, key: str) -> None:
        """Record that a neighbour's frame was refused because of its settings."""
        if self._limits.setdefault(key, TokenBucket(ANSWERS, 1.0)).take():
            self._due.add(key)

    def answers(self) -> dict[str, bytes]:
        """Return the payloads that are due, and regard them as sent."""
        due, self._due = self._due, set()
        return {key: self.agreed.to_bytes() for key in due}

    def hear(self, key: str, name: str, payload: bytes) -> None:
        """Report the settings in which a neighbour differs, once; ValueError if it is no answer."""
        found = self.agreed.differences(read_digests(payload))
        if found and self._reported.get(key) != found:
            self._reported[key] = found
            self._listener("settings_differ", neighbour=name, settings=found)

    def forget(self, key: str) -> None:
        """Forget a neighbour."""
        self._due.discard(key)
        self._limits.pop(key, None)
        self._reported.pop(key, None)


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
