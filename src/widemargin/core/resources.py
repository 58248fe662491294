"""Threads and memory that a fit may use."""

from __future__ import annotations

import multiprocessing
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from typing import Any

from threadpoolctl import ThreadpoolController

# More threads than this are taken for a mistake.
MOST_THREADS = 1024
# Up to this many weights a Hessian is kept as a matrix: 8 MB, factorised in 30 ms.
DIRECT_SIZE = 1000
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def memory_bytes(limit: int | str, name: str = "memory_limit") -> int:
    """Return a limit in bytes.

    Parameters
    ----------
    limit : int or str
        Bytes, or a number with a unit such as ``"1GiB"``, ``"500 MB"``.
    name : str
        Name of the parameter, for the error.

    Returns
    -------
    int
        The limit in bytes.
    """
    if isinstance(limit, Integral) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    match = _SIZE.fullmatch(limit) if isinstance(limit, str) else None
    unit = match.group(2).lower() if match else ""
    factor = {**_UNITS, **_BINARY_UNITS}.get(unit)
    size = int(float(match.group(1)) * factor) if match and factor else 0
    if size < 1:
        raise ValueError(
            f"`{name}` must be a positive number of bytes or a size such as '1GiB' or "
            f"'500MB'; got {limit!r}."
        )
    return size


def thread_count(n_jobs: int | None) -> int:
    """Resolve ``n_jobs`` to a number of threads.

    ``None`` takes all cores this process may use, but one inside a worker process (joblib,
    multiprocessing), whose siblings already fill the machine. Negative numbers count back from all
    cores as in joblib. Results never depend on it.
    """
    cores = usable_cores()
    if n_jobs is None:
        return 1 if in_worker_process() else cores
    if n_jobs == 0:
        raise ValueError("`n_jobs` must not be 0; use None for all cores, or a number of threads.")
    return min(n_jobs, MOST_THREADS) if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def usable_cores() -> int:
    """Count the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_worker_process() -> bool:
    """Return whether this process is a worker of a process pool."""
    if multiprocessing.parent_process() is not None:
        return True
    return multiprocessing.current_process().name.startswith(("LokyProcess", "SpawnProcess"))


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()  # scanning the loaded libraries takes milliseconds


class _BlasLimit:
    """One limit for the process, shared by all threads that need it."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.limiter = _threadpools().limit(limits=1, user_api="blas")
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.limiter.restore_original_limits()


_blas_limit = _BlasLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run NumPy's and SciPy's linear algebra on one thread, so that results do not depend on it.

    The limit holds for the whole process until its last user leaves the context.
    """
    _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave()
