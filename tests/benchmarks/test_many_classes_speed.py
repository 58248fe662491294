"""The benchmark of many classes, on a few rows."""

from __future__ import annotations

from benchmarks.race.store import Store
from benchmarks.speed.many_classes import fits


def test_a_quick_run_and_its_tables(tmp_path):
    results = tmp_path / "results.json"
    fits.main(["--quick", "--only", "lshtc_20", "--results", str(results)])
    cells = Store(results).cells
    assert sorted(cells) == ["lshtc_20/ovr/1/0", "lshtc_20/ww/1/0"]
    for cell in cells.values():
        assert cell["converged"]
        assert cell["relative_gap"] <= fits.TOL
        assert cell["file_predicts_the_same"]
        assert cell["classes"] == 30
    fits.main(["render", "--results", str(results), "--to", str(tmp_path)])
    lines = (tmp_path / "many_classes_generated.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3
    assert (tmp_path / "many_classes_machine.csv").exists()


def test_every_fit_has_a_name_of_its_own():
    jobs = [job for name in (*fits.GENERATED, *fits.TEXTS) for job in fits.jobs_of(name)]
    assert len({fits.key_of(job) for job in jobs}) == len(jobs) == 14
