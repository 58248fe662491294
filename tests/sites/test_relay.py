"""A relay: two who can only dial out meet there, it reads nothing, and strangers get nothing."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from site_folders import Folders, free_ports, generated_rows
from test_site_loop import running
from transport_ends import Ends, both_ways, until

from widemargin.sites.config import Neighbour
from widemargin.sites.control import ask
from widemargin.sites.network import relay as relay_module
from widemargin.sites.network.addresses import Address
from widemargin.sites.network.relay import (
    MAGIC,
    TOKEN_FILE,
    Relay,
    RelayLater,
    RelayRefused,
    meet,
    member_token,
    read_relay_token,
)

SECRET = b"a secret of the relay"
ONE, TWO, THREE = ("1" * 40, "2" * 40, "3" * 40)


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


def token(key: str, secret: bytes = SECRET) -> bytes:
    return bytes.fromhex(member_token(secret, key))


def write_token(folder: Path, key: str) -> None:
    path = folder / TOKEN_FILE
    path.write_text(member_token(SECRET, key) + "\n")
    path.chmod(0o600)


async def met(port: int, *pairs: tuple[str, str]) -> list[socket.socket]:
    address = Address("relay", "127.0.0.1", port)
    return list(await asyncio.gather(*(meet(address, a, b, token(a)) for a, b in pairs)))


class Recorder:
    """Passes connections on to a port and keeps all bytes."""

    def __init__(self, to: int) -> None:
        self.seen = bytearray()
        self._to = to
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                one = self._listening.accept()[0]
                two = socket.create_connection(("127.0.0.1", self._to))
                for pair in ((one, two), (two, one)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.seen += data
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def test_two_ends_that_dial_out_meet_and_the_relay_sees_ciphertext(
    tmp_path: Path, port: int
) -> None:
    with ExitStack() as stack:
        ends = Ends(tmp_path, stack)
        for k in (0, 1):
            write_token(ends.folder(k), ends.key(k))
        stack.enter_context(Relay(f"tcp://127.0.0.1:{port}", SECRET, [ends.key(0), ends.key(1)]))
        recorder = Recorder(port)
        stack.callback(recorder.close)
        through = f"relay://127.0.0.1:{recorder.port}"
        one = ends.open(0, 1, listen="", addresses=through)
        two = ends.open(1, 0, listen="", addresses=through)
        both_ways(one, two, ends.key(0), ends.key(1))
        marker, before = b"PLAIN TEXT OF A FRAME", len(recorder.seen)
        taken: list[bytes] = []

        def arrived() -> bool:
            one.send(ends.key(1), marker * 20)
            two.send(ends.key(0), marker * 20)
            taken.extend(frame for end in (one, two) for _, frame in end.take())
            return sum(marker in frame for frame in taken) > 10

        until(arrived)
        assert len(recorder.seen) - before > 10 * 20 * len(marker)
        assert marker not in recorder.seen
        assert ends.secret(0).encode() not in recorder.seen
        assert token(ends.key(0)) not in recorder.seen


def test_sites_that_only_dial_out_agree(tmp_path: Path, port: int) -> None:
    folders = Folders(tmp_path, *generated_rows(120, 4), n_sites=2, settings={"listen": ""})
    for k in (0, 1):
        write_token(folders.folder(k), folders.keys[k])
        folders.write(k, [folders.neighbour(1 - k, f"relay://127.0.0.1:{port}")])
    with (
        Relay(f"tcp://127.0.0.1:{port}", SECRET, folders.keys),
        running(folders, 0),
        running(folders, 1),
    ):
        until(lambda: all(ask(folders.folder(k), "status")["agreed"] for k in (0, 1)), 120)
        links = [ask(folders.folder(k), "status")["links"][0] for k in (0, 1)]
        assert all(link["connected"] for link in links)


def test_members_may_come_in_any_order_and_again(port: int) -> None:
    with Relay(f"tcp://127.0.0.1:{port}", SECRET, lambda: {ONE, TWO}) as relay:

        async def talk() -> None:
            loop = asyncio.get_running_loop()
            for pairs in ([(ONE, TWO), (TWO, ONE)], [(TWO, ONE), (ONE, TWO)]):
                a, b = await met(port, *pairs)
                await loop.sock_sendall(a, b"hello")
                assert await loop.sock_recv(b, 10) == b"hello"
                await loop.sock_sendall(b, b"you")
                assert await loop.sock_recv(a, 10) == b"you"
                a.close()
                assert await loop.sock_recv(b, 10) == b""
                b.close()

        asyncio.run(talk())
        until(lambda: relay.connections == 0)
        assert relay.bytes_passed == 16


def test_one_who_comes_again_replaces_itself_and_no_one_waits_for_ever(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Relay(f"tcp://127.0.0.1:{port}", SECRET, [ONE, TWO]) as relay:

        async def come_again() -> None:
            with pytest.raises(RelayLater):
                await met(port, (ONE, TWO), (ONE, TWO))

        asyncio.run(come_again())
        monkeypatch.setattr(relay_module, "WAITING_SECONDS", 0.2)
        with pytest.raises(RelayLater):
            asyncio.run(met(port, (ONE, TWO)))
        until(lambda: relay.connections == 0)


def test_only_members_meet(port: int) -> None:
    with Relay(f"tcp://127.0.0.1:{port}", SECRET, [ONE, TWO]) as relay:
        address = Address("relay", "127.0.0.1", port)
        for own, other, proof in (
            (ONE, TWO, token(ONE, b"another secret than that")),
            (ONE, TWO, token(TWO)),  # a member that poses as another
            (THREE, ONE, token(THREE)),
            (ONE, THREE, token(ONE)),
            (ONE, ONE, token(ONE)),
        ):
            with pytest.raises(RelayRefused):
                asyncio.run(meet(address, own, other, proof))
        assert relay.refused == 5
        until(lambda: relay.connections == 0)


def test_nonsense_does_not_disturb_a_relay(port: int) -> None:
    rng = random.Random(0)
    with Relay(f"tcp://127.0.0.1:{port}", SECRET, [ONE, TWO]) as relay, ExitStack() as stack:
        for k in range(200):
            link = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            if k % 2:
                assert link.recv(24).startswith(MAGIC)
            data = rng.randbytes(rng.randrange(0, 300))
            if k % 3 == 0:
                data = (ONE + TWO).encode() + data
            with suppress(OSError):
                link.sendall(data)
            if k % 5 == 0:
                link.close()
        assert len(asyncio.run(met(port, (ONE, TWO), (TWO, ONE)))) == 2
        assert relay.refused > 20


def test_connections_to_a_relay_are_bounded(port: int) -> None:
    address = f"tcp://127.0.0.1:{port}"
    with (
        Relay(address, SECRET, [ONE, TWO, THREE], most=10, most_per_member=3) as relay,
        ExitStack() as stack,
    ):
        for _ in range(40):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        until(lambda: relay.turned_away >= 30)
        assert relay.connections <= 10
        with closing_all(asyncio.run(met(port, (ONE, TWO), (TWO, ONE)))):
            # One member with many meetings keeps its newest.
            for _ in range(6):
                stack.enter_context(closing_all(asyncio.run(met(port, (ONE, THREE), (THREE, ONE)))))
            until(lambda: relay.connections <= 2 * 3)


def test_idle_meetings_end(port: int) -> None:
    with Relay(f"tcp://127.0.0.1:{port}", SECRET, [ONE, TWO], idle_seconds=0.3) as relay:
        links = asyncio.run(met(port, (ONE, TWO), (TWO, ONE)))
        until(lambda: relay.connections == 0)
        for link in links:
            link.close()


def test_a_member_is_slowed_down_to_its_rate(port: int) -> None:
    rate = 2.0**20
    with Relay(
        f"tcp://127.0.0.1:{port}", SECRET, [ONE, TWO], bytes_per_second=rate, idle_seconds=60
    ):

        async def flood() -> float:
            loop = asyncio.get_running_loop()
            a, b = await met(port, (ONE, TWO), (TWO, ONE))
            began, left = time.monotonic(), int(2.5 * rate)
            sending = asyncio.ensure_future(loop.sock_sendall(a, bytes(left)))
            while left:
                left -= len(await loop.sock_recv(b, 65536))
            await sending
            a.close(), b.close()
            return time.monotonic() - began

        # A second's worth is free.
        assert asyncio.run(flood()) > 1.2


@contextmanager
def closing_all(links: list[socket.socket]) -> Iterator[None]:
    try:
        yield
    finally:
        for link in links:
            link.close()


def test_tokens_are_kept_private(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="relay"):
        read_relay_token(tmp_path)
    write_token(tmp_path, ONE)
    assert read_relay_token(tmp_path) == token(ONE)
    (tmp_path / TOKEN_FILE).chmod(0o644)
    with pytest.raises(PermissionError, match="chmod"):
        read_relay_token(tmp_path)
    (tmp_path / TOKEN_FILE).write_text("short")
    (tmp_path / TOKEN_FILE).chmod(0o600)
    with pytest.raises(ValueError, match="64"):
        read_relay_token(tmp_path)
    with pytest.raises(ValueError, match="secret"):
        Relay("tcp://127.0.0.1:1", b"short", [])


def test_a_site_without_a_token_says_so(tmp_path: Path, port: int) -> None:
    with ExitStack() as stack:
        ends = Ends(tmp_path, stack)
        ends.open(0, 1, listen="", addresses=f"relay://127.0.0.1:{port}")
        until(lambda: (0, "relay_failed") in ends.events)
        assert TOKEN_FILE in next(t["error"] for t in ends.told if t["event"] == "relay_failed")


def test_neighbours_at_a_relay_can_be_changed(tmp_path: Path, port: int) -> None:
    with ExitStack() as stack:
        ends = Ends(tmp_path, stack)
        keys = [ends.key(k) for k in range(2)]
        for k in (0, 1):
            write_token(ends.folder(k), keys[k])
        relay = stack.enter_context(Relay(f"tcp://127.0.0.1:{port}", SECRET, keys))
        through = f"relay://127.0.0.1:{port}"
        one, two = (ends.open(k, 1 - k, listen="", addresses=through) for k in (0, 1))
        both_ways(one, two, *keys)
        for end in (one, two):
            end.set_neighbours([])
        until(lambda: relay.connections == 0)
        one.set_neighbours([Neighbour("1", through, keys[1])])
        two.set_neighbours([Neighbour("0", through, keys[0])])
        both_ways(one, two, *keys)


def test_the_commands_run_a_relay_and_give_tokens(tmp_path: Path, port: int) -> None:
    import subprocess
    import sys

    from widemargin.sites.network.keys import make_keys

    keys = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        keys.append(make_keys(tmp_path / name))
    command = [sys.executable, "-m", "widemargin", "site"]
    secret = ["--secret", str(tmp_path / "relay.secret")]

    def given(key: str) -> bytes:
        run = subprocess.run(
            [*command, "relay-token", "--member", key, *secret],
            check=True,
            capture_output=True,
            text=True,
        )
        return bytes.fromhex(run.stdout.strip())

    tokens = [given(key) for key in keys]
    assert (tmp_path / "relay.secret").stat().st_mode & 0o777 == 0o600
    members = [word for key in keys for word in ("--member", key)]
    listen = ["--listen", f"tcp://127.0.0.1:{port}"]
    with subprocess.Popen(
        [*command, "relay", *listen, *secret, *members], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            assert "relay_open" in process.stderr.readline()
            address = Address("relay", "127.0.0.1", port)

            async def both() -> list[socket.socket]:
                one = meet(address, keys[0], keys[1], tokens[0])
                two = meet(address, keys[1], keys[0], tokens[1])
                return list(await asyncio.gather(one, two))

            with closing_all(asyncio.run(both())):
                process.terminate()
                assert process.wait(30) == 0
        finally:
            process.kill()
