"""The race in hard regimes: rows, scores and the page, on generated data."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.race.command import race_main
from benchmarks.race.store import Store, stamp
from benchmarks.speed.hard_regimes.race import CASES, COLUMNS, CONTESTANTS, RACE, entry


def test_noise_is_scaled_and_the_same_every_time():
    first, second = (RACE.rows(CASES["noise_poly"], True) for _ in range(2))
    assert first.X.shape == (300, 10)
    np.testing.assert_allclose(first.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(first.X.std(axis=0), 1.0)
    assert np.array_equal(first.X, second.X)
    assert set(first.y) == {-1, 1}


@pytest.mark.parametrize("contestant", ["svc", "svm", "svm_intercept", "odm"])
def test_models_are_scored_with_their_own_kernel(contestant):
    data, each = RACE.rows(CASES["noise_poly"], True), entry("noise_poly", contestant)
    problem = {**each.problem, "C": 1.0}
    library = RACE.libraries[each.library]
    model = library.fit((data.X, data.y), problem, {**each.settings, "tol": 1e-5})
    cell = RACE.score({"library": each.library, "problem": problem}, model, data)
    assert 0 <= cell["gap"] <= 2e-2
    if contestant == "svm":
        y = np.where(data.y == 1, 1.0, -1.0)
        coef = np.zeros(len(y))
        coef[model.support_] = model.dual_coef_[0]
        K = polynomial_kernel(data.X, degree=3, gamma=1 / (10 * data.X.var()), coef0=0)
        losses = np.maximum(0.0, 1.0 - y * (K @ coef)).sum()
        assert cell["primal"] == pytest.approx(0.5 * coef @ K @ coef + losses)
        assert cell["converged"]


def test_page(tmp_path):
    """A case that was measured, one that ran out of time, and ones that are missing."""
    store = Store(tmp_path / "results.json")
    rung = {"value": 1e-3, "seconds": 2.0, "cpu_seconds": 1.5, "gap": 5e-4, "primal": 12.5}
    found = {"rungs": [{**rung, "converged": True}], "finished": True}
    store.put("noise_poly/svm/ladder/dense", {}, found, {**stamp(), "quiet": True})
    store.put("noise_poly/svc/ladder/dense", {}, {"finished": False}, {**stamp(), "quiet": True})
    store.write()
    race_main(RACE, "", ["render", "--results", str(store.path), "--to", str(tmp_path)])
    with open(tmp_path / "hard_regimes.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == COLUMNS
    assert [row[3] for row in rows] == [CONTESTANTS["svc"][0], CONTESTANTS["svm"][0]]
    assert rows[0][4] == "> limit"
    assert rows[1][4:] == ["1.5", "12.5", "5.0e-04", "yes"]
