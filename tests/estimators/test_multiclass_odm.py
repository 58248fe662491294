"""MulticlassODMClassifier solves the problem it states, and keeps scikit-learn's contract."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from linear_models import noisy_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from multiclass_oracle import (
    margin_distribution,
    margin_distribution_optimum,
    margins,
)
from widemargin import LinearODMClassifier, MulticlassODMClassifier
from widemargin.core.progress import FitProgress
from widemargin.multiclass import fit as multiclass_fit

SOLVERS = ["dual", "proximal"]
solvers = pytest.mark.parametrize("solver", SOLVERS)


@parametrize_with_checks(
    [
        MulticlassODMClassifier(),
        MulticlassODMClassifier(solver="proximal", warm_start=True),
        MulticlassODMClassifier(class_weight="balanced", intercept_scaling=10.0, lam=100.0),
    ]
)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def tight(**settings: object) -> MulticlassODMClassifier:
    settings = {"tol": 1e-7, "max_iter": 100_000, "random_state": 0, "C": 0.5, **settings}
    return MulticlassODMClassifier(**settings)


def weights_of(model: MulticlassODMClassifier, X: object) -> tuple[np.ndarray, np.ndarray]:
    """Weights and rows with the constant feature last."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    scaling = model.intercept_scaling if model.fit_intercept else 1.0
    W = np.column_stack([coef, model.intercept_ / scaling])
    return W, np.column_stack([X, np.full(len(X), scaling)])


def primal(model: MulticlassODMClassifier, X: object, y: np.ndarray, weight: object = 1.0) -> float:
    W, rows = weights_of(model, X)
    bound, codes = model.C * np.ones(len(y)) * weight, np.searchsorted(model.classes_, y)
    return margin_distribution(W, rows, codes, bound, model.theta, model.upsilon)


# The problem


@solvers
@pytest.mark.parametrize("scaling", [0.0, 1.0, 3.0])
def test_the_model_solves_its_own_convex_problem(solver: str, scaling: float) -> None:
    X, y = noisy_classes(4, n_rows=50)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    weights[:5] = 0.0
    intercept = {"fit_intercept": scaling > 0, "intercept_scaling": scaling or 1.0}
    settings = {"solver": solver, "theta": 0.1, "upsilon": 0.8, "C": 2.0, **intercept}
    model = tight(**settings, class_weight={1: 3.0}).fit(X, y, weights)
    total = weights * np.where(y == 1, 3.0, 1.0)
    value = primal(model, X, y, total)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    assert model.objectives_[-1] == model.objective_
    assert np.all(np.diff(model.objectives_) < 0)
    W, rows = weights_of(model, X)
    rows[:, -1] = scaling
    _, rivals = margins(rows @ W.T, y)
    best = margin_distribution_optimum(rows, y, 4, 2.0 * total, 0.1, 0.8, rivals)
    assert value == pytest.approx(best, rel=1e-6)
    assert model.relative_gap_ <= 1e-7
    assert model.dual_gap_ <= 1e-7 * value
    assert model.converged_
    assert model.solver_ == solver
    assert model.n_rounds_ == model.history_["round"][-1] + 1 > 1
    assert model.n_iter_ == model.history_["iteration"][-1]


@pytest.mark.parametrize("upsilon", [1e-9, 0.3])
def test_two_classes_are_the_binary_machine_of_twice_the_c(upsilon: float) -> None:
    X, y = noisy_classes(2)
    ours = tight(upsilon=upsilon, theta=0.1).fit(X, y)
    binary = LinearODMClassifier(C=1.0, upsilon=upsilon, theta=0.1, tol=1e-9).fit(X, y)
    assert ours.coef_.shape == (1, 10)
    np.testing.assert_allclose(ours.coef_, binary.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, binary.intercept_, atol=2e-4)
    assert ours.n_rounds_ == 1
    # ½(‖w₀‖² + ‖w₁‖²) is a quarter of ‖w₁ − w₀‖²
    assert 2 * ours.objective_ == pytest.approx(binary.history_["primal"][-1], rel=1e-6)


def test_without_weight_of_large_margins_the_problem_is_convex() -> None:
    X, y = noisy_classes(4, n_rows=50)
    model = tight(upsilon=1e-9).fit(X, y)
    rows = np.column_stack([X, np.ones(50)])
    best = margin_distribution_optimum(rows, y, 4, np.full(50, 0.5), 0.2, 1e-9)
    assert model.objective_ == pytest.approx(best, rel=1e-6)


def test_lam_is_the_weight_of_the_mean_loss() -> None:
    X, y = noisy_classes(3, n_rows=60)
    weight = np.linspace(0.5, 2.0, 60)
    C = 30.0 / (weight.sum() * 0.8**2)
    by_lam = MulticlassODMClassifier(lam=30.0).fit(X, y, weight)
    by_C = MulticlassODMClassifier(C=C).fit(X, y, weight)
    np.testing.assert_array_equal(by_lam.coef_, by_C.coef_)


# Forms of rows and weights


@solvers
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forms_of_rows_give_one_solution(solver: str, kind: object, dtype: type) -> None:
    X, y = noisy_classes(4, n_rows=100)
    X[np.abs(X) < 0.5] = 0
    given = kind(X.astype(dtype))  # type: ignore[operator]
    model = tight(solver=solver).fit(given, y)
    expected = tight(solver=solver).fit(X, y)
    assert primal(model, X, y) == pytest.approx(primal(expected, X, y), rel=1e-6)
    np.testing.assert_allclose(
        model.decision_function(given), expected.decision_function(X), atol=5e-3
    )


@solvers
def test_small_sets_do_not_know_order_and_copies(solver: str) -> None:
    X, y = noisy_classes(4, n_rows=100)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight.astype(int)))
    weighted = tight(solver=solver, tol=1e-3).fit(X, y, weight)
    repeated = tight(solver=solver, tol=1e-3).fit(X[order], y[order])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)


def test_larger_sets_do_not_know_them_within_tol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiclass_fit, "CANONICAL_VALUES", 0)
    X, y = noisy_classes(4, n_rows=100)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight.astype(int)))
    weighted = tight(tol=1e-6).fit(X, y, weight)
    repeated = tight(tol=1e-6).fit(X[order], y[order])
    assert not np.array_equal(weighted.coef_, repeated.coef_)
    assert primal(weighted, X, y, weight) == pytest.approx(primal(repeated, X, y, weight), rel=2e-6)


@solvers
def test_threads_change_nothing(solver: str) -> None:
    X, y = noisy_classes(8, n_rows=200)
    one, two = (tight(solver=solver, tol=1e-3, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert one.history_["primal"].tolist() == two.history_["primal"].tolist()


def test_little_memory_gives_the_same_objective() -> None:
    X, y = noisy_classes(8, n_rows=100)
    low, high = (tight(solver="dual", memory_limit=each).fit(X, y) for each in (1000, "1GiB"))
    assert low.objective_ == pytest.approx(high.objective_, rel=1e-6)
    with pytest.raises(ValueError, match="memory_limit"):
        tight(solver="proximal", memory_limit=1000).fit(X, y)


def test_auto_accelerates_where_c_is_large() -> None:
    X, y = noisy_classes(4, n_rows=100)
    assert MulticlassODMClassifier(C=1e-3).fit(X, y).solver_ == "dual"
    assert MulticlassODMClassifier(C=10.0).fit(X, y).solver_ == "proximal"


# Limits, warm starts, interrupts


@pytest.mark.parametrize("limit", [{"max_iter": 3}, {"max_time": 1e-9}])
def test_a_fit_cut_short_warns(limit: dict) -> None:
    X, y = noisy_classes(4)
    (name,) = limit
    with pytest.warns(ConvergenceWarning, match=f"`{name}` was reached"):
        model = tight(C=10.0, **limit).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ <= 4
    assert model.objective_ == pytest.approx(primal(model, X, y), rel=1e-10)


@solvers
def test_a_warm_start_at_the_solution_changes_nothing(solver: str) -> None:
    X, y = noisy_classes(4)
    model = MulticlassODMClassifier(solver=solver, warm_start=True).fit(X, y)
    before, epochs = model.coef_, model.n_iter_
    # The weights of 'proximal' are not those of its multipliers, which a few epochs improve.
    again = model.fit(X, y).n_iter_
    assert again == 0 if solver == "dual" else again <= epochs / 20
    np.testing.assert_array_equal(model.coef_, before)
    other = model.set_params(C=0.5).fit(X, y)
    assert other.relative_gap_ <= 1e-3
    assert model.fit(X[:100], y[:100]).converged_  # other rows: from the beginning


def test_an_interrupt_leaves_the_last_state(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy_classes(4)
    seen = []

    def interrupt(self: FitProgress, iteration: int, gap: float) -> None:
        seen.append(iteration)
        if iteration > 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report", interrupt)
    model = tight(C=10.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert max(seen) > 20
    assert np.isnan(model.relative_gap_)
    assert np.isnan(model.objective_)
    assert not model.converged_
    assert np.abs(model.coef_).max() > 0


# Parameters and copies


def test_every_parameter_survives_a_clone() -> None:
    changed = {
        "C": 3.0,
        "lam": 2.0,
        "upsilon": 0.1,
        "theta": 0.3,
        "fit_intercept": False,
        "intercept_scaling": 2.0,
        "solver": "dual",
        "calibrate": "isotonic",
        "tol": 1e-4,
        "max_iter": 77,
        "max_time": 12.0,
        "class_weight": "balanced",
        "random_state": 3,
        "n_jobs": 1,
        "memory_limit": "10MB",
        "warm_start": True,
        "verbose": 1,
    }
    defaults = MulticlassODMClassifier().get_params()
    assert set(changed) == set(defaults)  # a new parameter must be added here
    assert clone(MulticlassODMClassifier(**changed)).get_params() == changed
    assert all(defaults[name] != value for name, value in changed.items())


@pytest.mark.parametrize(
    "wrong", [{"solver": "newton"}, {"upsilon": 0.0}, {"theta": 1.0}, {"C": 0.0}, {"tol": 0.0}]
)
def test_wrong_parameters_are_refused(wrong: dict) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        MulticlassODMClassifier(**wrong).fit(np.eye(4), [0, 1, 2, 3])


def test_copies_predict_the_same_and_names_are_kept() -> None:
    X, y = noisy_classes(3, n_rows=100)
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(10)])
    labels = np.array(["ant", "bee", "cat"])[y]
    model = MulticlassODMClassifier(calibrate="sigmoid").fit(frame, labels)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(copied.predict(frame), model.predict(frame))
        np.testing.assert_array_equal(copied.predict_proba(frame), model.predict_proba(frame))
    top = model.predict_top_k(frame, 2)
    np.testing.assert_array_equal(top[:, 0], model.predict(frame))
    np.testing.assert_array_equal(
        model.classes_[model.predict_proba(frame).argmax(axis=1)], model.predict(frame)
    )
