"""Frames between two ends in this process: bounded, limited, and from whom they say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from site_folders import free_ports

from widemargin.sites import sockets, transport
from widemargin.sites.config import Neighbour
from widemargin.sites.keys import make_keys, read_secret_key
from widemargin.sites.transport import QUEUED, Transport


class Ends:
    """Some ends that all know each other, unless told otherwise."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.ports = free_ports(3)
        self.neighbours: list[Neighbour] = []
        for k, port in enumerate(self.ports):
            (folder / str(k)).mkdir()
            key = make_keys(folder / str(k))
            self.neighbours.append(Neighbour(str(k), f"tcp://127.0.0.1:{port}", key))
        self.events: list[tuple[int, str]] = []

    def open(self, k: int, *others: int, rate: float = 1e6) -> Transport:
        def listener(event: str, **fields: Any) -> None:
            self.events.append((k, event))

        end = Transport(
            self.neighbours[k].address,
            public_key=self.neighbours[k].public_key,
            secret_key=read_secret_key(self._folder / str(k)),
            frame_bytes=2000,
            rate_limit=rate,
            max_memory=2**30,
            neighbours=[self.neighbours[j] for j in others],
            arrived=threading.Event(),
            listener=listener,
        )
        self._stack.callback(end.close)
        return end

    def key(self, k: int) -> str:
        return self.neighbours[k].public_key


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    with ExitStack() as stack:
        yield Ends(tmp_path, stack)


def until(happens: Callable[[], Any], seconds: float = 30.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def test_frames_carry_the_key_of_their_sender(ends: Ends) -> None:
    one, two = ends.open(0, 1), ends.open(1, 0)
    taken = until(lambda: one.send(ends.key(1), b"frame") and two.take())
    assert set(taken) == {(ends.key(0), b"frame")}
    assert one.bytes_sent >= two.bytes_received > 0


def test_those_who_are_not_listed_any_more_are_not_heard(ends: Ends) -> None:
    one, two = ends.open(0, 1), ends.open(1, 0, 2)
    until(lambda: one.send(ends.key(1), b"frame") and two.take())
    two.set_neighbours([ends.neighbours[2]])
    two.take()
    for _ in range(20):
        one.send(ends.key(1), b"frame")
        time.sleep(0.01)
    assert two.take() == []


def test_one_who_was_refused_at_first_gets_through_later(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "RECONNECT_SECONDS", 0.5)
    one, two = ends.open(0, 1), ends.open(1, 2)
    until(lambda: (one.send(ends.key(1), b"frame"), (1, "refused") in ends.events)[1])
    two.set_neighbours([ends.neighbours[0]])
    assert until(lambda: one.send(ends.key(1), b"frame") and two.take())
    assert (0, "unreachable") in ends.events
    until(lambda: (one.send(ends.key(1), b"frame"), (0, "reachable") in ends.events)[1])


def test_too_many_frames_are_dropped(ends: Ends) -> None:
    one, two = ends.open(0, 1), ends.open(1, 0, rate=20.0)
    began = time.monotonic()

    def flooded() -> bool:
        for k in range(100):  # those that would have to wait are not sent
            one.send(ends.key(1), k.to_bytes(8, "little"))
        return two.dropped(ends.key(0)) > 0

    until(flooded)
    assert len(two.take()) <= QUEUED
    seconds = time.monotonic() - began
    assert two.bytes_received <= 8 * (20 + 20 * seconds)


def test_frames_that_are_too_large_end_the_connection(ends: Ends) -> None:
    one, two = ends.open(0, 1), ends.open(1, 0)
    until(lambda: one.send(ends.key(1), b"frame") and two.take())
    one.send(ends.key(1), bytes(100_000))
    time.sleep(0.3)
    assert all(frame == b"frame" for _, frame in two.take())
    # It is made anew, for frames of a sound size.
    assert until(lambda: one.send(ends.key(1), b"frame") and two.take())


def test_connections_are_made_anew_when_memory_runs_out(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = ends.open(0, 1), ends.open(1, 0)
    until(lambda: one.send(ends.key(1), b"frame") and two.take())
    two.check_memory()
    assert (1, "memory_exceeded") not in ends.events
    monkeypatch.setattr(transport, "resident_bytes", lambda: 2**40)
    two.check_memory()
    assert ends.events.count((1, "memory_exceeded")) == 1
    two.check_memory()  # no more than it was then
    assert ends.events.count((1, "memory_exceeded")) == 1
    assert until(lambda: one.send(ends.key(1), b"again") and two.take())
    assert until(lambda: two.send(ends.key(0), b"again") and one.take())


def test_a_port_in_use_is_told(ends: Ends) -> None:
    ends.open(0)
    ends.neighbours[1] = Neighbour("1", ends.neighbours[0].address, ends.key(1))
    with pytest.raises(OSError, match="free port"):
        ends.open(1)
