"""The desk of a study under floods: sites still join, and members still ask."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import zmq
from site_folders import free_ports
from study_folders import made_study
from transport_ends import until

from widemargin.sites.network import descriptors, door
from widemargin.sites.network.descriptors import desk_connections, raise_limit
from widemargin.sites.studies.desk_client import DeskClient
from widemargin.sites.studies.enrolment import Desk
from widemargin.sites.studies.study import Member
from widemargin.sites.studies.study_owner import StudyOwner

FEW = 256

_DESK = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]),) * 2)
from widemargin.sites.studies.enrolment import Desk
from widemargin.sites.studies.study_owner import StudyOwner
owner = StudyOwner(sys.argv[1])
desk = Desk(owner, owner.study().desk.address, lambda event, **fields: print(event, flush=True))
print("open", flush=True)
time.sleep(600)
"""


def client_of(owner: StudyOwner, timeout: float = 60.0) -> DeskClient:
    public, secret = (key.decode() for key in zmq.curve_keypair())
    return DeskClient(owner.study().desk, public, secret, timeout=timeout)


@contextmanager
def desk_with_few_descriptors(owner: StudyOwner, output: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _DESK, str(owner.path), str(FEW)]
    with output.open("w") as file, subprocess.Popen(command, stdout=file, text=True) as process:
        try:
            until(lambda: "open" in output.read_text(), 60)
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_site_joins_among_hundreds_of_idle_connections(tmp_path: Path) -> None:
    raise_limit()
    owner = made_study(tmp_path, desk=f"tcp://127.0.0.1:{free_ports(1)[0]}")
    port = int(owner.study().desk.address.rpartition(":")[2])
    output = tmp_path / "output.txt"
    with desk_with_few_descriptors(owner, output) as process, ExitStack() as stack:

        def knock(times: int) -> None:
            for _ in range(times):
                link = stack.enter_context(socket.socket())
                link.setblocking(False)
                with suppress(BlockingIOError):
                    link.connect(("127.0.0.1", port))

        def open_files() -> int:
            return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))

        for _ in range(6):
            knock(100)
            time.sleep(0.1)
            assert open_files() < FEW - 40
        client = stack.enter_context(client_of(owner))
        began = time.monotonic()
        joined, _ = client.join(owner.study(), Member("a", client.public_key), owner.invitation())
        assert [each.name for each in joined.members] == ["a"]
        assert time.monotonic() - began < 45.0
        for _ in range(3):
            knock(100)
            # A member's connection stays, whoever comes.
            assert client.newest(joined.version) is None
            assert open_files() < FEW - 40
        assert process.poll() is None
    assert "crowded" in output.read_text()


def test_keys_that_anybody_can_make_take_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guests who prove keys of their own give way to others; members do not."""
    owner = made_study(tmp_path, desk=f"tcp://127.0.0.1:{free_ports(1)[0]}")
    desk = Desk(owner, owner.study().desk.address, lambda event, **fields: None, most=8)
    with ExitStack() as stack:
        stack.callback(desk.close)
        member = stack.enter_context(client_of(owner))
        owner.admit(Member("a", member.public_key))
        version = owner.study().version
        time.sleep(1.1)  # the desk has looked at the members once before
        member._socket.close(0)
        member._socket = member._connected()
        assert member.newest(version) is None
        held = member._socket
        for _ in range(20):
            assert stack.enter_context(client_of(owner)).clock() > 0
            assert desk.connections <= 8
        assert desk.turned_away > 0
        assert member.newest(version) is None
        assert member._socket is held
        known = [each.key for each in desk._door._crowd.visitors]
        assert known.count(member.public_key) == 1
        assert set(known) == {None, member.public_key}


def test_guests_leave_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "GUEST_SECONDS", 0.5)
    owner = made_study(tmp_path, desk=f"tcp://127.0.0.1:{free_ports(1)[0]}")
    desk = Desk(owner, owner.study().desk.address, lambda event, **fields: None)
    with ExitStack() as stack:
        stack.callback(desk.close)
        client = stack.enter_context(client_of(owner))
        assert client.clock() > 0
        until(lambda: desk.turned_away > 0, 30)
        assert client.clock() > 0  # and come again


def test_a_desk_needs_some_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "descriptor_limit", lambda: 120)
    with pytest.raises(OSError, match="ulimit"):
        desk_connections()
    monkeypatch.setattr(descriptors, "descriptor_limit", lambda: FEW)
    alone, none = desk_connections()
    desk, relay = desk_connections(relay=True)
    assert none == 0
    assert 3 * alone < FEW - 100
    assert 3 * desk + relay < FEW - 100
    assert min(desk, relay) >= 8
    monkeypatch.setattr(descriptors, "descriptor_limit", lambda: 10**6)
    assert desk_connections(relay=True) == (512, 512)
