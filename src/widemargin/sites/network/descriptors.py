"""File descriptors of a process: as many as the system allows, some of them kept back.

Whoever connects takes descriptors. Those for the state, for commands and for libzmq, which aborts
the process where it gets none, must stay free.
"""

from __future__ import annotations

import resource
from contextlib import suppress

__all__ = ["connections_allowed", "desk_connections", "raise_limit"]

# Kept back: libraries and files that are open, the state, the log, commands and metrics.
_RESERVE = 112
# Kept back for each neighbour: its socket, the connection and the way through a relay.
_RESERVE_PER_NEIGHBOUR = 6
# Of a connection: the one from outside, and both ends of the one to libzmq.
_PER_CONNECTION = 3
# As many are enough, and neither memory nor time is lost to more.
_MOST_CONNECTIONS = 512
_LEAST_CONNECTIONS = 8
# Some systems have no limit, or one that they do not keep.
_HIGHEST_LIMIT = 65536


def raise_limit() -> int:
    """Raise the limit of descriptors to what the system allows, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _HIGHEST_LIMIT if hard == resource.RLIM_INFINITY else min(hard, _HIGHEST_LIMIT)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return descriptor_limit()


def descriptor_limit() -> int:
    """Return the number of descriptors that this process may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _HIGHEST_LIMIT if soft == resource.RLIM_INFINITY else int(soft)


def connections_allowed(n_neighbours: int) -> int:
    """Return the number of connections from outside that leave the reserve untouched.

    Raises
    ------
    OSError
        If the limit of descriptors is too low for a site with so many neighbours.
    """
    reserve = _RESERVE + _RESERVE_PER_NEIGHBOUR * n_neighbours
    # A neighbour may connect a second time before its first connection is found to be dead.
    least = _LEAST_CONNECTIONS + 2 * n_neighbours
    limit = descriptor_limit()
    allowed = (limit - reserve) // _PER_CONNECTION
    if allowed < least:
        raise OSError(
            f"a site with {n_neighbours} neighbours needs {reserve + _PER_CONNECTION * least} file "
            f"descriptors; this process may have {limit}. Raise the limit: `ulimit -n 1024`, or "
            "LimitNOFILE= of its systemd unit."
        )
    return max(least, min(allowed, _MOST_CONNECTIONS))


def desk_connections(*, relay: bool = False) -> tuple[int, int]:
    """Return the connections of a desk and of its relay that leave the reserve untouched.

    Raises
    ------
    OSError
        If the limit of descriptors is too low.
    """
    limit = descriptor_limit()
    room = (limit - _RESERVE) // (2 if relay else 1)
    desk = min(room // _PER_CONNECTION, _MOST_CONNECTIONS)
    if desk < _LEAST_CONNECTIONS:
        needed = _RESERVE + (2 if relay else 1) * _PER_CONNECTION * _LEAST_CONNECTIONS
        raise OSError(
            f"the desk of a study needs {needed} file descriptors; this process may have {limit}. "
            "Raise the limit: `ulimit -n 1024`, or LimitNOFILE= of its systemd unit."
        )
    # What is passed on through a relay has a descriptor for either end alone.
    return desk, min(room, _MOST_CONNECTIONS) if relay else 0
