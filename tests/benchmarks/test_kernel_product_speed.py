"""The benchmark of kernel products, on a few rows."""

from __future__ import annotations

from benchmarks.race.store import Store
from benchmarks.speed import kernel_product

from widemargin import _native


def test_a_quick_run_and_its_table(tmp_path):
    results = tmp_path / "results.json"
    names = ["dense 22", "14 categories", "text 8,000"]
    kernel_product.main(["--quick", "--only", *names, "--results", str(results)])
    cells = Store(results).cells
    assert sorted(cells) == sorted(f"{name}/{_native.instruction_set()}" for name in names)
    for cell in cells.values():
        assert cell["float32"] > 0
        assert cell["float64"] > 0
        assert 0 < cell["error"] < 1e-6
    assert cells[f"14 categories/{_native.instruction_set()}"]["stored"] == 14
    kernel_product.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "kernel_product.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(names)
