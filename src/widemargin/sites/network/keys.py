"""The identity of sites: one pair of CURVE keys each, and the allow-list of public keys."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import zmq
from zmq.utils import z85

__all__ = [
    "DOMAIN",
    "ENDPOINT",
    "SECRET_MODE",
    "Gate",
    "TokenBucket",
    "check_public_key",
    "make_keys",
    "read_public_key",
    "read_secret_key",
]

SECRET_MODE = 0o600
_LENGTH = 40  # of a key in Z85, which stands for 32 bytes
# Endpoint of libzmq's queries, by ZeroMQ's RFC 27.
ENDPOINT = "inproc://zeromq.zap.01"
DOMAIN = b"widemargin"
# Limit of a neighbour's handshakes: it connects once, and again after a failure.
CONNECTIONS_PER_SECOND = 2.0
CONNECTION_BURST = 20.0
# Number of refused keys that are remembered, so that each is logged once.
MOST_STRANGERS = 1024


def make_keys(folder: str | os.PathLike[str]) -> str:
    """Create a pair of keys in a folder: ``secret.key``, for its owner only, and ``public.key``.

    Parameters
    ----------
    folder : path-like
        An existing folder.

    Returns
    -------
    str
        The public key: 40 characters, which neighbours put into their configuration.

    Raises
    ------
    FileExistsError
        If there is a secret key: neighbours would not recognise the site by a new one.
    """
    public, secret = zmq.curve_keypair()
    place = Path(folder)
    path = place / "secret.key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET_MODE)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists already, and neighbours know the site by it. Remove it to make new "
            "keys, and give the new public key to all neighbours."
        ) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret + b"\n")
    # A link that somebody put there must not decide which file is overwritten.
    if (place / "public.key").is_symlink() or (place / "public.key").exists():
        path.unlink()
        raise FileExistsError(
            f"{place / 'public.key'} exists already, without a secret key beside it. Remove it."
        )
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(place / "public.key", flags, 0o644), "wb") as file:
        file.write(public + b"\n")
    return str(public.decode())


def read_public_key(folder: str | os.PathLike[str]) -> str:
    """Return the public key in a folder."""
    return _read(Path(folder) / "public.key")


def read_secret_key(folder: str | os.PathLike[str]) -> str:
    """Return the secret key in a folder, which must be readable by its owner only."""
    path = Path(folder) / "secret.key"
    key = _read(path)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise PermissionError(
            f"{path} must be readable by its owner only; its mode is {mode:03o}. Run "
            f"`chmod 600 {path}`, and make new keys if others may have read it."
        )
    return key


def check_public_key(key: object) -> str:
    """Return a public key, or raise ValueError if it is not one."""
    if not isinstance(key, str) or len(key) != _LENGTH:
        found = f"{len(key)} characters" if isinstance(key, str) else type(key).__name__
        raise ValueError(
            f"a public key must be a text of {_LENGTH} characters, the contents of the neighbour's "
            f"`public.key`; got {found}."
        )
    try:
        decoded = z85.decode(key.encode("ascii"))
    except (KeyError, ValueError, struct.error):  # the last if five characters are too much
        decoded = b""
    if len(decoded) != 32:
        raise ValueError(
            "a public key must be in Z85, as in the neighbour's `public.key`; this one has other "
            "characters. Copy it again, and mind the quotes."
        )
    return key


def _read(path: Path) -> str:
    try:
        text = path.read_text("ascii").strip()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing. Make keys with `widemargin site init`."
        ) from None
    except UnicodeDecodeError:
        text = ""
    try:
        return check_public_key(text)  # secret ones look alike
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


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
    """The allow-list of public keys, which libzmq queries at every handshake (ZAP).

    It counts refused handshakes, and reports every unknown key once. ``judge``, if set, is called
    with the admitted key or None, and returns the address of the connection, or None if it is not
    known: it is then refused.
    """

    def __init__(self, listener: Callable[..., None]) -> None:
        self.refused = 0
        self.judge: Callable[[str | None], str | None] | None = None
        self._listener = listener
        self._lock = threading.Lock()
        self._strangers: set[tuple[str, ...]] = set()
        self._connecting: dict[str, TokenBucket] = {}

    def admit(self, keys: Iterable[str]) -> None:
        """Accept these keys from now on, and no others."""
        known = self._connecting
        self._connecting = {
            key: known.get(key) or TokenBucket(CONNECTIONS_PER_SECOND, CONNECTION_BURST)
            for key in keys
        }

    def answer(self, question: list[bytes]) -> list[bytes]:
        """Answer one query of libzmq."""
        if len(question) < 6:
            return [b"1.0", question[1] if len(question) > 1 else b"", b"500", b"", b"", b""]
        version, number, _, place, _, mechanism, *credentials = question
        key = ""
        if mechanism == b"CURVE" and len(credentials) == 1 and len(credentials[0]) == 32:
            key = z85.encode(credentials[0]).decode()
        status, text = b"400", b"no"
        bucket = self._connecting.get(key)
        if bucket is not None:
            status, text = (b"200", b"ok") if bucket.take() else (b"300", b"later")
        address: str | None = place.decode("ascii", "replace")
        if self.judge is not None:
            address = self.judge(key if status == b"200" else None)
            if address is None:
                status, text = b"400", b"no"
        if status == b"400":
            self.refuse(public_key=key, address=address or "unknown")
        return [version, number, status, text, key.encode() if status == b"200" else b"", b""]

    def refuse(self, **who: Any) -> None:
        """Count a failed handshake, and report it the first time; callable from any thread."""
        known = tuple(str(value) for value in who.values())
        with self._lock:
            self.refused += 1
            if known in self._strangers or len(self._strangers) >= MOST_STRANGERS:
                return
            self._strangers.add(known)
        self._listener("refused", **who)
