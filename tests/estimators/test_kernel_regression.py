"""Kernel regressors: against Clarabel, and scikit-learn's contract."""

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import widemargin
from oracle import solve_regression_with_clarabel
from reference.regression import objectives
from widemargin import (
    Cascade,
    Clustered,
    ODMRegressor,
    Preserving,
    QuantileSVMRegressor,
    Stratified,
    SVMRegressor,
)
from widemargin.core.regression_set import weighted_quantile

# A regressor, and its problem in the oracle's words.
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "absolute": (
        SVMRegressor(epsilon=0.3),
        {"loss": "epsilon_insensitive", "band": 0.3},
    ),
    "squared": (
        SVMRegressor(loss="squared_epsilon_insensitive", epsilon=0.2),
        {"loss": "squared_epsilon_insensitive", "band": 0.2},
    ),
    "odm": (
        ODMRegressor(upsilon=0.4, theta=0.3),
        {"loss": "odm", "band": 0.3, "upsilon": 0.4},
    ),
    "quantile": (
        QuantileSVMRegressor(quantile=0.8),
        {"loss": "pinball", "quantile": 0.8},
    ),
}
every_case = pytest.mark.parametrize("case", CASES)


def data(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return make_friedman1(n, noise=1.0, random_state=seed)  # type: ignore[no-any-return]


def model_of(case: str, **parameters: Any) -> Any:
    model = copy.deepcopy(CASES[case][0])
    return model.set_params(**{"C": 3.0, "gamma": 1.5, **parameters})


# Models of an unfinished level. A row given twice may go to two parts, a row of weight two cannot.
UNFINISHED = [
    SVMRegressor(strategy=Stratified(levels=1, fan_in=2, stop_level=1)),
    ODMRegressor(strategy=Clustered(levels=1, fan_in=2, stop_level=1)),
]


def expected_failures(estimator: object) -> dict[str, str]:
    if not any(estimator is each for each in UNFINISHED):
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "weights and copies make other parts"
        for kind in ("dense", "sparse")
    }


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        SVMRegressor(),
        SVMRegressor(loss="squared_epsilon_insensitive"),
        SVMRegressor("linear", loss="squared_epsilon_insensitive"),
        SVMRegressor("precomputed"),
        SVMRegressor(fit_intercept=False, solver="coordinate"),
        ODMRegressor(),
        ODMRegressor("poly", coef0=1.0, warm_start=True),
        QuantileSVMRegressor(),
        SVMRegressor(strategy=Stratified(levels=1, fan_in=2)),
        *UNFINISHED,
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@every_case
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_meets_the_oracle(case: str, fit_intercept: bool, weighted: bool) -> None:
    X, y = data()
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    model = model_of(case, fit_intercept=fit_intercept, tol=1e-8).fit(X, y, weight)
    middle = np.average(y, weights=weight)
    if case == "quantile":
        middle = weighted_quantile(y, 0.8, weight)
    middle = middle if fit_intercept else 0.0
    K = rbf_kernel(X, X, 1.5) + float(fit_intercept)
    expected = solve_regression_with_clarabel(
        K, y - middle, C=3.0, weights=weight, **CASES[case][1]
    )
    assert model.history_["primal"][-1] == pytest.approx(expected.objective, rel=1e-6)
    assert model.relative_gap_ <= 1e-8
    assert model.converged_
    np.testing.assert_allclose(model.predict(X), expected.margins + middle, atol=1e-4)


@every_case
@pytest.mark.parametrize("solver", ["blocks", "newton"])
@pytest.mark.parametrize("form", ["plain", "weighted without intercept", "single precision"])
def test_gap_is_that_of_the_stated_problem(case: str, solver: str, form: str) -> None:
    """Both objectives again, of a fit that ends early, from its net duals and a float64 matrix."""
    if solver == "newton" and case in ("absolute", "quantile"):
        pytest.skip("has no curvature")
    X, y = data(600)
    weight = np.ones(len(y))
    model = model_of(case, gamma=0.5, solver=solver, max_iter=2, tol=1e-9)
    if form == "weighted without intercept":
        weight = np.random.default_rng(1).uniform(0.0, 3.0, len(y))
        model.set_params(fit_intercept=False)
    if form == "single precision":
        X = X.astype(np.float32)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, weight)
    middle = 0.0
    if model.fit_intercept:
        middle = weighted_quantile(y, 0.8, weight) if case == "quantile" else np.mean(y)
    net_dual = np.zeros(len(y))
    net_dual[model.support_] = model.dual_coef_[0]
    K = rbf_kernel(X.astype(np.float64), gamma=0.5) + model.kernel_constant_
    primal, dual = objectives(K, y - middle, net_dual, 3.0 * weight, **CASES[case][1])
    last_digits = 1e-12 if X.dtype == np.float64 else 1e-6
    assert model.relative_gap_ > 1e-4
    assert model.dual_gap_ == pytest.approx(primal - dual, abs=last_digits * primal)
    assert model.relative_gap_ == pytest.approx((primal - dual) / primal, abs=last_digits)


def test_close_to_scikit_learns_svr() -> None:
    """Which differs by its free intercept, of which the penalty leaves little."""
    X, y = data(400)
    ours = SVMRegressor(C=5.0, epsilon=0.2, gamma=1.0, tol=1e-6).fit(X, y)
    theirs = SVR(C=5.0, epsilon=0.2, gamma=1.0, tol=1e-6).fit(X, y)
    assert np.abs(ours.predict(X) - theirs.predict(X)).max() < 0.02 * y.std()
    assert ours.dual_coef_.shape == (1, len(ours.support_))
    assert ours.n_support_.tolist() == [len(ours.support_)]


@every_case
def test_sparse_rows_threads_and_precision(case: str) -> None:
    X, y = data(600)
    X[X < 0.3] = 0.0
    dense = model_of(case, n_jobs=1).fit(X, y)
    for other in (
        model_of(case, n_jobs=1).fit(sp.csr_matrix(X), y),
        model_of(case, n_jobs=2).fit(X, y),
    ):
        np.testing.assert_allclose(other.predict(X), dense.predict(X), atol=1e-8)
    single = model_of(case).fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(single.predict(X), dense.predict(X), atol=1e-3 * np.std(y))
    two = model_of(case, n_jobs=2, solver="blocks").fit(X, y)
    one = model_of(case, n_jobs=1, solver="blocks").fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@every_case
def test_weights_are_copies(case: str) -> None:
    X, y = data(120)
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = model_of(case).fit(X, y, weight)
    rows = np.repeat(np.arange(len(y)), weight)
    copied = model_of(case).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-6)
    assert not np.isin(weighted.support_, np.flatnonzero(weight == 0)).any()


@every_case
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_targets_far_from_zero_and_of_any_unit(case: str, fit_intercept: bool) -> None:
    """Adding a constant adds it to predictions; another unit is another ε, θ and C."""
    X, y = data()
    model = model_of(case, fit_intercept=fit_intercept).fit(X, y)
    if fit_intercept:
        moved = model_of(case).fit(X, y + 1e4)
        np.testing.assert_allclose(moved.predict(X) - 1e4, model.predict(X), atol=1e-6)
    unit = {
        name: 1000 * value
        for name, value in model.get_params().items()
        if name in ("epsilon", "theta")
    }
    if case in ("absolute", "quantile"):
        unit["C"] = 3000.0
    scaled = model_of(case, fit_intercept=fit_intercept, **unit).fit(X, 1000 * y)
    np.testing.assert_allclose(scaled.predict(X), 1000 * model.predict(X), rtol=1e-6)


def test_quantiles_hold_their_share() -> None:
    X, y = data(2000)
    below = [
        float(np.mean(y <= QuantileSVMRegressor(quantile=q, C=1.0).fit(X, y).predict(X)))
        for q in (0.1, 0.5, 0.9)
    ]
    assert below == pytest.approx([0.1, 0.5, 0.9], abs=0.02)


def test_deviation_band_without_band_is_kernel_ridge() -> None:
    X, y = data()
    model = ODMRegressor(theta=0.0, C=2.0, gamma=1.0, fit_intercept=False, tol=1e-10).fit(X, y)
    K = rbf_kernel(X, X, 1.0)
    ridge = K @ np.linalg.solve(K + np.eye(len(y)) / 2.0, y)
    np.testing.assert_allclose(model.predict(X), ridge, atol=1e-6)


@every_case
@pytest.mark.parametrize(
    "strategy",
    [
        Stratified(levels=1),
        Clustered(levels=1),
        Clustered(levels=2, fan_in=2),
    ],
    ids=lambda each: type(each).__name__,
)
def test_divided_fits_end_at_the_same_optimum(case: str, strategy: Any) -> None:
    X, y = data(400)
    exact = model_of(case, tol=1e-5).fit(X, y)
    divided = model_of(case, tol=1e-5, strategy=strategy).fit(X, y)
    assert divided.level_ == 0
    assert divided.relative_gap_ <= 1e-5
    np.testing.assert_allclose(divided.predict(X), exact.predict(X), atol=0.05 * y.std())


@pytest.mark.parametrize("method", [Stratified, Clustered, Cascade, Preserving])
def test_unfinished_levels_predict(method: Any, tmp_path: Path) -> None:
    X, y = data(1200)
    strategy = method(levels=1, stop_level=1)
    model = SVMRegressor(C=10.0, strategy=strategy, checkpoint=tmp_path / "levels").fit(X, y)
    assert model.level_ == 1
    assert np.isnan(model.relative_gap_)
    assert model.score(X, y) > 0.8
    assert any((tmp_path / "levels").rglob("*.wml"))
    model.save(tmp_path / "model.wm")
    loaded = widemargin.load_model(tmp_path / "model.wm")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    again = SVMRegressor(C=10.0, strategy=strategy, checkpoint=tmp_path / "levels").fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@every_case
def test_models_are_kept(case: str, tmp_path: Path) -> None:
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    model = model_of(case).fit(frame, y)
    model.save(tmp_path / "model.wm")
    for other in (widemargin.load_model(tmp_path / "model.wm"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
        assert other.get_params() == model.get_params()
        assert other.feature_names_in_.tolist() == list(frame.columns)
    assert is_regressor(model)


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    X, y = data(60)
    model = SVMRegressor().fit(X, y)
    for name, wrong in (
        ("intercept_", np.zeros(2)),
        ("dual_coef_", np.zeros((2, len(model.support_)))),
        ("support_vectors_", model.support_vectors_[:, :2]),
    ):
        bad = copy.copy(model)
        setattr(bad, name, wrong)
        with pytest.raises(ValueError, match=name):
            bad.save(tmp_path / "bad.wm")


@every_case
def test_paths_are_fits(case: str) -> None:
    X, y = data(300)
    models = model_of(case, tol=1e-6).fit_path(X, y, [10.0, 0.1, 1.0])
    for C, found in zip([10.0, 0.1, 1.0], models, strict=True):
        alone = model_of(case, tol=1e-6, C=C).fit(X, y)
        assert found.C == C
        assert found.converged_
        np.testing.assert_allclose(found.predict(X), alone.predict(X), atol=1e-4 * y.std())


@every_case
def test_warm_starts(case: str) -> None:
    X, y = data(1500)
    model = model_of(case, warm_start=True, solver="blocks").fit(X, y)
    first = model.n_iter_
    again = model.fit(X, y)
    assert again.n_iter_ < first
    assert again.converged_


def test_searches_by_r2() -> None:
    X, y = data()
    search = GridSearchCV(SVMRegressor(), {"C": [0.1, 10.0], "epsilon": [0.1, 5.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 10.0, "epsilon": 0.1}


def test_callable_and_precomputed_kernels() -> None:
    X, y = data()
    by_name = SVMRegressor(gamma=1.0).fit(X, y)

    def kernel(A: Any, B: Any) -> Any:
        return rbf_kernel(A, B, 1.0)

    by_function = SVMRegressor(kernel).fit(X, y)
    given = SVMRegressor("precomputed").fit(kernel(X, X), y)
    for found in (by_function.predict(X), given.predict(kernel(X, X))):
        np.testing.assert_allclose(found, by_name.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="square matrix"):
        SVMRegressor("precomputed").fit(kernel(X, X)[:, :50], y)


def test_what_is_refused() -> None:
    X, y = data(50)
    with pytest.raises(ValueError, match="1d array"):
        SVMRegressor().fit(X, np.column_stack([y, y]))
    with pytest.warns(DataConversionWarning):
        SVMRegressor().fit(X, y[:, None])
    with pytest.raises(ValueError, match="curvature"):
        SVMRegressor(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="solves this training set as a whole"):
        SVMRegressor().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        SVMRegressor(strategy="dc").fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="keeps no row out of 50"):
        SVMRegressor(strategy=Stratified(levels=1, validation_fraction=0.01)).fit(X, y)
    with pytest.raises(TypeError, match="memory_limit"):
        SVMRegressor(cache_size=200)
    with pytest.raises(ValueError, match="'quantile'"):
        QuantileSVMRegressor(quantile=1.0).fit(X, y)
    with pytest.raises(AttributeError, match="LinearSVMRegressor"):
        _ = SVMRegressor().fit(X, y).coef_
    with pytest.warns(ConvergenceWarning):
        SVMRegressor(max_iter=1, C=1e3, solver="coordinate").fit(*data(1500))


def test_constant_targets_need_no_support_vector() -> None:
    X, _ = data(50)
    model = SVMRegressor().fit(X, np.full(50, 7.0))
    assert model.support_.size == 0
    np.testing.assert_array_equal(model.predict(X), np.full(50, 7.0))


@pytest.mark.parametrize("form", ["dense", "sparse", "precomputed", "function"])
@pytest.mark.parametrize("loss", ["absolute", "odm", "quantile"])
def test_validation_rows_choose_the_level_by_the_mean_loss(loss: str, form: str) -> None:
    X, y = data(260)
    y = y + 50.0  # the middle of the targets matters
    X, X_val, y, y_val = X[:200], X[200:], y[:200], y[200:]
    settings = {"C": 5.0, "random_state": 0}
    model = {
        "absolute": SVMRegressor(**settings, epsilon=0.2),
        "odm": ODMRegressor(**settings, upsilon=0.5, theta=0.2),
        "quantile": QuantileSVMRegressor(**settings, quantile=0.8),
    }[loss].set_params(gamma=0.3)
    as_rows = X
    if form == "sparse":
        X, X_val = sp.csr_matrix(X), sp.csr_matrix(X_val)
    if form == "function":
        model.set_params(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3))
    if form == "precomputed":
        model.set_params(kernel="precomputed")
        X, X_val = rbf_kernel(as_rows, gamma=0.3), rbf_kernel(X_val, as_rows, gamma=0.3)
    levels = Clustered(levels=2, fan_in=2)
    chosen = clone(model).set_params(strategy=levels).fit(X, y, X_val=X_val, y_val=y_val)
    scores = chosen.history_["validation_score"].tolist()
    for level, score in zip(chosen.history_["level"], scores, strict=True):
        stopped = Clustered(levels=2, fan_in=2, stop_level=int(level))
        each = clone(model).set_params(strategy=stopped).fit(X, y)
        terms = replace(each._loss().terms(np.ones(len(y_val))), offset=y_val)
        assert score == pytest.approx(-terms.primal(each.predict(X_val)).mean(), rel=1e-5)
    tried = [*scores, np.inf]
    kept = next(k for k in range(len(scores)) if k + 1 == len(scores) or tried[k + 1] <= tried[k])
    assert chosen.level_ == chosen.history_["level"][kept]


def test_a_share_of_the_rows_is_kept_out() -> None:
    X, y = data(300)
    strategy = Stratified(levels=1, fan_in=2, validation_fraction=0.2)
    models = [
        SVMRegressor(C=5.0, strategy=strategy, random_state=seed).fit(X, y) for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    assert not np.array_equal(models[0].support_, models[2].support_)
    assert np.isfinite(models[0].history_["validation_score"]).all()
    assert models[0].history_["rows"].tolist() == [240] * len(models[0].history_["rows"])
    assert models[0].n_samples_fit_ == 300
