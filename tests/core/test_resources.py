"""Memory limits as people write them, threads as joblib counts them."""

import multiprocessing
import os

import pytest
from joblib import Parallel, delayed

from widemargin.core.resources import memory_bytes, thread_count, usable_cores


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (1, 1),
        (10**12, 10**12),
        ("1GiB", 2**30),
        ("1 GiB", 2**30),
        ("1gib", 2**30),
        ("1Gi", 2**30),
        ("500MB", 500 * 10**6),
        ("500 m", 500 * 10**6),
        ("0.5kB", 500),
        (".5k", 500),
        ("1.5KiB", 1536),
        ("2TiB", 2**41),
        ("2T", 2 * 10**12),
        ("12345", 12345),
        ("12345B", 12345),
        ("  64MiB  ", 2**26),
    ],
)
def test_memory(written: int | str, expected: int) -> None:
    assert memory_bytes(written) == expected


@pytest.mark.parametrize(
    "written",
    [
        *("", "GiB", "1 XB", "-1GB", "1e9", "1,5GB", "0", "0GB", "iB", "5i", "1GB2"),
        *(0, -5, True, None, 1.5, float("nan")),
    ],
)
def test_bad_memory(written: object) -> None:
    with pytest.raises(ValueError, match=r"`memory_limit` must be .* such as '1GiB'.*; got"):
        memory_bytes(written)  # type: ignore[arg-type]


def test_less_than_a_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="`memory_limit` must be"):
        memory_bytes("0.4")


def test_threads() -> None:
    cores = usable_cores()
    assert 1 <= cores <= (os.cpu_count() or 1)
    assert thread_count(None) == cores
    assert thread_count(3) == 3
    assert thread_count(-1) == cores
    assert thread_count(-2) == max(1, cores - 1)
    assert thread_count(-10_000) == 1
    with pytest.raises(ValueError, match="`n_jobs` must not be 0"):
        thread_count(0)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_threads_respect_affinity() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_cores() == 1
        assert thread_count(None) == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_one_thread_in_a_worker_process() -> None:
    """Its siblings already fill the machine; an explicit number is still obeyed."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(thread_count, (None,)) == 1
        assert pool.apply(thread_count, (3,)) == 3
    found = Parallel(n_jobs=2, backend="loky")(delayed(thread_count)(None) for _ in range(2))
    assert list(found) == [1, 1]
