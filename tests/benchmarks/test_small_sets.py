"""The benchmark of small sets: rows, a measurement, and the tables that come of it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.speed.small_sets.__main__ import tables_of
from benchmarks.speed.small_sets.fits import CONTESTANTS, measure, rows_of


@pytest.mark.parametrize("name", ["3 x 100", "iris"])
def test_rows_are_standardised(name: str) -> None:
    X, y = rows_of(name)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    assert len(np.unique(y)) == 3


def test_a_measurement() -> None:
    job = {"contestant": "svm_ovo", "sets": ["3 x 100", "iris"], "seconds": 0.0}
    result = list(measure(job))[-1]
    assert [each["set"] for each in result["sets"]] == job["sets"]
    assert all(0 < each["gap"] <= 1e-3 and each["cpu_ms"] > 0 for each in result["sets"])


def test_tables_show_the_best_round_beside_svc() -> None:
    def cell(cpu_ms: float, gap: float | None = None) -> dict:
        row = {"set": "iris", "rows": 150, "features": 4, "classes": 3}
        return {"sets": [{**row, "cpu_ms": cpu_ms, "gap": gap}]}

    cells = {
        "svc/0": cell(2.0),
        "svc/1": cell(1.0),
        "lightgbm/0": cell(50.0),
        "svm_ovo/0": cell(0.5, 4e-4),
        "odm_ovo/0": cell(1.5, 9e-4),
    }
    tables = {name: (columns, list(rows)) for name, columns, rows in tables_of(cells)}
    columns, rows = tables["small_sets_real"]
    shown = dict(zip(columns, rows[0], strict=True))
    titles = {name: title for name, (title, _, _) in CONTESTANTS.items()}
    assert shown[titles["svc"]] == "1"
    assert shown[titles["lightgbm"]] == "50 (50.00)"
    assert shown[titles["svm_ovo"]] == "0.5 (0.50)"
    assert shown[titles["odm_ovo"]] == "1.5 (**1.50**)"
    assert shown[titles["intelex"]] == "–"
    assert tables["small_sets_generated"][1] == []
    worst = tables["small_sets_gaps"][1]
    assert worst[0][1:] == ["0.50", "–", "1.50", "–"]
    assert worst[1][1:] == ["4.0e-04", "–", "9.0e-04", "–"]
