"""The benchmark of ten million rows, on a few thousand."""

from __future__ import annotations

import numpy as np
from benchmarks.race.collisions import BLOCK_ROWS, best_accuracy, blocks, collisions, written
from benchmarks.race.store import Store
from benchmarks.speed import ten_million


def test_rows_do_not_depend_on_how_many_are_made(tmp_path):
    few, many = collisions(100, 0), collisions(BLOCK_ROWS + 5, 0)
    for a, b in zip(few, many, strict=True):
        np.testing.assert_array_equal(a, b[:100])
    assert many[0].shape == (BLOCK_ROWS + 5, 18)
    assert many[0].dtype == np.float32
    for _ in range(2):  # written, and found
        for a, b in zip(many, written(tmp_path, BLOCK_ROWS + 5, 0), strict=True):
            np.testing.assert_array_equal(a, b)
    assert len(list(tmp_path.iterdir())) == 2
    assert not np.array_equal(collisions(100, 1)[0], few[0])


def test_classes_overlap_as_stated():
    assert abs(best_accuracy(50_000, 1) - 0.80) < 0.005
    X, y, chance = next(blocks(50_000, 1))
    assert abs(y.mean() - 0.5) < 0.01
    assert abs(np.mean((chance > 0.5) == y) - 0.80) < 0.01
    np.testing.assert_allclose(X.std(axis=0), 1.0, atol=0.03)


def test_a_quick_run_and_its_tables(tmp_path, capsys):
    results = tmp_path / "results.json"
    few = ["--rows", "3000", "--points", "60", "--machine", "SODM", "--folder", str(tmp_path)]
    ten_million.main([*few, "--results", str(results)])
    (cell,) = Store(results).cells.values()
    assert cell["compressed_points"] == cell["refitted_points"] == 60
    assert cell["refitted_accuracy"] > 0.65
    assert cell["fitted_mb"] > 10
    ten_million.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "ten_million.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(ten_million.KINDS)
    assert (tmp_path / "ten_million_machine.csv").exists()
