"""The allow-list of public keys, which libzmq queries at every handshake (ZAP)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from zmq.utils import z85

__all__ = ["DOMAIN", "ENDPOINT", "Gate", "TokenBucket"]

# Endpoint of libzmq's queries, by ZeroMQ's RFC 27.
ENDPOINT = "inproc://zeromq.zap.01"
DOMAIN = b"widemargin"
# Limit of a neighbour's handshakes: it connects once, and again after a failure.
CONNECTIONS_PER_SECOND = 2.0
CONNECTION_BURST = 20.0
# Number of refused keys that are remembered, so that each is logged once.
MOST_STRANGERS = 1024


class TokenBucket:
    """Rate limit: `rate` events a second, in bursts of up to `most`."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most, self._left = rate, most, most
        self._then = time.monotonic()

    def take(self) -> bool:
        """Return whether one more event is allowed now."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._then) * self._rate)
        self._then = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Gate:
    """Answers libzmq's queries, and counts refused handshakes.

    Parameters
    ----------
    listener : callable
        Called with ``refused`` once for every unknown key.

    Attributes
    ----------
    refused : int
        Number of refused handshakes.
    """

    def __init__(self, listener: Callable[..., None]) -> None:
        self.refused = 0
        self._listener = listener
        self._strangers: set[tuple[str, ...]] = set()
        self._connecting: dict[str, TokenBucket] = {}

    def admit(self, keys: Iterable[str]) -> None:
        """Accept these keys from now on, and no others."""
        known = self._connecting
        self._connecting = {
            key: known.get(key) or TokenBucket(CONNECTIONS_PER_SECOND, CONNECTION_BURST)
            for key in keys
        }

    def knows(self, key: str) -> bool:
        """Return whether a key is on the list."""
        return key in self._connecting

    def answer(self, question: list[bytes]) -> list[bytes]:
        """Answer one query of libzmq."""
        if len(question) < 6:
            return [b"1.0", question[1] if len(question) > 1 else b"", b"500", b"", b"", b""]
        version, number, _, address, _, mechanism, *credentials = question
        key = ""
        if mechanism == b"CURVE" and len(credentials) == 1 and len(credentials[0]) == 32:
            key = z85.encode(credentials[0]).decode()
        status, text = b"400", b"no"
        bucket = self._connecting.get(key)
        if bucket is None:
            self.refuse(public_key=key, address=address.decode("ascii", "replace"))
        elif bucket.take():
            status, text = b"200", b"ok"
        else:
            status, text = b"300", b"later"
        return [version, number, status, text, key.encode() if status == b"200" else b"", b""]

    def refuse(self, **who: Any) -> None:
        """Count a failed handshake, and report it the first time."""
        self.refused += 1
        known = tuple(str(value) for value in who.values())
        if known in self._strangers or len(self._strangers) >= MOST_STRANGERS:
            return
        self._strangers.add(known)
        self._listener("refused", **who)
