"""A site's questions to the desk of its study; `enrolment` has the desk, and what it answers."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any

import zmq

from ..network.door import HANDSHAKE_SECONDS
from ..network.wire import MOST_STUDY_BYTES
from ..settings import Neighbour
from .study import Member, Study, StudyError

__all__ = ["DeskClient", "EnrolmentError", "proof_of"]

# Seconds without an answer after which a question is sent again.
SECONDS_UNTIL_AGAIN = 3.0


class EnrolmentError(ValueError):
    """A desk that cannot be reached, or that refuses."""


def proof_of(invitation: bytes, owner: str, member: Member, challenge: str) -> str:
    """Return the proof that the owner of a key knows the invitation."""
    said = ["join", owner, member.public_key, member.name, member.address, challenge]
    return hmac.new(invitation, json.dumps(said).encode(), hashlib.sha256).hexdigest()


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

    def join(self, study: Study, member: Member, invitation: bytes) -> tuple[Study, str]:
        """Enrol a site; return the newest study, which has it, and its token for the relay."""
        challenge = str(self._ask(ask="challenge").get("challenge"))
        proof = proof_of(invitation, study.owner, member, challenge)
        answer = self._ask(
            ask="join", name=member.name, address=member.address, challenge=challenge, proof=proof
        )
        return self._study(answer, study), str(answer.get("relay_token"))

    def leave(self, study: Study) -> Study:
        """Leave the study; return the newest version, which does not have the site."""
        return self._study(self._ask(ask="leave", once=True), study)

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

    def _ask(self, *, once: bool = False, **question: Any) -> dict[str, Any]:
        """Return the answer to a question.

        A crowded desk may close the connection before it has answered: unless it may be asked only
        once, it is asked again.
        """
        deadline = time.monotonic() + self._timeout
        text = json.dumps(question).encode()
        while (data := self._answer(text, deadline, once)) is None:
            # An answer that comes late must not be taken for that to the next question.
            self._socket.close(0)
            self._socket = self._connected()
            if once or time.monotonic() >= deadline:
                raise EnrolmentError(
                    f"the desk at {self._desk.address} did not answer within {self._timeout:g} s. "
                    "Is `widemargin study host` running there, and does a firewall let you through?"
                )
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            raise EnrolmentError("the desk sent no valid answer.") from None
        if not isinstance(answer, dict) or "error" in answer:
            refused = answer.get("error") if isinstance(answer, dict) else answer
            raise EnrolmentError(f"the desk refused: {str(refused)[:500]}")
        return answer

    def _answer(self, question: bytes, deadline: float, once: bool) -> bytes | None:
        """Send a question and wait a while; None if there is no answer."""
        left = max(0.0, deadline - time.monotonic())
        try:
            self._socket.send(question)
            if self._socket.poll(int(1000 * (left if once else min(left, SECONDS_UNTIL_AGAIN)))):
                return bytes(self._socket.recv())
        except zmq.Again:
            pass
        return None

    def _connected(self) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        socket.curve_serverkey = self._desk.public_key.encode()
        socket.curve_publickey, socket.curve_secretkey = self._keys
        socket.maxmsgsize = 2 * MOST_STUDY_BYTES
        socket.linger = 0
        socket.ipv6 = True
        socket.sndtimeo = int(self._timeout * 1000)
        socket.reconnect_ivl, socket.reconnect_ivl_max = 100, 5000
        socket.handshake_ivl = int(1000 * HANDSHAKE_SECONDS)
        socket.heartbeat_ivl, socket.heartbeat_timeout = 10_000, 30_000
        socket.connect(self._desk.address)
        return socket
