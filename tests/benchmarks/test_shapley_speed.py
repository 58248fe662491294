"""The benchmark of Shapley values, on a few rows."""

from __future__ import annotations

from benchmarks.race.store import Store
from benchmarks.speed import shapley


def test_a_quick_run_and_its_tables(tmp_path):
    results = tmp_path / "results.json"
    shapley.main(["--quick", "--results", str(results)])
    cells = Store(results).cells
    assert set(shapley.CASES) <= set(cells)
    for name in shapley.CASES:
        assert cells[name]["seconds"] > 0
        assert cells[name]["error"] < 1e-13
    # The recursion is an independent way to the same numbers.
    assert cells["20 features/recursion"]["error"] < 1e-12
    shapley.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "shapley.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(shapley.CASES)
    peers = (tmp_path / "shapley_peers.csv").read_text(encoding="utf-8").splitlines()
    assert len(peers) >= 1 + 2
