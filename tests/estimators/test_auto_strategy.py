"""What ``strategy="auto"`` does, with its limits lowered so that the test is quick."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons

from widemargin import ODMClassifier, SVMClassifier
from widemargin.kernel.divide import driver

X, y = make_moons(700, noise=0.2, random_state=0)


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "EXACT_ROWS", 500)
    monkeypatch.setattr(driver, "PART_ROWS", 50)


@pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])
def test_many_rows_are_divided_and_one_warning_says_so(kind: type) -> None:
    with pytest.warns(UserWarning, match="strategy='exact' solves the whole set") as caught:
        model = kind(random_state=0).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "700 training rows into 16 clusters" in str(caught[0].message)
    assert model.strategy_ == "clustered"
    assert model.level_ == 2
    assert model.history_["largest_part"].max() <= 2 * 700 / 16
    assert np.isnan(model.relative_gap_)
    assert model.score(X, y) > 0.9


def test_fewer_rows_are_solved_as_a_whole() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVMClassifier().fit(X[:500], y[:500])
    assert model.strategy_ == "exact"
    assert model.relative_gap_ <= 1e-3


def test_settings_that_an_exact_fit_cannot_use(tmp_path: object) -> None:
    with pytest.warns(UserWarning, match="`checkpoint` is for a training set that is divided"):
        SVMClassifier(checkpoint=str(tmp_path)).fit(X[:100], y[:100])
