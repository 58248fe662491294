"""Exchanges a second between two sites, at small and large dimensions.

    python -m benchmarks.sites.exchange_rate

Two measurements. *Round trips* are of bare sockets: a frame of the size of a message there and
back, with CURVE and, for comparison, without; sites themselves have no mode without. *Exchanges*
are of two processes as ``widemargin site run`` runs them, with a hundred rows each and no pause
between rounds: what a step on the rows, checking, saving the state (without flushing the disk) and
encryption leave. One exchange is a message to the neighbour and one from it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import zmq

from widemargin.gossip import graph_of
from widemargin.sites.fleet import LocalFleet
from widemargin.sites.network.wire import most_bytes

DIMENSIONS = (123, 20_000)
ROWS = 100
FIGURES = 8  # approximate count of numbers in a message beside the model's
SECONDS_TO_BEGIN = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.exchange_rate")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    options = parser.parse_args()
    results = []
    for size in DIMENSIONS:
        frame = most_bytes(size + 1 + FIGURES)
        result = {
            "features": size,
            "frame_bytes": frame,
            "plain_round_trips": round_trips(frame, options.seconds, curve=False),
            "curve_round_trips": round_trips(frame, options.seconds, curve=True),
            **exchanges(size, options.seconds),
        }
        results.append(result)
        print(
            f"d = {size:,} ({frame:,} bytes): {result['plain_round_trips']:,.0f} round trips/s "
            f"plain, {result['curve_round_trips']:,.0f} with CURVE; sites make "
            f"{result['exchanges']:,.0f} exchanges/s with CURVE",
            flush=True,
        )
    if options.output is not None:
        options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def round_trips(frame_bytes: int, seconds: float, *, curve: bool) -> float:
    """Measure round trips a second between two bare sockets."""
    context = zmq.Context()
    server, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    if curve:
        (their_public, their_secret), (public, secret) = zmq.curve_keypair(), zmq.curve_keypair()
        server.curve_server, server.curve_secretkey = True, their_secret
        client.curve_serverkey = their_public
        client.curve_publickey, client.curve_secretkey = public, secret
    port = server.bind_to_random_port("tcp://127.0.0.1")
    client.connect(f"tcp://127.0.0.1:{port}")

    def answer() -> None:
        while True:
            sender, frame = server.recv_multipart()
            if not frame:
                return
            server.send_multipart([sender, frame])

    thread = threading.Thread(target=answer)
    thread.start()
    frame, count = bytes(frame_bytes), 0
    client.send(frame)
    client.recv()  # connected now
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        client.send(frame)
        client.recv()
        count += 1
    client.send(b"")
    thread.join()
    context.destroy(0)
    return count / passed


def exchanges(size: int, seconds: float) -> dict[str, Any]:
    """Measure what two sites exchange a second, and how many bytes."""
    draw = np.random.default_rng(0)
    parts = []
    for _ in range(2):
        X = draw.normal(size=(ROWS, size)) / np.sqrt(size)
        parts.append((X, np.where(X[:, 0] + 0.1 * draw.normal(size=ROWS) > 0, 1, -1)))
    settings = {
        "lam": 1e-3,
        "tol": 1e-12,  # never reached: sites rest once it is
        "round_interval": 0.0,
        "heartbeat": 0.001,
        "rate_limit": 1e6,
        "sync": False,
    }
    with (
        tempfile.TemporaryDirectory(prefix="widemargin-") as folder,
        LocalFleet(Path(folder), parts, graph_of("ring", 2), settings) as fleet,
    ):
        for site in fleet.sites:
            fleet.start(site)
        deadline = time.monotonic() + SECONDS_TO_BEGIN
        while not all(_hears(status) for status in fleet.statuses().values()):
            if time.monotonic() > deadline:
                words = [fleet.last_output(site) for site in fleet.sites]
                raise SystemExit(f"The sites do not hear each other: {words}")
            time.sleep(0.2)
        before, began = fleet.status(fleet.sites[0]), time.perf_counter()
        time.sleep(seconds)
        after, passed = fleet.status(fleet.sites[0]), time.perf_counter() - began
    assert before is not None
    assert after is not None
    received = after["links"][0]["received"] - before["links"][0]["received"]
    sent = after["links"][0]["sent"] - before["links"][0]["sent"]
    return {
        "exchanges": min(received, sent) / passed,
        "bytes_per_second": (after["bytes_sent"] - before["bytes_sent"]) / passed,
    }


def _hears(status: dict[str, Any] | None) -> bool:
    return bool(status) and status["links"][0]["received"] > 10


if __name__ == "__main__":
    raise SystemExit(main())
