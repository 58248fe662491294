"""The linear regressors: problems, agreement with other solvers, units, and the ways to train."""

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_regression
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle import solve_regression_with_clarabel
from widemargin import (
    LinearODMRegressor,
    LinearQuantileSVMRegressor,
    LinearSVMRegressor,
    load_model,
)
from widemargin.engines import LocalEngine
from widemargin.estimators.linear_regression import LinearRegressor
from widemargin.linear.solvers import SOLVERS

LOSSES: dict[str, LinearRegressor] = {
    "epsilon_insensitive": LinearSVMRegressor(epsilon=0.2),
    "squared_epsilon_insensitive": LinearSVMRegressor(
        epsilon=0.2, loss="squared_epsilon_insensitive"
    ),
    "pinball": LinearQuantileSVMRegressor(quantile=0.7),
    "odm": LinearODMRegressor(upsilon=0.5, theta=0.2),
}
SETTINGS: dict[str, dict[str, float]] = {
    "epsilon_insensitive": {"band": 0.2},
    "squared_epsilon_insensitive": {"band": 0.2},
    "pinball": {"quantile": 0.7},
    "odm": {"band": 0.2, "upsilon": 0.5},
}
KINKS = ("epsilon_insensitive", "pinball")
PAIRS = [
    (name, loss)
    for name, functions in SOLVERS.items()
    for loss in LOSSES
    if functions[1 if loss in KINKS else 0] is not None and name != "pegasos"
]
losses = pytest.mark.parametrize("loss", LOSSES)


@parametrize_with_checks(
    [
        LinearSVMRegressor(),
        LinearSVMRegressor(loss="squared_epsilon_insensitive", epsilon=0.1, warm_start=True),
        LinearODMRegressor(),
        LinearODMRegressor(fit_intercept=False),
        LinearQuantileSVMRegressor(quantile=0.3, intercept_scaling=10.0),
    ]
)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def noisy_targets(n_rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of six features, and targets with outliers."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 6))
    y = X @ random.normal(size=6) + 0.5 * random.standard_t(3, n_rows) + 1.5
    return X, y


def middle(model: LinearRegressor, y: np.ndarray) -> float:
    """What the intercept is measured from."""
    if not model.fit_intercept:
        return 0.0
    if isinstance(model, LinearQuantileSVMRegressor):
        return float(np.quantile(y, model.quantile, method="inverted_cdf"))
    return float(y.mean())


def oracle(loss: str, model: LinearRegressor, X: np.ndarray, y: np.ndarray) -> float:
    """Ask Clarabel for the objective."""
    constant = model.intercept_scaling if model.fit_intercept else 0.0
    K = X @ X.T + constant**2
    targets = y - middle(model, y)
    return solve_regression_with_clarabel(K, targets, loss, model.C, **SETTINGS[loss]).objective


def primal(model: LinearRegressor, X: np.ndarray, y: np.ndarray) -> float:
    """Objective of a fitted model, from its attributes."""
    own = (model.intercept_ - middle(model, y)) / model.intercept_scaling
    penalty = 0.5 * (float(model.coef_ @ model.coef_) + own**2 * model.fit_intercept)
    terms = model._loss().terms(np.full(len(y), float(model.C)))
    return penalty + float(terms.primal(model.predict(X) - y).sum())


@pytest.mark.parametrize(("intercept", "scaling"), [(False, 1.0), (True, 1.0), (True, 5.0)])
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_the_objective_is_the_oracles(
    solver: str, loss: str, intercept: bool, scaling: float
) -> None:
    X, y = noisy_targets(80)
    model = clone(LOSSES[loss]).set_params(
        solver=solver,
        C=0.3,
        tol=5e-7,
        max_iter=5000,
        fit_intercept=intercept,
        intercept_scaling=scaling,
    )
    model.fit(X, y)
    best = oracle(loss, model, X, y)
    assert model.converged_
    assert model.solver_ == solver
    assert primal(model, X, y) == pytest.approx(best, rel=1e-6)
    assert primal(model, X, y) - best <= model.dual_gap_ + 1e-9 * best
    assert model.history_["primal"][-1] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("squared", [False, True])
def test_the_problem_is_that_of_linearsvr(squared: bool) -> None:
    X, y = noisy_targets()
    y -= y.mean()  # where LinearSVR measures the intercept from
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    ours = LinearSVMRegressor(loss=loss, epsilon=0.2, C=0.5, tol=1e-8).fit(X, y)
    theirs = LinearSVR(
        loss=loss, epsilon=0.2, C=0.5, tol=1e-8, max_iter=1_000_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], abs=2e-4)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_without_penalty_it_is_scikit_learns_quantile_regression(quantile: float) -> None:
    X, y = noisy_targets(301)
    ours = LinearQuantileSVMRegressor(quantile=quantile, C=1e5, tol=1e-8).fit(X, y)
    theirs = QuantileRegressor(quantile=quantile, alpha=0.0, solver="highs").fit(X, y)

    def pinball(predicted: np.ndarray) -> float:
        residual = y - predicted
        return float(np.maximum(quantile * residual, (quantile - 1) * residual).sum())

    assert pinball(ours.predict(X)) == pytest.approx(pinball(theirs.predict(X)), rel=1e-5)
    assert np.mean(y <= ours.predict(X) + 1e-6) == pytest.approx(quantile, abs=0.03)


@losses
@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (-3e4, 1e-5), (5.0, 1e7)])
def test_targets_of_any_origin_and_unit(loss: str, shift: float, scale: float) -> None:
    X, y = noisy_targets()
    model = clone(LOSSES[loss]).set_params(tol=1e-7)
    given = clone(model).fit(X, y)
    # In another unit the same problem has the band in that unit, and absolute losses another C.
    changed = clone(model).set_params(C=scale if loss in KINKS else 1.0)
    for name in ("epsilon", "theta"):
        if hasattr(model, name):
            changed.set_params(**{name: scale * getattr(model, name)})
    changed.fit(X, scale * y + shift)
    assert changed.converged_
    predicted = (changed.predict(X) - shift) / scale
    slack = 1e-3 + 1e-9 * abs(shift / scale)
    np.testing.assert_allclose(predicted, given.predict(X), atol=slack)
    if shift == 5.0:
        assert changed.dual_gap_ <= 1e-7 * scale**2 * given.history_["primal"][-1] * 1.01


@losses
def test_forms_of_the_rows(loss: str) -> None:
    X, y = noisy_targets()
    X[np.abs(X) < 0.5] = 0.0
    model = clone(LOSSES[loss]).set_params(tol=1e-7)
    expected = model.fit(X, y).predict(X)
    for rows in (sp.csr_matrix(X), np.asfortranarray(X), pd.DataFrame(X), X.tolist()):
        np.testing.assert_allclose(clone(model).fit(rows, y).predict(rows), expected, atol=1e-5)
    single = clone(model).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict(X.astype(np.float32)), expected, atol=1e-3)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_results_do_not_depend_on_threads(solver: str, loss: str) -> None:
    X, y = noisy_targets(700)
    one, two = (
        clone(LOSSES[loss]).set_params(solver=solver, n_jobs=n, C=0.1).fit(X, y) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.intercept_ == two.intercept_


@losses
def test_weights_are_copies(loss: str) -> None:
    X, y = noisy_targets()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    model = clone(LOSSES[loss]).set_params(tol=1e-8)
    weighted = clone(model).fit(X, y, weight)
    copied = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-5)
    assert weighted.dual_gap_ <= 1e-8 * weighted.history_["primal"][-1] * 1.01


@losses
def test_blocks_on_an_engine_give_the_same_model(loss: str) -> None:
    X, y = noisy_targets(500)
    model = clone(LOSSES[loss]).set_params(tol=1e-7, C=0.003)
    here = clone(model).fit(X, y)
    for solver in ("newton", "dual"):
        there = clone(model).set_params(engine=LocalEngine(2), solver=solver).fit(X, y)
        assert there.converged_
        np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-3)


@losses
def test_path(loss: str) -> None:
    X, y = noisy_targets(500)
    model = clone(LOSSES[loss]).set_params(tol=1e-7)
    for solver in ("newton", "dual"):
        path = clone(model).set_params(solver=solver).fit_path(X, y, [0.003, 0.001, 0.01])
        assert [each.C for each in path] == [0.003, 0.001, 0.01]
        for each in path:
            alone = clone(model).set_params(C=each.C).fit(X, y)
            assert each.converged_
            np.testing.assert_allclose(each.predict(X), alone.predict(X), atol=1e-3)


@losses
def test_warm_start_at_the_optimum_does_next_to_nothing(loss: str) -> None:
    X, y = noisy_targets(500)
    model = clone(LOSSES[loss]).set_params(warm_start=True, tol=1e-6).fit(X, 100 * y + 1e4)
    cold = model.n_iter_
    again = model.set_params(tol=1e-4).fit(X, 100 * y + 1e4).n_iter_
    # Absolute losses have multipliers to find again.
    assert again <= (cold / 2 if loss in KINKS else 2)


@losses
def test_learning_from_batches_comes_near_the_fit(loss: str) -> None:
    X, y = noisy_targets(4000)
    y = 30 * y - 500
    model = clone(LOSSES[loss])
    for name in ("epsilon", "theta"):
        if hasattr(model, name):
            model.set_params(**{name: 5.0})
    whole = clone(model).fit(X, y)
    for k in range(0, 4000, 500):
        model.partial_fit(X[k : k + 500], y[k : k + 500])
    assert model.n_samples_seen_ == 4000
    assert np.isnan(model.relative_gap_)
    distance = np.abs(model.predict(X) - whole.predict(X)).mean()
    assert distance < 0.05 * np.abs(whole.predict(X) - y).mean()
    with pytest.raises(ValueError, match="`fit_intercept` has changed"):
        model.set_params(fit_intercept=False).partial_fit(X, y)


def test_copies_and_files_predict_the_same(tmp_path: Path) -> None:
    X, y = noisy_targets()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for model in LOSSES.values():
        fitted = clone(model).fit(frame, y)
        learnt = clone(model).partial_fit(frame, y)
        for each in (fitted, learnt):
            each.save(tmp_path / "model.wm")
            loaded = load_model(tmp_path / "model.wm")
            for twin in (copy.deepcopy(each), pickle.loads(pickle.dumps(each)), loaded):
                np.testing.assert_array_equal(twin.predict(frame), each.predict(frame))
                assert twin.get_params() == each.get_params()
                assert list(twin.feature_names_in_) == list("abcdef")
        loaded.partial_fit(frame, y)
        learnt.partial_fit(frame, y)
        np.testing.assert_array_equal(loaded.coef_, learnt.coef_)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    X, y = noisy_targets()
    model = LinearSVMRegressor().fit(X, y)
    model.coef_ = model.coef_[:3]
    with pytest.raises(ValueError, match="`coef_` must be of shape"):
        model.save(tmp_path / "model.wm")


def test_the_tools_around_a_regressor() -> None:
    X, y = make_regression(300, 5, noise=5.0, random_state=0)
    pipeline = make_pipeline(StandardScaler(), LinearSVMRegressor())
    search = GridSearchCV(pipeline, {"linearsvmregressor__C": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"linearsvmregressor__C": 10.0}
    assert search.score(X, y) > 0.95
    assert is_regressor(pipeline)


def test_wrong_settings_are_named() -> None:
    X, y = noisy_targets(50)
    for model, name in [
        (LinearSVMRegressor(epsilon=-0.1), "epsilon"),
        (LinearSVMRegressor(loss="hinge"), "loss"),
        (LinearSVMRegressor(C=0.0), "C"),
        (LinearODMRegressor(upsilon=1.5), "upsilon"),
        (LinearODMRegressor(theta=-1.0), "theta"),
        (LinearQuantileSVMRegressor(quantile=1.0), "quantile"),
    ]:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
            model.fit(X, y)
    for solver in ("svrg", "dsvrg", "csvrg"):
        for model in (LinearSVMRegressor(solver=solver), LinearQuantileSVMRegressor(solver=solver)):
            with pytest.raises(ValueError, match=f"solver='{solver}' is for a smooth loss"):
                model.fit(X, y)
    with pytest.raises(TypeError, match="pass solver='dual' instead"):
        LinearSVMRegressor(dual=True)
    with pytest.raises(TypeError, match="pass `C` instead"):
        LinearQuantileSVMRegressor(alpha=1.0)
    with pytest.raises(NotFittedError):
        LinearSVMRegressor().predict(X)


@losses
def test_limits_are_named(loss: str) -> None:
    X, y = noisy_targets()
    model = clone(LOSSES[loss]).set_params(solver="dual", max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="did not converge.*max_iter"):
        model.fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.relative_gap_ > 1e-9


@losses
def test_easy_targets(loss: str) -> None:
    X, _ = noisy_targets(100)
    model = clone(LOSSES[loss])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # All alike: the middle of the targets, exactly.
        model.fit(X, np.full(100, 7.0))
        np.testing.assert_allclose(model.predict(X), 7.0, atol=1e-9)
        # No noise at all.
        y = X @ np.arange(6.0) + 3.0
        assert clone(model).set_params(C=100.0).fit(X, y).score(X, y) > 0.99
