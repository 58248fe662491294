"""The benchmark of updates, on a few rows."""

from __future__ import annotations

from benchmarks.race.store import Store
from benchmarks.speed import updates


def test_a_quick_run_and_its_tables(tmp_path):
    results = tmp_path / "results.json"
    updates.main(["--quick", "--only", "waves", "--results", str(results)])
    cells = Store(results).cells
    assert len(cells) == len(updates.MACHINES) * len(updates.CHANGES) * len(updates.KINDS)
    assert all(cell["gap"] <= 1e-3 and cell["same_labels"] > 0.98 for cell in cells.values())
    one = [cell for name, cell in cells.items() if name.endswith("add 1 row")]
    assert all(cell["passes"] < 0.5 * cell["fit_passes"] for cell in one)
    updates.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "updates_SVMClassifier.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(updates.CHANGES) * len(updates.KINDS)
    assert (tmp_path / "updates_machine.csv").exists()
