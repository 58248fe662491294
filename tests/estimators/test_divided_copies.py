"""Copies of rows are merged before a set is divided; nothing of that shows in the model."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier
from widemargin.kernel.divide.loop import DivideAndConquer

MODELS = {"odm": ODMClassifier, "hinge": SVMClassifier}
losses = pytest.mark.parametrize("loss", MODELS)
kinds = pytest.mark.parametrize("kind", [Stratified, Clustered])


def rows_with_copies() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 200 rows, each one to five times, in any order, and their weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=200) > 0).astype(int)
    rows = rng.permutation(np.repeat(np.arange(200), rng.integers(1, 6, 200)))
    return X[rows], y[rows], rng.uniform(0.5, 2.0, rows.size)


@losses
@kinds
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_same_model_as_on_weighted_rows(loss: str, kind: type, layout: str) -> None:
    X, y, weight = rows_with_copies()
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # merged rows stand where the first copy stood
    first, group = np.sort(first), order[group.ravel()]
    settings = {"gamma": 0.7, "fit_intercept": False, "tol": 1e-8, "random_state": 0}
    model = MODELS[loss](strategy=kind(1, 4, 1), **settings)
    as_given = sp.csr_matrix(X) if layout == "csr" else X
    many = model.fit(as_given, y, weight)
    decision, history = many.decision_function(as_given), many.history_
    support, coef, part = many.support_, many.dual_coef_[0], many.support_part_[0]
    few = model.fit(as_given[first], y[first], np.bincount(group, weight))
    np.testing.assert_allclose(decision, few.decision_function(as_given), atol=1e-6)
    assert history["rows"].tolist() == [200]
    assert history["largest_part"].tolist() == few.history_["largest_part"].tolist()
    assert (coef != 0).all()
    assert set(group[support]) == set(few.support_)
    number = dict(zip(few.support_, few.support_part_[0], strict=True))
    assert [number[row] for row in group[support]] == part.tolist()


@losses
@kinds
def test_the_root_is_exact(loss: str, kind: type) -> None:
    X, y, weight = rows_with_copies()
    params = {"gamma": 0.7, "tol": 1e-6, "random_state": 0}
    model = MODELS[loss](strategy=kind(1, 4), **params).fit(X, y, weight)
    exact = MODELS[loss](strategy="exact", **params).fit(X, y, weight)
    assert model.relative_gap_ <= 1e-6  # NaN unless all rows take part
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=0.02)


def test_not_merged_where_too_few_rows_are_left_or_as_published() -> None:
    X, y, _ = rows_with_copies()
    few = np.tile(np.arange(12), 20)  # 12 rows cannot make 8 parts of two
    for rows, strategy in ((few, Stratified(1, 8, 1)), (np.arange(len(X)), printed())):
        model = ODMClassifier(strategy=strategy, random_state=0).fit(X[rows], y[rows])
        assert model.history_["rows"].tolist()[0] == rows.size


def printed() -> Stratified:
    return Stratified(1, 4, 1, printed=True)


def test_warm_start_goes_through_merged_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weight = rows_with_copies()
    model = ODMClassifier(strategy=Stratified(1, 4), gamma=0.7, warm_start=True, random_state=0)
    model.fit(X, y, weight)
    started = []
    run = DivideAndConquer.run

    def watched(loop: DivideAndConquer) -> object:
        (whole,) = loop.whole.parts
        started.append(whole.net_dual)
        return run(loop)

    monkeypatch.setattr(DivideAndConquer, "run", watched)
    model.fit(X, y, weight)
    assert started[0].shape == (200,)
    assert np.abs(started[0]).sum() == pytest.approx(np.abs(model.dual_coef_).sum(), rel=0.05)
