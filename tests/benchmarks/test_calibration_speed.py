"""The benchmark of calibrated probabilities, on a few rows."""

from __future__ import annotations

from benchmarks.race.store import Store
from benchmarks.speed import calibration


def test_a_quick_run_and_its_tables(tmp_path):
    results = tmp_path / "results.json"
    arguments = ["--quick", "--only", "breast_cancer", "--results", str(results)]
    calibration.main(arguments)
    cells = Store(results).cells
    assert len(cells) == len(calibration.METHODS) * len(calibration.CONTESTANTS)
    ours = [cell for name, cell in cells.items() if calibration.PEER not in name]
    assert all(cell["argmax_is_prediction"] and 0 < cell["log_loss"] < 0.3 for cell in ours)
    calibration.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "calibration_sigmoid.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(calibration.CONTESTANTS)
    assert (tmp_path / "calibration_machine.csv").exists()
