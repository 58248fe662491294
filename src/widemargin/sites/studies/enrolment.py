"""The desk of a study, where sites enrol, leave, and ask for the newest version.

A site connects with CURVE: it knows the desk's public key from the study, and proves to own its
own. Questions and answers are JSON objects of bounded size; nothing is unpickled.

=============  =====================================================================================
``challenge``  returns a text that is valid for this key, for a minute
``join``       with ``name``, ``address`` (or null), ``challenge`` and ``proof``: the HMAC-SHA256,
               under the invitation, of the study's owner, key, name, address and challenge
``leave``      removes the member with the connection's key
``newest``     with ``version``: returns the study if there is a newer one; members only
``time``       returns the seconds since 1970 by the desk's clock
=============  =====================================================================================

An answer has ``study`` (or null), ``challenge``, ``time`` or ``error``; that to ``join`` also has
the member's token for the relay. A proof is of no use to another key, to another study or later on.
The desk remembers nothing of those who only ask. See `desk_client` for the site's end.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import zmq
from zmq.utils import z85

from ..network.descriptors import desk_connections
from ..network.door import HANDSHAKE_SECONDS, Door
from ..network.keys import DOMAIN, ENDPOINT, TokenBucket
from ..network.relay import member_token
from ..network.streams import LoopThread
from ..site_folder import socket_folder
from .desk_client import DeskClient, EnrolmentError, proof_of
from .study import Member, Study, checked_member
from .study_owner import StudyOwner

__all__ = ["Desk", "DeskClient", "EnrolmentError", "desk_listen", "proof_of"]

MOST_QUESTION_BYTES = 4096
# Keys whose limits are remembered; the oldest are forgotten.
MOST_KEYS = 4096
CHALLENGE_SECONDS = 60.0
MEMBERS_SECONDS = 1.0
# Questions per second and at once, of one key and of all.
PACE, BURST = 2.0, 20.0
PACE_OF_ALL, BURST_OF_ALL = 200.0, 400.0
_POLL_MILLISECONDS = 100


class Desk:
    """Answers sites until it is closed, in a thread of its own.

    Parameters
    ----------
    owner : StudyOwner
        The owner's files.
    listen : str
        Address to bind, such as ``tcp://0.0.0.0:7000``.
    listener : callable
        Called with events, from other threads.
    most : int, optional
        Connections at any time; None: as many as the process has descriptors for.

    Raises
    ------
    OSError
        If it cannot listen there, or the process may have too few file descriptors.

    Notes
    -----
    Anybody may make a key and connect. Members' connections are kept; others end after a minute,
    and earlier where there is no room: see `Crowd`.
    """

    def __init__(
        self,
        owner: StudyOwner,
        listen: str,
        listener: Callable[..., None],
        *,
        most: int | None = None,
    ) -> None:
        self._owner, self._listener = owner, listener
        self._secret = secrets.token_bytes(32)
        self._limits: OrderedDict[str, TokenBucket] = OrderedDict()
        self._all = TokenBucket(PACE_OF_ALL, BURST_OF_ALL)
        self._known: tuple[float, set[str]] = (-math.inf, set())  # members' keys, and since when
        self._ended = threading.Event()
        self._context = zmq.Context()
        self._gate: zmq.Socket[bytes] = self._context.socket(zmq.REP)
        self._gate.bind(ENDPOINT)
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        self._socket.curve_server = True
        self._socket.curve_secretkey = owner.desk_secret.encode()
        self._socket.zap_domain = DOMAIN
        self._socket.maxmsgsize = MOST_QUESTION_BYTES
        self._socket.handshake_ivl = int(1000 * HANDSHAKE_SECONDS)
        self._socket.heartbeat_ivl, self._socket.heartbeat_timeout = 10_000, 30_000
        self._socket.rcvhwm = self._socket.sndhwm = 16
        self._place, self._loop = socket_folder(None), LoopThread("desk door")
        inside = str(self._place / "libzmq")
        try:
            self._socket.bind(f"ipc://{inside}")
            self._door = Door(
                listen,
                inside,
                self._loop,
                most=desk_connections()[0] if most is None else most,
                refuse=lambda **who: None,
                listener=listener,
            )
        except BaseException:
            self._release()
            raise
        self._thread = threading.Thread(target=self._serve, name="desk", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """Number of connections."""
        return self._door.connections

    @property
    def turned_away(self) -> int:
        """Number of connections closed for lack of room, or of a handshake in time."""
        return self._door.turned_away

    def close(self) -> None:
        """Stop answering."""
        self._door.close()
        self._ended.set()
        self._thread.join()
        self._release()

    def _release(self) -> None:
        self._context.destroy(0)
        self._loop.close()
        shutil.rmtree(self._place, ignore_errors=True)

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._gate, zmq.POLLIN)
        poller.register(self._socket, zmq.POLLIN)
        while not self._ended.is_set():
            ready = dict(poller.poll(_POLL_MILLISECONDS))
            # No fault of one peer, and no lack of descriptors, may end the desk.
            with suppress(zmq.ZMQError):
                if self._gate in ready:
                    self._gate.send_multipart(self._admitted(self._gate.recv_multipart()))
                if self._socket in ready:
                    self._answer_one()

    def _admitted(self, query: list[bytes]) -> list[bytes]:
        """Let any key in, members and guests, and have libzmq attach it to what the peer sends."""
        if len(query) < 6:
            return [b"1.0", query[1] if len(query) > 1 else b"", b"500", b"", b"", b""]
        version, number, _, _, _, mechanism, *credentials = query
        key: str | None = None
        if mechanism == b"CURVE" and len(credentials) == 1 and len(credentials[0]) == 32:
            key = z85.encode(credentials[0]).decode()
        # Whoever has not come through the door has no business here.
        passed = self._door.judge(key, guest=key not in self._members())
        if key is None or passed is None:
            return [version, number, b"400", b"", b"", b""]
        return [version, number, b"200", b"", key.encode(), b""]

    def _members(self) -> set[str]:
        """Return the keys of the members, as they were a moment ago."""
        since, keys = self._known
        if time.monotonic() - since > MEMBERS_SECONDS:
            with suppress(ValueError, OSError):  # as before
                keys = self._owner.keys()
            self._known = time.monotonic(), keys
        return keys

    def _answer_one(self) -> None:
        parts = self._socket.recv_multipart(copy=False)
        key = str(parts[-1].get("User-Id"))
        if len(parts) != 2 or not self._limited(key):
            return
        try:
            answer = self.answer(key, parts[1].bytes)
        except (ValueError, OSError) as error:
            self._listener("enrolment_refused", public_key=key, reason=str(error))
            answer = {"error": str(error)}
        text = json.dumps(answer).encode()
        self._socket.send_multipart([parts[0].bytes, text], zmq.DONTWAIT)

    def answer(self, key: str, data: bytes) -> dict[str, Any]:
        """Answer a question of the site with a public key; ValueError says why it is refused."""
        question = _question(data)
        ask = question.get("ask")
        if ask == "challenge":
            return {"challenge": self._challenge(key, int(time.monotonic() + CHALLENGE_SECONDS))}
        if ask == "join":
            joined = self._join(key, question)
            return {"study": joined, "relay_token": member_token(self._owner.relay_secret, key)}
        if ask == "leave":
            return {"study": self._leave(key)}
        if ask == "newest":
            return {"study": self._newest(key, question.get("version"))}
        if ask == "time":
            return {"time": time.time()}
        raise EnrolmentError("`ask` must be 'challenge', 'join', 'leave', 'newest' or 'time'.")

    def _join(self, key: str, question: dict[str, Any]) -> str:
        challenge, proof = str(question.get("challenge")), question.get("proof")
        until = challenge.partition("-")[0]
        until = until if until.isascii() and until.isdigit() and len(until) < 12 else "0"
        known = self._challenge(key, int(until)).encode()
        if not hmac.compare_digest(known, challenge.encode()) or time.monotonic() > int(until):
            raise EnrolmentError("the challenge is not valid, or no longer. Try again.")
        member = checked_member(
            {"name": question.get("name"), "address": question.get("address"), "public_key": key}
        )
        before = self._owner.study()
        right = proof_of(self._owner.invitation(), before.owner, member, challenge)
        if not isinstance(proof, str) or not hmac.compare_digest(right.encode(), proof.encode()):
            raise EnrolmentError(
                "the invitation is not valid, or no longer. Ask the owner of the study for a new "
                "one."
            )
        study = self._owner.admit(member)
        if study.version != before.version:
            self._listener("joined", name=member.name, address=member.address, public_key=key)
        return study.to_bytes().decode()

    def _challenge(self, key: str, until: int) -> str:
        mac = hmac.new(self._secret, f"{until} {key}".encode(), hashlib.sha256)
        return f"{until}-{mac.hexdigest()}"

    def _leave(self, key: str) -> str:
        member = self._member(key)
        study = self._owner.remove(member.name, public_key=key)
        self._listener("left", name=member.name, public_key=key)
        return study.to_bytes().decode()

    def _newest(self, key: str, version: Any) -> str | None:
        study = self._owner.study()
        self._member(key, study)
        return study.to_bytes().decode() if version != study.version else None

    def _member(self, key: str, study: Study | None = None) -> Member:
        member = (study or self._owner.study()).member(key)
        if member is None:
            raise EnrolmentError("this site is no member of the study, or no longer.")
        return member

    def _limited(self, key: str) -> bool:
        """Return whether a question may be answered now."""
        bucket = self._limits.setdefault(key, TokenBucket(PACE, BURST))
        self._limits.move_to_end(key)
        while len(self._limits) > MOST_KEYS:
            self._limits.popitem(last=False)
        return bucket.take() and self._all.take()


def _question(data: bytes) -> dict[str, Any]:
    try:
        question = json.loads(data)
    except (ValueError, RecursionError):
        question = None
    if not isinstance(question, dict):
        raise EnrolmentError("a question must be a JSON object.")
    return question


def desk_listen(address: str) -> str:
    """Return the address to bind for a desk that sites reach at an address."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    here = host in ("localhost", "[::1]") or host.startswith("127.")
    return address.replace("localhost", "127.0.0.1") if here else f"tcp://*:{port}"
