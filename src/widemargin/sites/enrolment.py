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

An answer has ``study`` (or null), ``challenge``, ``time`` or ``error``. A proof is of no use to
another key, to another study or later on. The desk remembers nothing of those who only ask.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import zmq
from zmq.utils import z85

from .keys import DOMAIN, ENDPOINT, TokenBucket
from .settings import Neighbour
from .study import Member, Study, StudyError, checked_member
from .study_owner import StudyOwner
from .wire import MOST_STUDY_BYTES

__all__ = ["Desk", "DeskClient", "EnrolmentError", "desk_listen", "proof_of"]

MOST_QUESTION_BYTES = 4096
# Keys whose limits are remembered; the oldest are forgotten.
MOST_KEYS = 4096
CHALLENGE_SECONDS = 60.0
# Questions per second and at once, of one key and of all.
PACE, BURST = 2.0, 20.0
PACE_OF_ALL, BURST_OF_ALL = 200.0, 400.0
_HANDSHAKE_MILLISECONDS = 5000
_POLL_MILLISECONDS = 100


class EnrolmentError(ValueError):
    """A desk that cannot be reached, or that refuses."""


def proof_of(invitation: bytes, owner: str, member: Member, challenge: str) -> str:
    """Return the proof that the owner of a key knows the invitation."""
    said = ["join", owner, member.public_key, member.name, member.address, challenge]
    return hmac.new(invitation, json.dumps(said).encode(), hashlib.sha256).hexdigest()


class Desk:
    """Answers sites until it is closed, in a thread of its own.

    Parameters
    ----------
    owner : StudyOwner
        The owner's files.
    listen : str
        Address to bind, such as ``tcp://0.0.0.0:7000``.
    listener : callable
        Called with events, from the desk's thread.
    """

    def __init__(self, owner: StudyOwner, listen: str, listener: Callable[..., None]) -> None:
        self._owner, self._listener = owner, listener
        self._secret = secrets.token_bytes(32)
        self._limits: OrderedDict[str, TokenBucket] = OrderedDict()
        self._all = TokenBucket(PACE_OF_ALL, BURST_OF_ALL)
        self._ended = threading.Event()
        self._context = zmq.Context()
        self._gate: zmq.Socket[bytes] = self._context.socket(zmq.REP)
        self._gate.bind(ENDPOINT)
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        self._socket.curve_server = True
        self._socket.curve_secretkey = owner.desk_secret.encode()
        self._socket.zap_domain = DOMAIN
        self._socket.maxmsgsize = MOST_QUESTION_BYTES
        self._socket.handshake_ivl = _HANDSHAKE_MILLISECONDS
        self._socket.ipv6 = True
        self._socket.heartbeat_ivl, self._socket.heartbeat_timeout = 10_000, 30_000
        self._socket.rcvhwm = self._socket.sndhwm = 16
        try:
            self._socket.bind(listen)
        except zmq.ZMQError as error:
            self._context.destroy(0)
            raise OSError(
                f"cannot listen at {listen}: {error}. Name an address of this machine and a free "
                "port with --listen."
            ) from None
        self._thread = threading.Thread(target=self._serve, name="desk", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._ended.set()
        self._thread.join()
        self._context.destroy(0)

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._gate, zmq.POLLIN)
        poller.register(self._socket, zmq.POLLIN)
        while not self._ended.is_set():
            ready = dict(poller.poll(_POLL_MILLISECONDS))
            # No fault of one peer, and no lack of descriptors, may end the desk.
            with suppress(zmq.ZMQError):
                if self._gate in ready:
                    self._gate.send_multipart(_admitted(self._gate.recv_multipart()))
                if self._socket in ready:
                    self._answer_one()

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
            return {"study": self._join(key, question)}
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


class DeskClient:
    """A site's connection to the desk of its study."""

    def __init__(
        self, desk: Neighbour, public_key: str, secret_key: str, *, timeout: float = 10.0
    ) -> None:
        self._desk, self._timeout, self.public_key = desk, timeout, public_key
        self._context = zmq.Context()
        self._keys = public_key.encode(), secret_key.encode()
        self._socket = self._connected()

    def __enter__(self) -> DeskClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._context.destroy(0)

    def join(self, study: Study, member: Member, invitation: bytes) -> Study:
        """Enrol a site; return the newest study, which has it as a member."""
        challenge = str(self._ask(ask="challenge").get("challenge"))
        proof = proof_of(invitation, study.owner, member, challenge)
        answer = self._ask(
            ask="join", name=member.name, address=member.address, challenge=challenge, proof=proof
        )
        return self._study(answer, study)

    def leave(self, study: Study) -> Study:
        """Leave the study; return the newest version, which does not have the site."""
        return self._study(self._ask(ask="leave"), study)

    def newest(self, version: int) -> bytes | None:
        """Return the newest study, not checked yet; None if it is of this version."""
        text = self._ask(ask="newest", version=version).get("study")
        return text.encode() if isinstance(text, str) else None

    def clock(self) -> float:
        """Return the seconds since 1970 by the desk's clock."""
        told = self._ask(ask="time").get("time")
        if not isinstance(told, int | float):
            raise EnrolmentError("the desk told no time.")
        return float(told)

    def _study(self, answer: dict[str, Any], known: Study) -> Study:
        try:
            return Study.from_bytes(str(answer.get("study")).encode(), owner=known.owner)
        except StudyError as error:
            raise EnrolmentError(
                f"the desk answered with a study that is not valid: {error}"
            ) from None

    def _ask(self, **question: Any) -> dict[str, Any]:
        try:
            self._socket.send(json.dumps(question).encode())
            if not self._socket.poll(int(self._timeout * 1000)):
                raise zmq.Again
            answer = json.loads(self._socket.recv())
        except zmq.Again:
            # An answer that comes late must not be taken for that to the next question.
            self._socket.close(0)
            self._socket = self._connected()
            raise EnrolmentError(
                f"the desk at {self._desk.address} did not answer within {self._timeout:g} s. Is "
                "`widemargin study host` running there, and does a firewall let you through?"
            ) from None
        except (ValueError, RecursionError):
            raise EnrolmentError("the desk sent no valid answer.") from None
        if not isinstance(answer, dict) or "error" in answer:
            refused = answer.get("error") if isinstance(answer, dict) else answer
            raise EnrolmentError(f"the desk refused: {str(refused)[:500]}")
        return answer

    def _connected(self) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        socket.curve_serverkey = self._desk.public_key.encode()
        socket.curve_publickey, socket.curve_secretkey = self._keys
        socket.maxmsgsize = 2 * MOST_STUDY_BYTES
        socket.linger = 0
        socket.ipv6 = True
        socket.sndtimeo = int(self._timeout * 1000)
        socket.reconnect_ivl, socket.reconnect_ivl_max = 100, 5000
        socket.handshake_ivl = _HANDSHAKE_MILLISECONDS
        socket.heartbeat_ivl, socket.heartbeat_timeout = 10_000, 30_000
        socket.connect(self._desk.address)
        return socket


def _admitted(query: list[bytes]) -> list[bytes]:
    """Let any key in, and have libzmq attach it to what the peer sends."""
    if len(query) < 6:
        return [b"1.0", query[1] if len(query) > 1 else b"", b"500", b"", b"", b""]
    version, number, _, _, _, mechanism, *credentials = query
    right = mechanism == b"CURVE" and len(credentials) == 1 and len(credentials[0]) == 32
    status, key = (b"200", z85.encode(credentials[0])) if right else (b"400", b"")
    return [version, number, status, b"", key, b""]


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
