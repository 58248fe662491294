"""Anonymous memory of an exact fit with a narrow kernel stays within ``memory_limit``."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
    import threading
    import numpy as np
    from widemargin import ODMClassifier

    def anonymous():
        with open("/proc/self/smaps_rollup") as account:
            return next(int(line.split()[1]) >> 10 for line in account if "Anonymous:" in line)

    rng = np.random.default_rng(0)
    kind = np.eye(8, dtype=np.float32)[rng.integers(8, size=20000)]
    X = np.hstack([kind, rng.random((20000, 4), dtype=np.float32)])
    y = np.sign(np.sin(9 * X[:, -1]) + np.cos(7 * X[:, -2]) + 0.5 * rng.normal(size=20000))
    model = ODMClassifier(C=10, gamma=30, memory_limit="{limit}", n_jobs=2, random_state=0)
    model.fit(X[:300], y[:300])  # what the first fit of a process takes
    before, seen, over = anonymous(), [], threading.Event()

    def watch():
        while not over.wait(0.01):
            seen.append(anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    model.fit(X, y)
    over.set()
    watcher.join()
    assert model.relative_gap_ <= 1e-3
    print(max(seen) - before)
"""


@pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's account of memory"
)
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan's own memory")
def test_an_exact_fit_stays_within_its_memory() -> None:
    megabytes = {}
    for limit in (16, 1024):
        found = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(SCRIPT.replace("{limit}", f"{limit}MiB"))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        megabytes[limit] = int(found.stdout)
    assert megabytes[1024] > 40  # else the test would prove nothing
    assert megabytes[16] <= 1.1 * 16
