"""Sites under floods: of connections, of local readers, and where descriptors run out."""

from __future__ import annotations

import errno
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq
from site_folders import Folders, generated_rows
from test_site_loop import running
from transport_ends import until

from widemargin.sites.config import Neighbour
from widemargin.sites.control import ControlError, ControlServer, ask
from widemargin.sites.network.descriptors import connections_allowed, raise_limit
from widemargin.sites.network.keys import read_secret_key
from widemargin.sites.network.wire import Frame, Kind, encode
from widemargin.sites.training import participant
from widemargin.sites.watch import LocalServer, Page, server

ROWS = generated_rows(120, 4)
FEW = 256

_SITE = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (128, int(sys.argv[2])))
from widemargin.sites.config import read_config
from widemargin.sites.site import run_site
run_site(read_config(sys.argv[1]),
         listener=lambda event, **fields: print(json.dumps([event, str(fields)]), flush=True))
"""


@contextmanager
def site_with_few_descriptors(folders: Folders, k: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _SITE, str(folders.folder(k)), str(FEW)]
    output = folders.root / "output.txt"
    with output.open("w") as file, subprocess.Popen(command, stdout=file, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_idle_connections_neither_stall_nor_end_a_site(tmp_path: Path) -> None:
    """A neighbour is down, and an outsider opens connections without end."""
    raise_limit()
    folders = Folders(tmp_path, *ROWS, n_sites=3)
    with site_with_few_descriptors(folders, 0) as process, ExitStack() as stack:
        until(lambda: (folders.folder(0) / "control.sock").exists())
        opened = 0

        def knock() -> None:
            nonlocal opened
            for _ in range(100):
                link = stack.enter_context(socket.socket())
                link.setblocking(False)
                with suppress(BlockingIOError):
                    link.connect(("127.0.0.1", folders.ports[0]))
                opened += 1
            time.sleep(0.2)

        began = time.monotonic()
        while opened < 1500 or time.monotonic() - began < 7.0:
            if opened < 3000:
                knock()
            status = ask(folders.folder(0), "status", timeout=30)
            assert status["state_saved_seconds_ago"] < 10
            assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < FEW - 40
        assert status["turned_away"] > 500
        # A neighbour comes in the middle of it.
        with running(folders, 1):
            until(lambda: (knock(), ask(folders.folder(0), "status")["links"][0]["connected"])[1])
        assert process.poll() is None
        model = tmp_path / "model.wm"
        ask(folders.folder(0), "model", path=str(model))
        assert model.exists()
        ask(folders.folder(0), "stop")
        assert process.wait(60) == 0
    events = [json.loads(line)[0] for line in (tmp_path / "output.txt").read_text().splitlines()]
    assert "state_not_saved" not in events
    assert 1 <= events.count("crowded") < 5


def test_a_site_needs_some_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    from widemargin.sites.network import descriptors

    monkeypatch.setattr(descriptors, "descriptor_limit", lambda: 100)
    with pytest.raises(OSError, match="ulimit"):
        connections_allowed(2)
    monkeypatch.setattr(descriptors, "descriptor_limit", lambda: FEW)
    assert 3 * connections_allowed(3) < FEW - 100
    monkeypatch.setattr(descriptors, "descriptor_limit", lambda: 10**6)
    assert connections_allowed(3) == connections_allowed(100)


def test_commands_are_answered_after_descriptors_ran_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepting, failures = socket.socket.accept, [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED]

    def accept(listening: socket.socket) -> Any:
        if failures:
            raise OSError(failures.pop(), "no descriptor")
        return accepting(listening)

    monkeypatch.setattr(socket.socket, "accept", accept)
    control = ControlServer(tmp_path, lambda question: {"asked": question["command"]})
    try:
        assert ask(tmp_path, "status")["asked"] == "status"
        assert failures == []
    finally:
        control.close()


def test_nothing_that_a_frame_causes_ends_a_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2)

    def fail(*_: Any) -> None:
        raise MemoryError("a fault that nobody has thought of")

    with running(folders, 0) as events, running(folders, 1):
        until(lambda: ask(folders.folder(0), "status")["links"][0]["received"] > 2)
        with monkeypatch.context() as patched:
            patched.setattr(participant.Participant, "receive", fail)
            until(lambda: "frame_rejected" in [event for event, _ in events])
        before = ask(folders.folder(0), "status")["links"][0]["received"]
        until(lambda: ask(folders.folder(0), "status")["links"][0]["received"] > before)
    rejected = [fields for event, fields in events if event == "frame_rejected"]
    assert [fields["reason"] for fields in rejected] == ["unexpected"]


@pytest.mark.parametrize("address", ["tcp://*:7100", "tcp://10.0.0.1:99999", "tcp://10.0.0.1:0"])
def test_reloading_a_bad_address_changes_nothing(tmp_path: Path, address: str) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2)
    sound = (folders.folder(0) / "site.toml").read_text()
    with running(folders, 0), running(folders, 1):
        text = sound.replace(f'address = "{folders.address(1)}"', f'address = "{address}"')
        assert text != sound
        (folders.folder(0) / "site.toml").write_text(text)
        with pytest.raises(ControlError, match="`address`"):
            ask(folders.folder(0), "reload")
        (folders.folder(0) / "site.toml").write_text(sound)
        before = ask(folders.folder(0), "status")["links"][0]["received"]
        until(lambda: ask(folders.folder(0), "status")["links"][0]["received"] > before)
        # A neighbour may also be left to dial.
        folders.write(0, [Neighbour("site-1", "", folders.keys[1])])
        assert ask(folders.folder(0), "reload") == {"ok": True, "added": [], "removed": []}
        before = ask(folders.folder(1), "status")["links"][0]["received"]
        until(lambda: ask(folders.folder(1), "status")["links"][0]["received"] > before)


def test_a_neighbour_that_does_not_hear_us_is_not_connected(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=2)
    with running(folders, 0), zmq.Context() as context:
        dealer: zmq.Socket[bytes] = context.socket(zmq.DEALER)
        dealer.curve_publickey = folders.keys[1].encode()
        dealer.curve_secretkey = read_secret_key(folders.folder(1)).encode()
        dealer.curve_serverkey = folders.keys[0].encode()
        dealer.linger = 0
        dealer.connect(folders.address(0))
        agreement = folders.config(0).agreement
        deaf = Frame(Kind.GREETING, agreement, 7, 0, 0, 0, 1, 5, np.empty(0))

        def heard() -> Any:
            dealer.send(encode(deaf))
            return ask(folders.folder(0), "status")["links"][0]

        link = until(lambda: (seen := heard())["last_heard_seconds_ago"] is not None and seen)
        for _ in range(5):
            link = heard()
        assert link["last_heard_seconds_ago"] < 3
        assert not link["connected"]
        dealer.close(0)


def test_sites_agree_where_one_end_cannot_be_dialled(tmp_path: Path) -> None:
    folders = Folders(tmp_path, *ROWS, n_sites=3)
    # Site 0 listens nowhere; others have no address of it, or one that is wrong.
    folders.settings["listen"] = ""
    folders.write(0)
    del folders.settings["listen"]
    folders.write(1, [folders.neighbour(2), Neighbour("site-0", "", folders.keys[0])])
    with running(folders, 0), running(folders, 1), running(folders, 2):

        def statuses() -> list[dict[str, Any]]:
            return [ask(folders.folder(k), "status") for k in range(3)]

        until(lambda: all(status["agreed"] for status in statuses()), 120)
        assert all(link["connected"] for status in statuses() for link in status["links"])


class TestMetrics:
    @pytest.fixture
    def served(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
        monkeypatch.setattr(server, "SECONDS_FOR_A_REQUEST", 1.0)
        with LocalServer(0, {"/here": Page("text/plain", lambda: "hello")}) as served:
            yield served

    def test_readers_hold_few_threads(self, served: LocalServer) -> None:
        before = threading.active_count()
        with ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(socket.create_connection((server.HOST, served.port)))
            time.sleep(0.2)
            assert threading.active_count() - before <= 2 * server.MOST_REQUESTS
            until(lambda: get(served.port) == b"hello")

    def test_slow_headers_end(self, served: LocalServer) -> None:
        with socket.create_connection((server.HOST, served.port), timeout=0.05) as link:
            link.sendall(b"GET /here HTTP/1.1\r\n")
            began = time.monotonic()

            def closed() -> bool:
                try:
                    link.sendall(b"X")  # a byte now and then keeps an idle timeout away
                    return link.recv(1) == b""
                except TimeoutError:
                    return False
                except OSError:
                    return True

            until(closed, 20)
            assert time.monotonic() - began > 0.5


def get(port: int) -> bytes:
    connection = http.client.HTTPConnection(server.HOST, port, timeout=5)
    try:
        connection.request("GET", "/here")
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return b""
    finally:
        connection.close()
