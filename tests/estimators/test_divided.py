"""Divided fits through the classifiers: the exact solution at the root, and every form of data."""

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from toy_data import circles

from reference.losses import make_loss
from tolerances import LAST_DIGITS
from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.estimators.kernel_machine import KernelMachine
from widemargin.kernel.divide.strategies import Strategy

STRATEGIES = (Stratified, Clustered, Cascade, Preserving)
strategies = pytest.mark.parametrize("kind", STRATEGIES)
not_of_features = pytest.mark.parametrize("kind", [Stratified, Clustered, Cascade])
MODELS = {
    "hinge": SVMClassifier(random_state=0),
    "squared_hinge": SVMClassifier(loss="squared_hinge", random_state=0),
    "odm": ODMClassifier(random_state=0),
}
losses = pytest.mark.parametrize("loss", MODELS)
levels = pytest.mark.parametrize("stop_level", [0, 1])


def model_of(loss: str, strategy: Strategy | str, **params: Any) -> KernelMachine:
    return clone(MODELS[loss]).set_params(strategy=strategy, **params)


@pytest.fixture(scope="module")
def overlapping() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(1100, 6, flip_y=0.2, class_sep=0.7, random_state=0)


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# The root


def objective(model: KernelMachine, loss: str, X: Any, y: Any, weights: np.ndarray) -> float:
    """Primal objective of a model's decision function, by the reference."""
    label = 2.0 * y - 1.0
    decision = model.decision_function(X)
    norm = float(model.dual_coef_[0] @ decision[model.support_])
    penalty = make_loss(loss, model.C, weights, 0.5, 0.2).primal_loss(label * decision)
    return 0.5 * norm + float(penalty.sum())


@pytest.mark.parametrize("kind", [Stratified, Clustered])
@losses
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_root_meets_the_exact_objective(
    kind: type, loss: str, fit_intercept: bool, weighted: bool, overlapping: tuple
) -> None:
    X, y = overlapping
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 1100) if weighted else np.ones(1100)
    params = {"C": 3.0, "fit_intercept": fit_intercept}
    exact = model_of(loss, "exact", **params, tol=1e-5).fit(X, y, weights)
    divided = model_of(loss, kind(levels=2, fan_in=3), **params).fit(X, y, weights)
    assert divided.level_ == 0
    assert divided.converged_
    assert divided.relative_gap_ <= 1e-3
    best = objective(exact, loss, X, y, weights)
    found = objective(divided, loss, X, y, weights)
    assert best * (1 - 1e-5) <= found <= best * (1 + 1e-3)
    assert divided.history_["objective"][-1] == pytest.approx(found, rel=1e-9)
    assert divided.support_part_ is None
    assert divided.routing_ is None


@losses
def test_small_roots_are_exact_to_the_last_digit(loss: str) -> None:
    X, y = circles(200)
    exact = model_of(loss, "exact", tol=LAST_DIGITS).fit(X, y)
    for kind in (Stratified, Clustered):
        divided = model_of(loss, kind(levels=2, fan_in=2)).fit(X, y)
        np.testing.assert_allclose(
            divided.decision_function(X), exact.decision_function(X), atol=1e-7
        )


@strategies
@losses
def test_early_levels_classify(kind: type, loss: str) -> None:
    X, y = circles(480)
    model = model_of(loss, kind(levels=2, fan_in=2, stop_level=2)).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.95
    assert model.support_part_.max() == 3
    assert (model.routing_ is not None) == (kind is Clustered)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sodm", "stratified"),
        ("stratified", "stratified"),
        ("dc", "clustered"),
        ("clustered", "clustered"),
        ("cascade", "cascade"),
        ("dip", "preserving"),
        ("preserving", "preserving"),
        ("auto", "exact"),
        ("exact", "exact"),
    ],
)
def test_names(name: str, expected: str) -> None:
    X, y = circles()
    assert ODMClassifier(strategy=name).fit(X, y).strategy_ == expected


def test_auto_divides_large_sets() -> None:
    from widemargin.kernel.divide.driver import resolve_strategy

    assert resolve_strategy("auto", 100_000, "Name") is None
    with pytest.warns(UserWarning, match=r"Name divides 100001 .* into 16 clusters .*'exact'"):
        strategy = resolve_strategy("auto", 100_001, "Name")
    assert isinstance(strategy, Clustered)
    plan = strategy.plan(100_001)
    assert (plan.levels, plan.stop_level) == (2, 2)
    assert resolve_strategy("exact", 10**7, "Name") is None


# Several classes


@strategies
@levels
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_several_classes_are_binary_problems(
    kind: type, stop_level: int, scheme: str, iris: tuple
) -> None:
    """Each as if it were fitted alone, divided in its own way."""
    X, y = iris
    params = {"gamma": 0.3, "fit_intercept": True}
    strategy = kind(levels=1, fan_in=2, stop_level=stop_level)
    shape = {"multi_class": scheme, "decision_function_shape": scheme}
    together = model_of("odm", strategy, **params, **shape).fit(X, y)
    columns = together.decision_function(X)
    if scheme == "ovr":
        tasks = [(np.arange(150), y == k) for k in range(3)]
    else:
        pairs = [np.flatnonzero((y == i) | (y == j)) for i, j in combinations(range(3), 2)]
        tasks = [(rows, y[rows] == y[rows].min()) for rows in pairs]
    for k, (rows, target) in enumerate(tasks):
        alone = model_of("odm", strategy, **params).fit(X[rows], target)
        np.testing.assert_allclose(columns[:, k], alone.decision_function(X), atol=1e-10)
        mine = together.history_["problem"] == k
        np.testing.assert_array_equal(
            together.history_["objective"][mine], alone.history_["objective"]
        )
    assert together.score(X, y) > 0.85


# Forms of data


@not_of_features
@levels
@pytest.mark.parametrize("form", ["precomputed", "callable"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kernel_values_are_the_kernel(
    kind: type, stop_level: int, form: str, fit_intercept: bool
) -> None:
    X, y = circles(160)
    Z, _ = circles(50, seed=3)
    strategy = kind(levels=1, fan_in=3, stop_level=stop_level)
    params = {"fit_intercept": fit_intercept, "tol": 1e-9}
    by_name = model_of("hinge", strategy, kernel="poly", coef0=1.0, gamma=1.0, **params).fit(X, y)

    def cubic(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return (A @ B.T + 1.0) ** 3

    if form == "callable":
        model = model_of("hinge", strategy, kernel=cubic, **params).fit(X, y)
        decision = model.decision_function(Z)
    else:
        model = model_of("hinge", strategy, kernel="precomputed", **params).fit(cubic(X, X), y)
        decision = model.decision_function(cubic(Z, X))
    np.testing.assert_allclose(decision, by_name.decision_function(Z), atol=1e-5)
    assert model.history_["largest_part"].tolist() == by_name.history_["largest_part"].tolist()


@strategies
@levels
@losses
def test_sparse_rows_are_rows(kind: type, stop_level: int, loss: str) -> None:
    X, y = circles(160)
    X[np.abs(X) < 0.2] = 0.0
    strategy = kind(levels=1, fan_in=3, stop_level=stop_level)
    model = model_of(loss, strategy, gamma=1.0, tol=1e-9)
    dense = clone(model).fit(X, y)
    sparse = clone(model).fit(sp.csr_matrix(X), y)
    expected = dense.decision_function(X)
    for fitted in (dense, sparse):
        for rows in (X, sp.csr_matrix(X)):
            np.testing.assert_allclose(fitted.decision_function(rows), expected, atol=1e-4)


@strategies
@levels
def test_single_precision(kind: type, stop_level: int) -> None:
    X, y = circles(160)
    X = X.astype(np.float32)
    strategy = kind(levels=1, fan_in=3, stop_level=stop_level)
    model = model_of("odm", strategy, gamma=1.0, tol=1e-6)
    single = clone(model).fit(X, y)
    double = clone(model).fit(X.astype(np.float64), y)
    assert single.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), atol=3e-3)


@strategies
@levels
def test_rows_without_weight_are_not_there(kind: type, stop_level: int) -> None:
    X, y = circles(160)
    weights = np.where(np.arange(160) % 4 == 0, 0.0, 2.0)
    kept = np.flatnonzero(weights)
    model = model_of("hinge", kind(levels=1, fan_in=2, stop_level=stop_level), gamma=1.0)
    with_zeros = clone(model).fit(X, y, weights)
    without = clone(model).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_array_equal(with_zeros.support_, kept[without.support_])
    np.testing.assert_array_equal(with_zeros.dual_coef_, without.dual_coef_)
    np.testing.assert_array_equal(with_zeros.decision_function(X), without.decision_function(X))


@strategies
def test_weight_c_is_the_sample_weight(kind: type) -> None:
    """Twice the weights at half the C is the same problem, part by part."""
    X, y = circles(120)
    strategy = kind(levels=1, fan_in=2, stop_level=1)
    plain = model_of("odm", strategy, C=2.0).fit(X, y)
    weighed = model_of("odm", strategy, C=0.5).fit(X, y, np.full(120, 4.0))
    np.testing.assert_allclose(weighed.dual_coef_, plain.dual_coef_, rtol=1e-9)


@strategies
@losses
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_parts_of_one_class(kind: type, loss: str, fit_intercept: bool) -> None:
    """A rare class reaches few parts, a cluster may be of one class alone."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(94, 2)), rng.normal(size=(6, 2)) + 9.0])
    y = np.repeat([0, 1], [94, 6])
    strategy = kind(levels=3, fan_in=2, stop_level=3)
    model = model_of(loss, strategy, fit_intercept=fit_intercept, gamma=0.1).fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert model.score(X[:94], y[:94]) > 0.9
    root = model_of(loss, kind(levels=3, fan_in=2), fit_intercept=fit_intercept, gamma=0.1)
    assert root.fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_rows_that_are_all_the_same(kernel: str) -> None:
    y = np.arange(40) % 2
    X = np.ones((40, 40)) if kernel == "precomputed" else np.ones((40, 3))
    strategy = Clustered(levels=1, fan_in=2, stop_level=1)
    model = model_of("odm", strategy, kernel=kernel).fit(X, y)
    assert len(set(model.predict(X))) == 1


# Warm starts


@pytest.mark.parametrize("kind", [Stratified, Clustered])
@losses
def test_warm_start_at_the_solution(kind: type, loss: str, overlapping: tuple) -> None:
    """The leaves start from the solution of the whole, and the root ends where it was."""
    X, y = overlapping
    model = model_of(loss, kind(levels=1, fan_in=2), warm_start=True).fit(X, y)
    best, moved = model.history_["objective"][-1], model.history_["movement"][0]
    assert moved == 1.0  # from zero
    model.fit(X, y)
    assert model.converged_
    assert model.history_["movement"][0] < 0.9
    assert model.history_["objective"][-1] == pytest.approx(best, rel=1e-3)


def test_warm_start_from_one_strategy_to_the_next() -> None:
    """Also out of the new box, to other labels, rows and numbers of classes."""
    X, y = circles(160)
    model = SVMClassifier(C=100.0, warm_start=True, random_state=0)
    exact = SVMClassifier(C=0.5, tol=LAST_DIGITS).fit(X, y).decision_function(X)
    for kind in (*STRATEGIES, Stratified):
        for stop_level in (1, 0):
            strategy = kind(levels=1, fan_in=2, stop_level=stop_level)
            model.set_params(C=100.0, strategy="exact").fit(X, y)
            model.set_params(C=0.5, strategy=strategy).fit(X, y)
            assert model.converged_
            assert model.score(X, y) > 0.95
    np.testing.assert_allclose(model.decision_function(X), exact, atol=1e-7)
    assert model.fit(X, 1 - y).score(X, 1 - y) > 0.95
    assert model.fit(X[::2], y[::2]).score(X, y) > 0.95
    assert model.fit(X, np.arange(160) % 3).n_support_.size == 3


# Searches


def test_search_over_strategies_and_their_levels() -> None:
    X, y = circles(200)
    grid = [
        {"strategy": [Stratified(fan_in=2)], "strategy__levels": [1, 2], "strategy__n_strata": [4]},
        {"strategy": ["exact", "dc"]},
        {"strategy": [Clustered(levels=1)], "strategy__stop_level": [0, 1]},
    ]
    search = GridSearchCV(ODMClassifier(), grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert search.cv_results_["mean_test_score"].min() > 0.9


# Anything


@st.composite
def divided_fits(draw: st.DrawFn) -> tuple[KernelMachine, np.ndarray, np.ndarray, Any]:
    """Small sets with copies, few or many classes, in any strategy, kernel and scheme."""
    n_rows, seed = draw(st.integers(8, 60)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, draw(st.integers(1, 3))))
    if draw(st.booleans()):
        X = np.round(X)
    n_classes = draw(st.integers(2, 3))
    y = (
        np.arange(n_rows) % n_classes
        if draw(st.booleans())
        else rng.integers(n_classes, size=n_rows)
    )
    assume(len(np.unique(y)) > 1)
    kind = draw(st.sampled_from(STRATEGIES))
    n_levels, fan_in = draw(st.integers(0, 2)), draw(st.integers(2, 3))
    smallest = min(np.bincount(y)[np.bincount(y) > 0])
    assume(fan_in**n_levels <= smallest)
    stop_level = draw(st.integers(0, n_levels))
    strategy = kind(n_levels, fan_in, stop_level, printed=draw(st.booleans()))
    model = model_of(
        draw(st.sampled_from(sorted(MODELS))),
        strategy,
        kernel=draw(st.sampled_from(["rbf", "linear", "laplacian"])),
        C=draw(st.sampled_from([1e-3, 1.0, 1e3])),
        fit_intercept=draw(st.booleans()),
        multi_class=draw(st.sampled_from(["ovr", "ovo"])),
        n_jobs=1,
    )
    weights = rng.choice([0.5, 1.0, 3.0], size=n_rows) if draw(st.booleans()) else None
    return model, X, y, weights


@settings(max_examples=40)
@given(divided_fits())
def test_any_divided_fit(fit: tuple) -> None:
    """Finite numbers, attributes that belong together, the same on two threads."""
    model, X, y, weights = fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, weights)
        again = clone(model).set_params(n_jobs=2).fit(X, y, weights)
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(again.decision_function(X), decision)
    assert np.all(np.isfinite(decision))
    assert set(model.predict(X)) <= set(y)
    assert model.n_support_.sum() == model.support_.size == model.dual_coef_.shape[1]
    assert np.all(np.diff(model.support_) > 0)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.history_["level"].min() == model.level_
    n_problems = len(model.dual_coef_)
    assert np.array_equal(np.unique(model.history_["problem"]), np.arange(n_problems))
    if model.support_part_ is not None:
        assert model.support_part_.shape == model.dual_coef_.shape
        assert np.all(model.support_part_[model.dual_coef_ != 0] >= 0)
