"""The door of a site: accepts connections, as many as there is room for, and passes them to libzmq.

libzmq accepts whoever connects, until the process has no descriptor left, and does not say which
connection belongs to which key. So libzmq listens in a private folder, and this door at the address
of the site. It closes connections that complete no handshake in time, or do not begin like a CURVE
client, and it keeps within the bounds of `Crowd`.

Which key belongs to which connection follows from the order: the last part of a handshake is passed
to libzmq for one connection at a time, and libzmq asks for its key before the next one's turn. The
encryption is from libzmq to libzmq; the door sees ciphertext.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Set

from .crowd import Crowd, Visitor
from .streams import LoopThread, exactly, first_of, listening_at, pump

__all__ = ["GUEST_SECONDS", "HANDSHAKE_SECONDS", "Door"]

HANDSHAKE_SECONDS = 5.0
# How long one may stay whose key nobody knows.
GUEST_SECONDS = 60.0
# A neighbour may connect again before its last connection is found to be dead.
_CONNECTIONS_PER_KEY = 2
# Bytes of ZMTP 3: the signature, the greeting, and the first command of a CURVE client.
_SIGNATURE, _GREETING, _HELLO = 10, 64, 202
_MECHANISM = b"CURVE".ljust(20, b"\0")
_MOST_INITIATE = 2048


_Verdict = tuple[str | None, bool]  # the key, and whether it is a guest's


class Stranger(Exception):
    """One who does not speak as a site does."""


class Door:
    """Listens at an address and passes connections on to a socket of libzmq.

    Parameters
    ----------
    listen : str
        Address, such as ``tcp://[::]:7001``; empty to listen nowhere.
    inside : str
        Path of the Unix socket that libzmq listens at.
    thread : LoopThread
        Where connections are served.
    most : int
        Connections at any time.
    refuse : callable
        Called with the address of those who speak otherwise, from another thread.
    listener : callable
        Called with events, from another thread.
    """

    def __init__(
        self,
        listen: str,
        inside: str,
        thread: LoopThread,
        *,
        most: int,
        refuse: Callable[..., None],
        listener: Callable[..., None],
    ) -> None:
        self._inside, self._thread, self._refuse = inside, thread, refuse
        self._crowd = Crowd(most, _CONNECTIONS_PER_KEY, listener)
        self._turn = asyncio.Lock()
        # Whose turn it is, and what is to be set once libzmq has decided.
        self._at_the_gate: tuple[Visitor, asyncio.Future[_Verdict]] | None = None
        thread.start(self._crowd.open(listening_at(listen) if listen else [], self._serve))

    @property
    def connections(self) -> int:
        """Number of connections."""
        return len(self._crowd.visitors)

    @property
    def turned_away(self) -> int:
        """Number of connections closed for lack of room, or of a handshake in time."""
        return self._crowd.turned_away

    def allow(self, most: int) -> None:
        """Change the number of connections at any time."""
        self._crowd.most = most

    def judge(self, key: str | None, *, guest: bool = False) -> str | None:
        """Record that libzmq admits a key, or None: the connection whose turn it is.

        A guest is let in for a while, and is the first to go where there is no room: a key that
        anybody may make says nothing.

        Return the address of the connection, or None if nobody's turn it is: whoever knocks has not
        come through this door.
        """
        at_the_gate = self._at_the_gate
        if at_the_gate is None:
            return None
        visitor, verdict = at_the_gate
        self._thread.loop.call_soon_threadsafe(_settle, verdict, (key, guest))
        return visitor.address

    def drop(self, keys: Set[str] | None = None) -> None:
        """Close the connections of some keys, or all; callable from any thread."""
        self._thread.loop.call_soon_threadsafe(self._crowd.drop, keys)

    def close(self) -> None:
        """Stop listening and close all connections."""
        self._thread.start(self._crowd.close()).result()

    async def receive(self, link: socket.socket, address: str) -> None:
        """Serve a connection that was made elsewhere, until it ends; runs in the loop."""
        if not await self._crowd.make_room():
            link.close()
            return
        visitor = self._crowd.enter(link, address, self._serve)
        assert visitor.task is not None
        try:
            await asyncio.wait({visitor.task})
        finally:
            visitor.leave()
            await asyncio.wait({visitor.task})  # until it does not use the connection any more

    async def _serve(self, visitor: Visitor) -> None:
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS) as patience:
                beginning = await exactly(visitor.link, _SIGNATURE)
                _check(beginning)
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as inner:
                    inner.setblocking(False)
                    await asyncio.get_running_loop().sock_connect(inner, self._inside)
                    outward = pump(inner, visitor.link)
                    inward = self._inward(visitor, inner, beginning, patience)
                    if await first_of(outward, inward) == 0 and not visitor.judged:
                        raise Stranger  # libzmq hung up
        except TimeoutError:
            self._crowd.turned_away += 1
        except Stranger:
            self._refuse(handshake="no or wrong keys", address=visitor.address)
        except OSError:
            pass  # gone, or no descriptor

    async def _inward(
        self, visitor: Visitor, inner: socket.socket, beginning: bytes, patience: asyncio.Timeout
    ) -> None:
        """Pass on what comes from outside: a handshake, and then all, without a limit of time."""
        loop = asyncio.get_running_loop()
        seen, passed = bytearray(beginning), 0
        while not _check(seen):
            end = min(len(seen), _GREETING + _HELLO)
            await loop.sock_sendall(inner, seen[passed:end])
            passed = end
            data = await loop.sock_recv(visitor.link, _MOST_INITIATE)
            if not data:
                raise ConnectionResetError
            seen += data
        async with self._turn:
            verdict: asyncio.Future[_Verdict] = loop.create_future()
            self._at_the_gate = visitor, verdict
            try:
                await loop.sock_sendall(inner, seen[passed:])
                key, guest = await verdict
            finally:
                self._at_the_gate = None
        visitor.judged = True
        if key is None:
            await asyncio.Event().wait()  # until libzmq has told it, and hangs up
        else:
            patience.reschedule(loop.time() + GUEST_SECONDS if guest else None)
            if not guest:
                self._crowd.prove(visitor, key)
            await pump(visitor.link, inner)


def _settle(verdict: asyncio.Future[_Verdict], judged: _Verdict) -> None:
    if not verdict.done():
        verdict.set_result(judged)


def _check(seen: bytes | bytearray) -> bool:
    """Check the beginning of a CURVE client's part of ZMTP; return whether the handshake is whole.

    Stranger if it is something else. The last part, INITIATE, must be followed by nothing: a client
    waits for the answer to it.
    """
    if len(seen) >= _SIGNATURE and (seen[0] != 0xFF or seen[_SIGNATURE - 1] != 0x7F):
        raise Stranger
    if len(seen) > _SIGNATURE and seen[_SIGNATURE] < 3:
        raise Stranger
    if len(seen) >= 32 and seen[12:32] != _MECHANISM:
        raise Stranger
    hello = seen[_GREETING : _GREETING + 8]
    if hello != b"\x04\xc8\x05HELLO"[: len(hello)]:
        raise Stranger
    last = seen[_GREETING + _HELLO :]
    if not last:
        return False
    if last[0] not in (4, 6):  # a command, with its length in one byte or in eight
        raise Stranger
    width = 1 if last[0] == 4 else 8
    if len(last) < 1 + width:
        return False
    length = 1 + width + int.from_bytes(last[1 : 1 + width], "big")
    if length > _MOST_INITIATE or len(last) > length:
        raise Stranger
    return len(last) == length
