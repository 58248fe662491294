"""The benchmark of kernel machines for all classes at once, on a few rows."""

from __future__ import annotations

from benchmarks.race.store import Store
from benchmarks.speed import all_classes


def test_a_quick_run_and_its_tables(tmp_path):
    results = tmp_path / "results.json"
    all_classes.main(["--quick", "--only", "digits", "--results", str(results)])
    cells = Store(results).cells
    assert len(cells) == 2 * len(all_classes.CONTESTANTS)
    found = [all_classes.best(cells, "digits", each) for each in all_classes.CONTESTANTS]
    assert all(cell["accuracy"] > 0.8 and cell["relative_gap"] <= 1e-3 for cell in found)
    all_classes.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "all_classes.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(all_classes.CONTESTANTS)
    assert (tmp_path / "all_classes_machine.csv").exists()
