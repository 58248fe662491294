"""Fits and ``compress`` stay within ``memory_limit`` and a tenth.

The limit is for all that a fit takes beside the rows that it was given: kernel values and factors
above all, but also duals, margins and passing copies of rows. It is measured as the growth of
anonymous memory, in a process of its own. A kernel matrix of all rows would take 576 MB. That of
a compression is what it takes beside the model.

Multi-class machines of all classes together are not among the cases: their limit decides how
weights are kept, and does not bound the multipliers.
"""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest
from memory_of_fits import CASES, growth

pytestmark = [
    pytest.mark.skipif(
        not Path("/proc/self/clear_refs").exists(), reason="needs Linux's account of memory"
    ),
    pytest.mark.xdist_group("memory"),  # its cases are measured once, not in every process
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan's own memory"),
]


@pytest.fixture(scope="module")
def grown() -> dict[str, float]:
    """Measure every case in a process of its own, copied from one that has only imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["memory_of_fits"])
    with context.Pool(1, maxtasksperchild=1) as workers:
        found = workers.map(growth, CASES, chunksize=1)
        workers.close()
        workers.join()  # nothing of it is left for other tests
    return dict(zip(CASES, found, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_they_stay_within_their_memory(name: str, grown: dict[str, float]) -> None:
    case = CASES[name]
    assert grown[name] <= 1.1 * case.limit
    if case.fills:  # else the limit would not be what holds it
        assert grown[name] >= 0.5 * case.limit
