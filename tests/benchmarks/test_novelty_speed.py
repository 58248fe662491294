"""The benchmark of novelty detection, on a few rows."""

from __future__ import annotations

import pytest
from benchmarks.race.store import Store
from benchmarks.speed.novelty import fits


def test_a_quick_run_and_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(fits, "ROWS", (10_000,))
    monkeypatch.setattr(fits, "NUS", (0.1,))
    results = tmp_path / "results.json"
    fits.main(["--quick", "--only", "generated", "--results", str(results)])
    cells = Store(results).cells
    methods = ("early", "sklearn", "widemargin")
    assert sorted(cells) == [f"generated/10000/0.1/{method}/0" for method in methods]
    early = cells["generated/10000/0.1/early/0"]
    assert early["outside"] == pytest.approx(0.1, abs=0.01)
    assert "relative_gap" not in early
    ours, theirs = cells["generated/10000/0.1/widemargin/0"], cells["generated/10000/0.1/sklearn/0"]
    assert ours["converged"]
    assert ours["offset"] == pytest.approx(theirs["offset"], rel=1e-2)
    fits.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "novelty_rows.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    header, early_row = (tmp_path / "novelty_early.csv").read_text(encoding="utf-8").splitlines()
    assert header.endswith('"Outside, %"')
    assert float(early_row.split(",")[-1]) == pytest.approx(100 * early["outside"], abs=0.01)
    assert (tmp_path / "novelty_machine.csv").exists()


def test_every_fit_has_a_name_of_its_own():
    jobs = [job for name in (fits.GENERATED, *fits.SETS) for job in fits.jobs_of(name)]
    assert len({fits.key_of(job) for job in jobs}) == len(jobs) == 70


def test_fits_that_ran_out_of_time_are_shown_as_such():
    cells = {
        "generated/10000/0.1/widemargin/0": {
            "rows": 10_000, "fit_seconds": 1.0, "cpu_seconds": 1.5, "relative_gap": 1e-6,
            "converged": True, "blocks": 3, "support_vectors": 1001, "peak_memory_mb": 100.0,
            "offset": 2.0,
        },
        "generated/10000/0.1/sklearn/0": {"out_of_time": True, "max_time": 600.0},
    }  # fmt: skip
    (table, *_) = fits.tables(cells)
    (row,) = table[2]
    assert row[-2:] == ["> 600", fits.NONE]
