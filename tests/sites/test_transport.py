"""Frames between two ends in this process: bounded, limited, and from whom they say."""

from __future__ import annotations

import errno
import random
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import zmq
from transport_ends import Ends, both_ways, until

from widemargin.sites.config import Neighbour
from widemargin.sites.network import sockets, transport
from widemargin.sites.network.transport import QUEUED


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    with ExitStack() as stack:
        yield Ends(tmp_path, stack)


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


def test_one_end_that_can_dial_is_enough(ends: Ends) -> None:
    one, two = ends.open(0, 1, addresses=""), ends.open(1, 0, listen="")
    both_ways(one, two, ends.key(0), ends.key(1))
    assert one.reaches(ends.key(1))
    assert two.reaches(ends.key(0))
    assert one.sent(ends.key(1)) > 0


def test_an_address_that_nobody_listens_at_is_made_up_for_by_the_other_end(ends: Ends) -> None:
    one = ends.open(0, 1)  # where nobody listens
    two = ends.open(1, 0, listen="")
    both_ways(one, two, ends.key(0), ends.key(1))


def test_a_way_back_ends_with_the_connection(ends: Ends) -> None:
    one, two = ends.open(0, 1, addresses=""), ends.open(1, 0, listen="")
    both_ways(one, two, ends.key(0), ends.key(1))
    two.set_neighbours([])
    until(lambda: (one.send(ends.key(1), b"frame"), not one.reaches(ends.key(1)))[1])
    two.set_neighbours([ends.neighbours[0]])
    both_ways(one, two, ends.key(0), ends.key(1))


@pytest.mark.parametrize("host", ["[::1]", "localhost"])
def test_ipv6_and_names(tmp_path: Path, host: str) -> None:
    with ExitStack() as stack:
        try:
            stack.enter_context(socket.socket(socket.AF_INET6)).bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        ends = Ends(tmp_path, stack, host)
        one, two = ends.open(0, 1), ends.open(1, 0)
        both_ways(one, two, ends.key(0), ends.key(1))


def dealer_of(ends: Ends, k: int, to: int, context: Any, **options: Any) -> zmq.Socket[bytes]:
    """Return a connection as one end makes it, which is not made again."""
    dealer: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    dealer.curve_publickey, dealer.curve_secretkey = (
        ends.key(k).encode(),
        ends.secret(k).encode(),
    )
    dealer.curve_serverkey = ends.key(to).encode()
    dealer.linger, dealer.immediate, dealer.reconnect_ivl = 0, True, -1
    for name, value in options.items():
        setattr(dealer, name, value)
    dealer.connect(ends.neighbours[to].address)
    return dealer


def sends(dealer: zmq.Socket[bytes]) -> bool:
    with suppress(zmq.Again):
        dealer.send(b"frame", zmq.DONTWAIT)
        return True
    return False


def test_a_key_holds_few_connections(ends: Ends) -> None:
    one = ends.open(0, 1, 2)
    two = ends.open(2, 0)
    both_ways(one, two, ends.key(0), ends.key(2))
    with zmq.Context() as context:
        held = []
        for _ in range(8):
            held.append(dealer_of(ends, 1, 0, context))
            until(lambda: sends(held[-1]))
        until(lambda: sum(sends(each) for each in held) <= 2)
        assert sends(held[-1])  # the newest is kept
        both_ways(one, two, ends.key(0), ends.key(2))
        for each in held:
            each.close(0)


def test_a_chosen_routing_id_gets_no_frames_of_others(ends: Ends) -> None:
    one, two = ends.open(0, 1, 2, addresses=""), ends.open(1, 0, listen="")
    both_ways(one, two, ends.key(0), ends.key(1))
    with zmq.Context() as context:
        route = one._sockets._ways[ends.key(1)].route  # libzmq chose it, and told nobody
        thief = dealer_of(ends, 2, 0, context, routing_id=route)
        until(lambda: sends(thief))
        both_ways(one, two, ends.key(0), ends.key(1))
        assert not thief.poll(200)
        thief.close(0)


def test_nonsense_at_the_door_is_turned_away(ends: Ends) -> None:
    one, two = ends.open(0, 1, addresses=""), ends.open(1, 0, listen="")
    both_ways(one, two, ends.key(0), ends.key(1))
    rng = random.Random(0)
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
    sound = greeting + b"\x04\xc8\x05HELLO" + rng.randbytes(194) + b"\x06" + bytes(6) + b"\x02\x00"
    with ExitStack() as stack:
        for k in range(150):
            data = bytearray(sound[: rng.randrange(len(sound) + 1)] if k % 3 else rng.randbytes(k))
            if k % 2 and data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            link = stack.enter_context(socket.create_connection(("127.0.0.1", ends.ports[0])))
            with suppress(OSError):
                link.sendall(data)
            if k % 4 == 0:
                link.close()
        both_ways(one, two, ends.key(0), ends.key(1))
        third = ends.open(2, 0)
        one.set_neighbours([*ends.neighbours[1:]])
        both_ways(one, third, ends.key(0), ends.key(2))
    assert one.refused > 10
    until(lambda: one.connections <= 4)


def test_no_descriptor_for_a_connection_is_no_fault(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "RECONNECT_SECONDS", 0.2)
    one = ends.open(0, 1)
    making, failed = zmq.Context.socket, []

    def failing(context: Any, kind: int, *arguments: Any, **options: Any) -> Any:
        if kind == zmq.DEALER and len(failed) < 3:
            failed.append(kind)
            raise zmq.ZMQError(errno.EMFILE)
        return making(context, kind, *arguments, **options)

    monkeypatch.setattr(zmq.Context, "socket", failing)
    until(lambda: (one.send(ends.key(1), b"frame"), len(failed) == 3)[1])
    two = ends.open(1, 0)
    both_ways(one, two, ends.key(0), ends.key(1))
