"""Regressors on fewer points: near the model as it was, or the best on training rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1

from widemargin import (
    Clustered,
    ODMRegressor,
    QuantileSVMRegressor,
    SVMRegressor,
    SVMRegressorCV,
    load_model,
)

GAMMA, UNIT, FAR = 0.5, 1000.0, 5e5  # targets in no convenient unit, far from zero
MODELS = [
    SVMRegressor(C=3 * UNIT, epsilon=0.5 * UNIT, gamma=GAMMA),
    SVMRegressor(loss="squared_epsilon_insensitive", C=3.0, gamma=GAMMA),
    ODMRegressor(C=3.0, upsilon=0.5, theta=0.5 * UNIT, gamma=GAMMA),
    QuantileSVMRegressor(C=3 * UNIT, quantile=0.7, gamma=GAMMA),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda each: type(each).__name__)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_friedman1(800, 6, noise=1.0, random_state=0)
    return X, UNIT * y + FAR


def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(-1))


def objective(model, X: np.ndarray, y: np.ndarray, coef: np.ndarray) -> float:
    """The regressor's objective at coefficients of its points, with its intercept."""
    points = model.support_vectors_
    terms = replace(model._loss().terms(np.full(len(y), model.C)), offset=y)
    predicted = kernel(X, points) @ coef + model.intercept_[0]
    return float(0.5 * coef @ kernel(points, points) @ coef + terms.primal(predicted).sum())


@every_model
def test_predictions_stay_and_rows_improve_the_objective(model, rows) -> None:
    X, y = rows
    model.fit(X, y)
    near, best = model.compress(40), model.compress(40, X, y)
    for small in (near, best):
        assert len(small.support_) == len(small.dual_coef_[0]) == small.n_support_[0] == 40
        assert np.isnan(small.relative_gap_)
        assert small.score(X, y) > model.score(X, y) - 0.06
    spread = np.sqrt(np.mean((model.predict(X) - model.intercept_[0]) ** 2))
    lost = np.sqrt(np.mean((near.predict(X) - model.predict(X)) ** 2)) / spread
    assert near.compression_["error"] == pytest.approx(lost, rel=0.2)
    assert "same_labels" not in near.compression_
    whole = objective(model, X, y, model.dual_coef_[0])
    first, second = (objective(each, X, y, each.dual_coef_[0]) for each in (near, best))
    assert whole < second < first
    # Of all coefficients of these points, hardly any are better.
    found = minimize(lambda b: objective(best, X, y, b), best.dual_coef_[0], method="L-BFGS-B")
    assert second <= 1.02 * found.fun
    assert best.compression_["n_rows"] == len(y)
    assert best.compression_["converged"]


def test_all_points_are_the_model_itself(rows) -> None:
    X, y = rows
    model = MODELS[0].fit(X[:200], y[:200])
    same = model.compress(200)
    np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-3 * UNIT)


def test_rows_in_another_unit_give_the_same_function(rows) -> None:
    """The corners of the loss are rounded in the unit of the targets."""
    X, y = rows
    model = SVMRegressor(C=3 * UNIT, epsilon=0.5 * UNIT, gamma=GAMMA, tol=1e-8)
    other = SVMRegressor(C=3 / 1.024, epsilon=0.5 / 1.024, gamma=GAMMA, tol=1e-8)
    ours = model.fit(X, y).compress(40, X, y)
    theirs = other.fit(X, y / 1024).compress(40, X, y / 1024)
    np.testing.assert_allclose(1024 * theirs.predict(X), ours.predict(X), rtol=1e-4)


def test_weights_of_rows_and_clusters(rows) -> None:
    X, y = rows
    clusters = Clustered(levels=1, fan_in=2, stop_level=1)
    model = ODMRegressor(C=3.0, gamma=GAMMA, strategy=clusters, random_state=0).fit(X, y)
    twice = model.compress(30, X, y, np.full(len(y), 2.0))
    copied = model.compress(30, np.vstack([X, X]), np.append(y, y))
    assert twice.routing_ is None
    # Weights count rows more; copies stand for as many rows as there were.
    assert objective(twice, X, y, twice.dual_coef_[0]) >= objective(
        copied, X, y, copied.dual_coef_[0]
    ) * (1 - 1e-3)
    assert copied.score(X, y) > 0.8


def test_searches_and_files(rows, tmp_path) -> None:
    X, y = rows
    search = SVMRegressorCV(Cs=[3 * UNIT], gammas=[GAMMA], epsilons=UNIT, cv=2).fit(X, y)
    small = search.compress(30, X, y)
    alone = search.best_estimator_.compress(30, X, y)
    np.testing.assert_array_equal(small.predict(X), alone.predict(X))
    assert small.compression_["n_rows"] == len(y)
    small.save(tmp_path / "small.wm")
    np.testing.assert_array_equal(load_model(tmp_path / "small.wm").predict(X), small.predict(X))


def test_refusals_and_the_warning(rows) -> None:
    X, y = rows
    model = MODELS[0].fit(X, y)
    with pytest.raises(ValueError, match="X and y go together"):
        model.compress(10, X)
    with pytest.raises(ValueError, match="`sample_weight` goes with X and y"):
        model.compress(10, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="`n_basis` must be"):
        model.compress(0)
    with pytest.warns(UserWarning, match="deviates by .* of the size of its predictions"):
        model.compress(1)
