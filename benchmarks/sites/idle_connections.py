"""Connections to sites from outside that say nothing, as many as asked for, held and renewed.

    python -m benchmarks.sites.idle_connections --count 2000 tcp://127.0.0.1:7001 ...

Prints a line with the numbers of connections held, opened and refused every ten seconds. Ends when
its standard input is closed.
"""

from __future__ import annotations

import argparse
import resource
import select
import socket
import sys
import time
from contextlib import suppress

SECONDS_BETWEEN_LINES = 10.0
# Attempts in a row, so that a site that refuses all is not asked without end.
BURST = 50


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites.idle_connections")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("addresses", nargs="+")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = options.count + 64
    if most != resource.RLIM_INFINITY and most < wanted:
        parser.error(f"{wanted} descriptors are needed; the limit is {most}. See `ulimit -Hn`.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    targets = [tuple(a.removeprefix("tcp://").rsplit(":", 1)) for a in options.addresses]
    held: list[socket.socket] = []
    opened = refused = 0
    next_line = 0.0
    while True:
        for _ in range(BURST):
            if len(held) >= options.count:
                break
            host, port = targets[opened % len(targets)]
            opened += 1
            try:
                held.append(socket.create_connection((host, int(port)), timeout=0.5))
                held[-1].setblocking(False)
            except OSError:
                refused += 1
        held = [each for each in held if alive(each)]
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + SECONDS_BETWEEN_LINES
            print(f"held {len(held)}, opened {opened}, refused {refused}", flush=True)
        if select.select([sys.stdin], [], [], 0.1)[0] and not sys.stdin.read(1):
            return


def alive(connection: socket.socket) -> bool:
    """Return whether the other end still holds a connection; close it if not."""
    with suppress(BlockingIOError):
        try:
            # A site greets whoever connects; that is not answered.
            if connection.recv(4096):
                return True
        except (ConnectionError, TimeoutError):
            pass
        connection.close()
        return False
    return True


if __name__ == "__main__":
    main()
