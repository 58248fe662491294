"""Spooling takes memory by the block, not by the file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's account of memory"
)

MIB = 1 << 20

# Spools every file named, each after a small one like it, which loads and warms up what is needed.
# Prints the highest growth of memory that is not backed by a file, and the size of the spool.
MEASURE = """
import sys, threading
from widemargin.data import spool

def anonymous():
    with open("/proc/self/smaps_rollup") as account:
        return next(int(line.split()[1]) << 10 for line in account if "Anonymous:" in line)

for name in sys.argv[2:]:
    spool("small-" + name, block_bytes=int(sys.argv[1])).close()
    before = highest = anonymous()
    finished = threading.Event()

    def watch():
        global highest
        while not finished.wait(0.002):
            highest = max(highest, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    with spool(name, block_bytes=int(sys.argv[1])) as rows:
        checksum = rows.X.sum()  # Reads every page.
        highest = max(highest, anonymous())
        print(name, highest - before, rows.nbytes)
    finished.set()
    watcher.join()
"""


def write_files(folder, n_rows):
    """Write the same rows in every format; return the names."""
    names = ["data.svm", "data.csv", "data.npz"]
    block = np.random.default_rng(0).normal(size=(1000, 20))
    y = np.arange(1000) % 2
    svm = "".join(
        f"{label} " + " ".join(f"{j + 1}:{value:.6f}" for j, value in enumerate(row)) + "\n"
        for label, row in zip(y, block, strict=True)
    )
    csv = "".join(
        ",".join(f"{value:.6f}" for value in row) + f",{label}\n"
        for label, row in zip(y, block, strict=True)
    )
    for prefix, repeats in (("small-", 1), ("", n_rows // 1000)):
        for name, text in (("data.svm", svm), ("data.csv", csv)):
            with open(folder / (prefix + name), "w") as file:
                for _ in range(repeats):
                    file.write(text)
        X, labels = np.tile(block, (repeats, 1)), np.tile(y, repeats)
        np.savez(folder / (prefix + "data.npz"), X=X, y=labels)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            continue
        columns = {f"f{j}": X[:, j] for j in range(20)}
        table = pyarrow.table({**columns, "label": labels})
        pyarrow.parquet.write_table(table, folder / (prefix + "data.parquet"))
    return names + ["data.parquet"] * (folder / "data.parquet").exists()


def growth(folder, names, block_bytes):
    command = [sys.executable, "-c", MEASURE, str(block_bytes), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return [(int(g), int(size)) for _, g, size in map(str.split, done.stdout.splitlines())]


def test_memory_is_bounded(tmp_path):
    measured = growth(tmp_path, write_files(tmp_path, 120_000), 1 * MIB)
    for memory, spooled in measured:
        assert spooled > 19.2e6
        assert memory < 16 * MIB, measured


@pytest.mark.slow
def test_memory_is_bounded_for_files_of_200_megabytes(tmp_path):
    names = write_files(tmp_path, 1_200_000)
    assert (tmp_path / "data.svm").stat().st_size > 200e6
    for memory, spooled in growth(tmp_path, names, 16 * MIB):
        assert spooled > 190e6
        assert memory < 6 * 16 * MIB
