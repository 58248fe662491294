"""Time against rows: the fits, the limit, the table and the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.race import processes
from benchmarks.race.store import Store
from benchmarks.speed.rows import __main__ as command
from benchmarks.speed.rows.fits import KINDS, levels_of, measured


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fit_learns(kind):
    *_, cell = measured({"kind": kind, "rows": 1_500})
    assert cell["accuracy"] > 0.7
    assert cell["fit_seconds"] > 0.0
    certified = kind in ("exact", "dc", "sodm")
    assert (cell["relative_gap"] is not None) == certified
    assert not certified or cell["relative_gap"] <= 1e-3


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_a_peak_can_be_forgotten():
    large = np.ones(40_000_000)  # 305 MB
    assert processes.memory_mb("VmHWM") > 300
    del large
    processes.forget_peak()
    assert processes.memory_mb("VmHWM") < processes.memory_mb("VmRSS") + 100


def test_parts_are_small_enough_and_no_smaller():
    assert [levels_of(rows, 2_000) for rows in (2_000, 8_000, 8_001, 10**7)] == [1, 1, 2, 7]


def test_larger_sets_are_not_tried_after_the_limit(tmp_path, monkeypatch):
    asked = []

    def fit(worker, job, max_time):
        asked.append((job["rows"], max_time))
        late = {"out_of_time": True, "max_time": max_time}
        return {**cell(float(job["rows"])), **late} if job["rows"] < 200 else late

    monkeypatch.setattr(processes, "measure", fit)
    store = Store(tmp_path / "rows.json")
    command.measure(store, "exact", (100, 200, 300), 10.0, [])
    assert [rows for rows, _ in asked] == [100, 200]
    command.measure(store, "exact", (100, 200, 300), 10.0, [])
    assert len(asked) == 2
    command.measure(store, "exact", (100, 200, 300), 99.0, [])  # more time, another try
    assert [rows for rows, _ in asked] == [100, 200, 200]


def cell(seconds: float, **more: object) -> dict[str, object]:
    found = {"fit_seconds": seconds, "cpu_seconds": seconds, "fit_memory_mb": 10.0}
    return {**found, "support_vectors": 5, "relative_gap": None, "limit": 600.0} | more


def test_the_table_shows_growth_and_limits(tmp_path):
    cells = {
        "exact/10000": cell(2.0, rows=10_000, accuracy=0.9, relative_gap=5e-4),
        "exact/100000": cell(80.0, rows=100_000),
        "exact/1000000": {"rows": 1_000_000, "limit": 600.0, "out_of_time": True},
    }
    ((_, columns, rows),) = command.page(cells)
    first, second, third = rows
    assert [len(row) for row in (first, second, third)] == [len(columns)] * 3
    assert first[:8] == ["exact", "10,000", "2", "2", "–", "90.00", "5", "5.0e-04"]
    assert second[4:6] == ["40.0", "–"]
    assert third[2] == "more than 600"
    pytest.importorskip("matplotlib")
    command.draw(cells, tmp_path)
    assert (tmp_path / "rows.svg").exists()
