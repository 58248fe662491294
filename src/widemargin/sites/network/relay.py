"""A relay: where two sites meet that can both only dial out.

Both ends of a link dial the relay, name themselves and each other, and prove with a token that they
are members. The relay then passes bytes between the two connections. These are a CURVE handshake
and what it encrypts, from site to site: the relay sees who meets whom, when and how many bytes,
and nothing else.

The relay greets with `MAGIC` and a nonce, 16 bytes. A member answers with its public key and that
of the other, 40 characters each, and an HMAC-SHA256 of all that with its token. The token of a
member is an HMAC of its public key with the secret of the relay, so that no member can pose as
another. One byte follows: `MET`, `LATER` (the other did not come, ask again) or `REFUSED`.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from .addresses import Address
from .crowd import Crowd, Visitor
from .keys import SECRET_MODE
from .streams import LoopThread, exactly, first_of, listening_at

__all__ = [
    "TOKEN_FILE",
    "Relay",
    "RelayLater",
    "RelayRefused",
    "meet",
    "member_token",
    "read_relay_token",
    "relay_secret",
    "run_relay",
]

MAGIC = b"WMRELAY1"
MET, LATER, REFUSED = b"M", b"L", b"R"
TOKEN_FILE = "relay.token"
_NONCE, _KEY, _PROOF = 16, 40, 32
_HANDSHAKE_SECONDS = 5.0
# Seconds that an end waits for the other before it has to ask again.
WAITING_SECONDS = 25.0
_CHUNK = 65536
# Seconds of its rate that a member may use at once.
_BURST_SECONDS = 1.0
_LEAST_SECRET = 16


class RelayLater(Exception):
    """The other end did not come to the relay."""


class RelayRefused(Exception):
    """The relay does not accept this site."""


def member_token(secret: bytes, public_key: str) -> str:
    """Return the token of a member: what it puts into ``relay.token`` in its folder."""
    return hmac.digest(secret, b"member" + public_key.encode(), "sha256").hex()


def relay_secret(path: str | os.PathLike[str]) -> bytes:
    """Return the secret in a file, for its owner only, which is made if there is none."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET_MODE)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    return _read_digits(Path(path))


def read_relay_token(folder: str | os.PathLike[str]) -> bytes:
    """Return the token in the folder of a site, which must be readable by its owner only."""
    path = Path(folder) / TOKEN_FILE
    try:
        return _read_digits(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing: whoever runs the relay gives every member a token."
        ) from None


def _read_digits(path: Path) -> bytes:
    text = path.read_text("ascii", "replace").strip()
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise PermissionError(
            f"{path} must be readable by its owner only; its mode is {mode:03o}. Run "
            f"`chmod 600 {path}`."
        )
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ValueError(f"{path} must hold 64 hexadecimal digits, and nothing else.")
    return bytes.fromhex(text)


def _proof(token: bytes, nonce: bytes, own: bytes, other: bytes) -> bytes:
    return hmac.digest(token, MAGIC + nonce + own + other, "sha256")


async def meet(address: Address, own: str, other: str, token: bytes) -> socket.socket:
    """Return a connection to another member, through a relay.

    Parameters
    ----------
    address : Address
        That of the relay.
    own, other : str
        Public keys of the two ends.
    token : bytes
        Proves to the relay that this end is a member.

    Raises
    ------
    RelayLater
        If the other end did not come.
    RelayRefused
        If the relay does not accept one of the ends.
    OSError
        If the relay cannot be reached.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_HANDSHAKE_SECONDS):
        link = await _dialled(address)
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            greeting = await exactly(link, len(MAGIC) + _NONCE)
            if greeting[: len(MAGIC)] != MAGIC:
                raise RelayRefused(f"{address} is no relay of this version.")
            names = own.encode(), other.encode()
            proof = _proof(token, greeting[len(MAGIC) :], *names)
            await loop.sock_sendall(link, b"".join((*names, proof)))
        async with asyncio.timeout(WAITING_SECONDS + _HANDSHAKE_SECONDS):
            answer = await exactly(link, 1)
        if answer == LATER:
            raise RelayLater
        if answer != MET:
            raise RelayRefused(
                f"{address} refuses this site or its neighbour: both must be members, and "
                f"{TOKEN_FILE} must hold this site's token."
            )
    except BaseException:
        link.close()
        raise
    return link


async def _dialled(address: Address) -> socket.socket:
    loop = asyncio.get_running_loop()
    failure: OSError | None = None
    places = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    for family, kind, protocol, _, place in places:
        link = socket.socket(family, kind, protocol)
        try:
            link.setblocking(False)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(link, place)
        except OSError as error:
            link.close()
            failure = error
        except BaseException:
            link.close()
            raise
        else:
            return link
    raise failure or OSError(f"{address} has no address.")


@dataclass(eq=False)
class _Guest:
    """One end of a meeting."""

    visitor: Visitor
    met: asyncio.Future[_Guest | None]  # the other end; None if this one has come again
    over: asyncio.Future[None]


class Relay:
    """Context manager that runs a relay in a thread of its own.

    Parameters
    ----------
    listen : str
        Address, such as ``tcp://*:7400``.
    secret : bytes
        Secret of the relay, of which tokens are made (:func:`member_token`).
    members : collection of str or callable
        Public keys that may meet; a callable is asked every time.
    most, most_per_member : int
        Connections at any time, in all and of one member.
    bytes_per_second : float
        What is passed on of one member; it is slowed down beyond.
    idle_seconds : float
        Seconds without a byte after which a connection is closed. Sites send some every two.
    listener : callable, optional
        Called with events, from another thread.

    Raises
    ------
    OSError
        If it cannot listen there.
    """

    def __init__(
        self,
        listen: str,
        secret: bytes,
        members: Collection[str] | Callable[[], Collection[str]],
        *,
        most: int = 512,
        most_per_member: int = 32,
        bytes_per_second: float = 16 * 2.0**20,
        idle_seconds: float = 30.0,
        listener: Callable[..., None] | None = None,
    ) -> None:
        if len(secret) < _LEAST_SECRET:
            raise ValueError(
                f"the secret of a relay must have {_LEAST_SECRET} bytes or more; got {len(secret)}."
            )
        self._secret, self._members = secret, members
        self._rate, self._idle = bytes_per_second, idle_seconds
        self.bytes_passed = self.refused = 0
        self._crowd = Crowd(most, most_per_member, listener or (lambda event, **fields: None))
        self._waiting: dict[tuple[str, str], _Guest] = {}
        self._free: dict[str, float] = {}  # when a member has used up its rate
        listening = listening_at(listen)
        self._thread = LoopThread("relay")
        self._thread.start(self._crowd.open(listening, self._serve)).result()

    @property
    def connections(self) -> int:
        """Number of connections."""
        return len(self._crowd.visitors)

    @property
    def turned_away(self) -> int:
        """Number of connections closed for lack of room, or of a proof in time."""
        return self._crowd.turned_away

    def close(self) -> None:
        """Close all connections."""
        self._thread.start(self._crowd.close()).result()
        self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _serve(self, visitor: Visitor) -> None:
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                own, other = await self._identified(visitor)
        except TimeoutError:
            self._crowd.turned_away += 1
            return
        except (OSError, RelayRefused) as error:
            self.refused += isinstance(error, RelayRefused)
            return
        self._crowd.prove(visitor, own)
        loop = asyncio.get_running_loop()
        guest = _Guest(visitor, loop.create_future(), loop.create_future())
        first = self._waiting.pop((other, own), None)
        if first is not None and not first.met.done():
            first.met.set_result(guest)
            try:
                await guest.over
            finally:
                # The other one's task uses this connection, which must not be closed before.
                if first.visitor.task is not None and not guest.over.done():
                    first.visitor.leave()
                    await asyncio.wait({first.visitor.task})
            return
        with suppress(OSError):
            await self._wait((own, other), guest)

    async def _identified(self, visitor: Visitor) -> tuple[str, str]:
        """Return the keys of a visitor and of the one it wants to meet."""
        loop, nonce = asyncio.get_running_loop(), secrets.token_bytes(_NONCE)
        await loop.sock_sendall(visitor.link, MAGIC + nonce)
        request = await exactly(visitor.link, 2 * _KEY + _PROOF)
        names = request[:_KEY], request[_KEY : 2 * _KEY]
        own, other = (name.decode("ascii", "replace") for name in names)
        token = bytes.fromhex(member_token(self._secret, own))
        members = self._members() if callable(self._members) else self._members
        proved = hmac.compare_digest(_proof(token, nonce, *names), request[2 * _KEY :])
        if not proved or own == other or own not in members or other not in members:
            await loop.sock_sendall(visitor.link, REFUSED)
            raise RelayRefused
        return own, other

    async def _wait(self, pair: tuple[str, str], guest: _Guest) -> None:
        """Wait for the other end, and pass bytes on once it is there."""
        loop, link = asyncio.get_running_loop(), guest.visitor.link
        before = self._waiting.get(pair)
        if before is not None and not before.met.done():
            before.met.set_result(None)
        self._waiting[pair] = guest
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAITING_SECONDS):
                    await first_of(_done(guest.met), _hung_up(link))
        finally:
            if self._waiting.get(pair) is guest:
                del self._waiting[pair]
            other = guest.met.result() if guest.met.done() else None
            if other is None:
                guest.met.cancel()
        if other is None:
            await loop.sock_sendall(link, LATER)
            return
        try:
            for each in (link, other.visitor.link):
                await loop.sock_sendall(each, MET)
            await first_of(
                self._pass_on(pair[0], link, other.visitor.link),
                self._pass_on(pair[1], other.visitor.link, link),
            )
        finally:
            if not other.over.done():
                other.over.set_result(None)

    async def _pass_on(self, member: str, source: socket.socket, target: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            async with asyncio.timeout(self._idle):
                data = await loop.sock_recv(source, _CHUNK)
            if not data:
                return
            now = time.monotonic()
            self._free[member] = max(now, self._free.get(member, now)) + len(data) / self._rate
            await asyncio.sleep(max(0.0, self._free[member] - now - _BURST_SECONDS))
            async with asyncio.timeout(self._idle):
                await loop.sock_sendall(target, data)
            self.bytes_passed += len(data)


async def _done(future: asyncio.Future[Any]) -> None:
    await asyncio.wait({future})


async def _hung_up(link: socket.socket) -> None:
    """Wait for the end of a connection on which nothing may come."""
    await asyncio.get_running_loop().sock_recv(link, 1)
    raise ConnectionResetError


def run_relay(
    host: str,
    port: int,
    secret: bytes,
    members: Collection[str] | Callable[[], Collection[str]],
    **options: Any,
) -> None:
    """Run a relay until SIGTERM or SIGINT.

    Parameters
    ----------
    host, port : str, int
        Where to listen; ``*`` for all addresses, IPv6 without brackets.
    secret, members
        Those of :class:`Relay`.
    **options
        Other parameters of :class:`Relay`.
    """
    ended = threading.Event()
    listener = options.get("listener") or (lambda event, **fields: None)
    with Relay(str(Address("tcp", host, port)), secret, members, **options):
        listener("relay_open", host=host, port=port)
        before = {
            each: signal.signal(each, lambda *_: ended.set())
            for each in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            ended.wait()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
