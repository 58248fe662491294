"""The benchmark of growing numbers of rows: its table, and the memory it sees."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from benchmarks.speed.growth.__main__ import SIZES, fastest, tables
from benchmarks.speed.growth.fit import AnonymousPeak, made

from widemargin import Clustered

CELL = {
    "rows": 50_000,
    "fit_seconds": 4.0,
    "cpu_seconds": 7.0,
    "relative_gap": 5e-4,
    "support": 18_000,
    "anonymous_mb": 300.0,
    "kernel_values": 1.5e9,
    "accuracy": 0.9,
    "predict_seconds": 1.0,
}


def test_the_fastest_round_counts_and_unfinished_ones_do_not() -> None:
    cells = {
        "SVM/50000/0": CELL,
        "SVM/50000/1": {**CELL, "fit_seconds": 3.0},
        "SVM/50000/2": {"out_of_time": True},
    }
    found = fastest(cells, "SVM", SIZES[0])
    assert found is not None
    assert found["fit_seconds"] == 3.0
    [(name, columns, rows)] = tables(cells)
    [line] = rows
    assert name == "growth"
    assert len(line) == len(columns)
    assert line[:6] == ["SVM", "50,000", "3", "7", "1.5", "60.0"]


def test_models_are_exact_or_go_through_levels_to_the_root() -> None:
    assert made("ODM").strategy == "exact"
    assert isinstance(made("DC-SVM to the root").strategy, Clustered)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_that_was_freed_again_is_seen() -> None:
    with AnonymousPeak() as memory:
        block = np.ones(2**23)  # 64 MB
        memory._over.wait(0.2)
        del block
    assert memory.most - memory.before > 50
