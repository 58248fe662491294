"""The desk of a study: who gets in, and who does not."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from site_folders import free_ports
from study_folders import made_study

from widemargin.sites.settings import Neighbour
from widemargin.sites.studies import enrolment
from widemargin.sites.studies.enrolment import (
    Desk,
    DeskClient,
    EnrolmentError,
    desk_listen,
    proof_of,
)
from widemargin.sites.studies.study import Member
from widemargin.sites.studies.study_owner import StudyOwner


class Office:
    """A desk, and clients with keys of their own."""

    def __init__(self, owner: StudyOwner) -> None:
        self.owner, self.events = owner, []
        self.desk = Desk(
            owner, owner.study().desk.address, lambda event, **f: self.events.append((event, f))
        )
        self.clients: list[DeskClient] = []

    def client(self, timeout: float = 30.0) -> DeskClient:
        public, secret = (key.decode() for key in zmq.curve_keypair())
        self.clients.append(DeskClient(self.owner.study().desk, public, secret, timeout=timeout))
        return self.clients[-1]

    def close(self) -> None:
        for each in self.clients:
            each.close()
        self.desk.close()


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    owner = made_study(tmp_path, desk=f"tcp://127.0.0.1:{free_ports(1)[0]}")
    made = Office(owner)
    yield made
    made.close()


def test_sites_join_ask_and_leave(office: Office) -> None:
    study, invitation = office.owner.study(), office.owner.invitation()
    first, second = office.client(), office.client()
    one = Member("a", first.public_key, "tcp://127.0.0.1:7001")
    two = Member("b", second.public_key)
    assert first.join(study, one, invitation)[0].members == (one,)
    assert second.join(study, two, invitation)[0].members == (one, two)
    assert first.join(study, one, invitation)[0].version == 3  # again: nothing changes
    newest = first.newest(2)
    assert newest == office.owner.path.read_bytes()
    assert first.newest(3) is None
    assert abs(first.clock() - time.time()) < 30
    assert first.leave(study).members == (two,)
    with pytest.raises(EnrolmentError, match="no member"):
        first.newest(3)
    told = [
        (event, fields["name"]) for event, fields in office.events if event != "enrolment_refused"
    ]
    assert told == [("joined", "a"), ("joined", "b"), ("left", "a")]


def test_strangers_stay_outside(office: Office) -> None:
    study, client = office.owner.study(), office.client()
    member = Member("a", client.public_key)
    with pytest.raises(EnrolmentError, match="invitation is not valid"):
        client.join(study, member, b"guessed")
    for ask in ("newest", "leave"):
        with pytest.raises(EnrolmentError, match="no member"):
            client._ask(ask=ask)
    assert office.owner.study().version == 1


def test_proofs_are_of_no_use_to_others_or_later(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, invitation = office.owner.study(), office.owner.invitation()
    first, second = office.client(), office.client()
    challenge = first._ask(ask="challenge")["challenge"]

    def question(name: str, key: str) -> dict[str, Any]:
        proof = proof_of(invitation, study.owner, Member(name, key), challenge)
        return {
            "ask": "join", "name": name, "address": None, "challenge": challenge, "proof": proof
        }  # fmt: skip

    mine = question("a", first.public_key)
    for wrong in (
        {**mine, "name": "b"},  # not what the proof is of
        {**mine, "address": "tcp://127.0.0.1:1"},
        {**mine, "challenge": "1-00"},
        {**mine, "challenge": None},
        {**mine, "proof": None},
        {**mine, "proof": "é"},
    ):
        with pytest.raises(EnrolmentError):
            first._ask(**wrong)
    with pytest.raises(EnrolmentError, match="challenge"):
        second._ask(**mine)
    with pytest.raises(EnrolmentError, match="challenge"):
        second._ask(**question("b", second.public_key))
    now = time.monotonic()
    monkeypatch.setattr(enrolment.time, "monotonic", lambda: now + 61.0)
    with pytest.raises(EnrolmentError, match="challenge"):
        first._ask(**mine)
    assert office.owner.study().members == ()


def test_a_name_has_one_key(office: Office) -> None:
    study, invitation = office.owner.study(), office.owner.invitation()
    first, second = office.client(), office.client()
    first.join(study, Member("a", first.public_key), invitation)
    with pytest.raises(EnrolmentError, match="another key"):
        second.join(study, Member("a", second.public_key), invitation)
    with pytest.raises(EnrolmentError, match="`name` must be"):
        second.join(study, Member("b\n", second.public_key), invitation)
    with pytest.raises(EnrolmentError, match="address` must be"):
        second.join(study, Member("b", second.public_key, "file:///etc"), invitation)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"[" * 4000, b'{"ask": ["join"]}', b"\xff"])
def test_garbage_is_answered_by_an_error(office: Office, data: bytes) -> None:
    client = office.client()
    client._socket.send(data)
    assert client._socket.poll(30_000)
    assert "error" in json.loads(client._socket.recv())


def test_long_questions_are_not_read(office: Office) -> None:
    client = office.client(timeout=0.5)
    client._socket.send(b"x" * (enrolment.MOST_QUESTION_BYTES + 1))
    assert not client._socket.poll(500)
    assert office.client().clock() > 0  # others go on


def test_questions_are_limited(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrolment, "BURST", 5.0)
    monkeypatch.setattr(enrolment, "PACE", 1e-9)
    client = office.client()
    for _ in range(5):
        client.clock()
    client._timeout = 0.3
    with pytest.raises(EnrolmentError, match="did not answer"):
        client.clock()
    assert office.client().clock() > 0


def test_a_desk_with_another_key_is_not_believed(office: Office) -> None:
    public, secret = (key.decode() for key in zmq.curve_keypair())
    study = office.owner.study()
    wrong = Neighbour("desk", study.desk.address, public)
    client = DeskClient(wrong, public, secret, timeout=0.5)
    with client, pytest.raises(EnrolmentError, match="did not answer"):
        client.clock()


def test_only_the_owner_can_read_what_the_desk_keeps(office: Office) -> None:
    for suffix in (".owner", ".invitation"):
        mode = office.owner.path.with_suffix(suffix).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600


def test_where_a_desk_listens() -> None:
    assert desk_listen("tcp://127.0.0.1:7000") == "tcp://127.0.0.1:7000"
    assert desk_listen("tcp://localhost:7000") == "tcp://127.0.0.1:7000"
    assert desk_listen("tcp://desk.example.org:7000") == "tcp://*:7000"
