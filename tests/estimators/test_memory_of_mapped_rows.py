"""Rows that are mapped from a file stay there: fits and compressions copy a few at a time."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's account of memory"
)

ROWS, FEATURES = 110_000, 128

# Prints the highest growth of memory that is not backed by a file: during a fit by clusters, a
# compression by decisions, one by rows, and a prediction; a small fit before loads what is needed.
MEASURE = """
import sys, threading, warnings
import numpy as np
from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier

warnings.simplefilter("ignore")

def anonymous():
    with open("/proc/self/smaps_rollup") as account:
        return next(int(line.split()[1]) << 10 for line in account if "Anonymous:" in line)

def growth(action):
    before = highest = anonymous()
    finished = threading.Event()

    def watch():
        nonlocal highest
        while not finished.wait(0.002):
            highest = max(highest, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    made = action()
    finished.set()
    watcher.join()
    print(max(highest, anonymous()) - before)
    return made

X, y = np.load("X.npy", mmap_mode="r"), np.load("y.npy")
strategy = {"routed": Clustered(4, 4, 4), "mean": Stratified(1, 128, 1)}[sys.argv[1]]
make = lambda: SVMClassifier(gamma=0.004, C=0.1, strategy=strategy, n_jobs=2, random_state=0)
make().fit(np.array(X[:5000]), y[:5000]).compress(20, X[:5000], y[:5000])
model = growth(lambda: make().fit(X, y))
growth(lambda: model.compress(50))
growth(lambda: model.compress(50, X, y))
growth(lambda: model.predict(X))
print(model.support_vectors_.nbytes)
"""


@pytest.mark.parametrize("kind", ["routed", "mean"])
def test_rows_are_not_copied(tmp_path: Path, kind: str) -> None:
    """One copy of the rows would be 56 MB; kernel values take up to 40."""
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
    X[:, 0] *= 20.0  # few support vectors, as these are copied
    y = (X[:, 0] > 0).astype(np.int8)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, kind],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    fit, compression, by_rows, prediction, vectors = map(int, done.stdout.split())
    assert vectors < 0.3 * X.nbytes, done.stdout
    assert max(fit, compression, by_rows, prediction) < vectors + 0.8 * X.nbytes, done.stdout
