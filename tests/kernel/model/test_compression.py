"""The same decision on fewer points."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError

from tolerances import LAST_DIGITS
from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.model import basis_refit
from widemargin.kernel.model.compression import POINTS, compress

X, y = make_moons(600, noise=0.25, random_state=0)
X_new, y_new = make_moons(2000, noise=0.25, random_state=1)


def model_of(kind: type = ODMClassifier, **settings: Any) -> Any:
    return kind(C=10.0, gamma=8.0, random_state=0, **settings).fit(X, y)


@pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_more_points_are_closer_and_all_of_them_are_exact(kind: type, fit_intercept: bool) -> None:
    model = model_of(kind, fit_intercept=fit_intercept)
    n_support = len(model.support_)
    errors = [model.compress(n).compression_["error"] for n in (5, 20, 80, n_support)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-5
    whole = model.compress(n_support)
    np.testing.assert_allclose(
        whole.decision_function(X_new), model.decision_function(X_new), atol=1e-4
    )


def test_few_points_keep_the_accuracy() -> None:
    model = model_of()
    small = model.compress(60)
    assert len(small.support_) == 60
    assert small.score(X_new, y_new) >= model.score(X_new, y_new) - 0.01


def test_what_the_small_model_says_of_itself() -> None:
    model = model_of(fit_intercept=False)
    before = model.dual_coef_.copy()
    small = model.compress(40)
    np.testing.assert_array_equal(model.dual_coef_, before)  # a new model, the old one unchanged
    assert type(small) is type(model)
    assert small.get_params() == model.get_params()
    assert set(small.support_) <= set(model.support_)
    np.testing.assert_array_equal(small.support_vectors_, X[small.support_])
    np.testing.assert_array_equal(small.n_support_, np.bincount(y[small.support_], minlength=2))
    assert np.isnan(small.relative_gap_)
    assert np.isnan(small.dual_gap_)
    said = small.compression_
    assert (said["n_basis"], said["n_support_before"]) == (40, len(model.support_))
    f, g = (m.decision_function(model.support_vectors_) for m in (model, small))
    rms = np.sqrt(np.mean((f - g) ** 2) / np.mean(f**2))
    # The error is that of the points compared, all support vectors where there are few.
    assert len(model.support_) <= POINTS * 40
    assert said["error"] == pytest.approx(rms, rel=1e-6)
    assert said["largest_error"] == pytest.approx(np.abs(f - g).max(), rel=1e-6)
    same = np.mean(small.predict(model.support_vectors_) == model.predict(model.support_vectors_))
    assert said["same_labels"] == pytest.approx(same)


def test_same_seed_same_points_on_any_number_of_threads() -> None:
    one = model_of(n_jobs=1).compress(50)
    two = model_of(n_jobs=2).compress(50)
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    other = clone(one).set_params(random_state=1).fit(X, y).compress(50)
    assert not np.array_equal(one.support_, other.support_)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_several_classes_share_the_points(scheme: str) -> None:
    X, y = load_digits(return_X_y=True)
    model = ODMClassifier(gamma=1e-3, multi_class=scheme, random_state=0).fit(X[:800], y[:800])
    small = model.compress(300)
    assert small.dual_coef_.shape == (len(model.dual_coef_), 300)
    assert small.score(X[800:], y[800:]) > model.score(X[800:], y[800:]) - 0.05


def test_sparse_and_single_precision() -> None:
    dense = model_of().compress(50)
    sparse = ODMClassifier(C=10.0, gamma=8.0, random_state=0).fit(sp.csr_matrix(X), y).compress(50)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(
        sparse.decision_function(X_new), dense.decision_function(X_new), atol=1e-6
    )
    single = ODMClassifier(C=10.0, gamma=8.0, random_state=0).fit(X.astype(np.float32), y)
    assert single.compress(50).support_vectors_.dtype == np.float32


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("strategy", [Clustered(1, 4, 1), Stratified(1, 4, 1)])
def test_levels_become_one_function(strategy: object, fit_intercept: bool) -> None:
    model = model_of(strategy=strategy, fit_intercept=fit_intercept)
    small = model.compress(100)
    assert small.routing_ is None
    assert small.support_part_ is None
    assert small.score(X_new, y_new) > model.score(X_new, y_new) - 0.02


def test_function_as_kernel() -> None:
    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-8.0 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    by_name = model_of(tol=LAST_DIGITS).compress(50)
    by_function = model_of(kernel=kernel, tol=LAST_DIGITS).compress(50)
    np.testing.assert_allclose(
        by_function.decision_function(X_new), by_name.decision_function(X_new), atol=1e-6
    )
    with pytest.raises(ValueError, match="whole matrix"):
        model_of(kernel=kernel).set_params(memory_limit="10kB").compress(5)


def test_rows_that_coincide_are_one_point() -> None:
    rows = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
    labels = np.repeat([0, 1, 0], 20)
    model = SVMClassifier(C=10.0, gamma=5.0).fit(rows, labels)
    small = model.compress(len(model.support_))
    assert len(small.support_) <= 3
    np.testing.assert_array_equal(small.predict(rows), model.predict(rows))


@pytest.mark.parametrize("n_basis", [0, -1, 2.5, "ten"])
def test_number_of_points_that_makes_no_sense(n_basis: object) -> None:
    with pytest.raises(ValueError, match=r"`n_basis` must be .* at least 1; got"):
        model_of().compress(n_basis)


def test_more_points_than_there_are() -> None:
    model = model_of()
    assert len(model.compress(10_000).support_) <= len(model.support_)


def test_too_few_points_are_worth_a_warning() -> None:
    with pytest.warns(UserWarning, match="the same label as before. Take more points"):
        small = model_of().compress(2)
    assert small.compression_["same_labels"] < 0.9


def test_precomputed_is_refused() -> None:
    model = ODMClassifier("precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="keeps no rows to compress on"):
        model.compress(5)


def test_before_a_fit() -> None:
    with pytest.raises(NotFittedError):
        ODMClassifier().compress(5)


def test_coefficients_minimise_the_error_in_the_kernels_space() -> None:
    """With one point the projection is known: β = f(z) / κ(z, z) up to the points' pull."""
    rows = np.array([[0.0], [1.0]])
    coef = np.array([[1.0, 0.5]])
    kernel = Kernel("rbf", 1.0)
    gram = np.exp(-((rows - rows.T) ** 2))
    f = coef @ gram
    result = compress(kernel, rows, coef, lambda points: f[:, points], 1, 0, 1)
    z = int(result.basis[0])
    weight = 1.0 / (0.3 + np.abs(f[0]))
    weight /= weight.mean()
    expected = (f[0, z] + (weight * f[0]) @ gram[z]) / (gram[z, z] + (weight * gram[z]) @ gram[z])
    assert result.coef[0, 0] == pytest.approx(expected, rel=1e-8)


# Coefficients fitted to rows


def objective(model: Any, X: np.ndarray, y: np.ndarray, loss: Any) -> float:
    """Evaluate ½‖g‖² + C Σ loss(margin) of a model of two classes."""
    kernel = Kernel("rbf", model.gamma_)
    rows = as_rows(model.support_vectors_)
    coef = model.dual_coef_[0]
    margin = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    return float(0.5 * coef @ kernel.block(rows, rows) @ coef + model.C * loss(margin).sum())


LOSSES = {
    ODMClassifier: lambda m: 0.5 * np.maximum(0.8 - m, 0) ** 2 + 0.25 * np.maximum(m - 1.2, 0) ** 2,
    SVMClassifier: lambda m: np.maximum(1 - m, 0),
}


@pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])
@pytest.mark.parametrize("strategy", ["exact", Clustered(1, 4, 1), Stratified(1, 4, 1)])
def test_rows_make_the_objective_smaller(kind: type, strategy: Any) -> None:
    """Nearly as small as that of the exact model, once there are enough points."""
    model = model_of(kind, strategy=strategy, fit_intercept=False)
    near, best = model.compress(150), model.compress(150, X, y)
    np.testing.assert_array_equal(best.support_, near.support_)  # the same points
    exact = model_of(kind, strategy="exact", fit_intercept=False)
    values = [objective(each, X, y, LOSSES[kind]) for each in (exact, best, near)]
    assert values[1] <= values[2]
    assert values[1] < 1.01 * values[0]  # itself within 0.001
    few = [model.compress(20), model.compress(20, X, y)]
    before, after = (objective(each, X, y, LOSSES[kind]) for each in few)
    assert after < 0.95 * before
    assert best.compression_["converged"]
    assert best.compression_["n_rows"] == 600


def test_gradient_on_all_rows_vanishes_though_the_hessian_is_of_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = model_of(fit_intercept=False)
    whole = model.compress(20, X, y)
    monkeypatch.setattr(basis_refit, "HESSIAN_ROWS", 4)
    monkeypatch.setattr(basis_refit, "BLOCK_ROWS", 100)
    monkeypatch.setattr(basis_refit, "PIECE", 70)
    sampled = model.compress(20, X, y)
    assert sampled.compression_["converged"]
    values = [objective(each, X, y, LOSSES[ODMClassifier]) for each in (whole, sampled)]
    assert values[1] == pytest.approx(values[0], rel=1e-3)


def test_some_rows_stand_for_all() -> None:
    """Every row twice is the same problem as every row once."""
    model = model_of(fit_intercept=False)
    once = model.compress(30, X, y)
    twice = model.compress(30, np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = model.compress(30, X, y, sample_weight=np.ones(600))
    np.testing.assert_allclose(twice.dual_coef_, once.dual_coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.dual_coef_, once.dual_coef_, rtol=1e-12)


def test_rows_on_any_number_of_threads_and_in_single_precision() -> None:
    single = X.astype(np.float32)
    models = [
        ODMClassifier(C=10.0, gamma=8.0, n_jobs=n, random_state=0).fit(single, y) for n in (1, 2)
    ]
    one, two = (model.compress(50, single, y) for model in models)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert one.score(X_new, y_new) >= models[0].score(X_new, y_new) - 0.01


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_rows_of_several_classes(scheme: str) -> None:
    X, y = load_digits(return_X_y=True)
    model = SVMClassifier(gamma=1e-3, multi_class=scheme, random_state=0).fit(X[:800], y[:800])
    small = model.compress(150, X[:800], y[:800])
    assert small.score(X[800:], y[800:]) > model.compress(150).score(X[800:], y[800:]) - 0.01
    sparse = model.compress(150, sp.csr_matrix(X[:800]), y[:800])
    np.testing.assert_allclose(sparse.dual_coef_, small.dual_coef_, rtol=1e-4, atol=1e-6)


def test_rows_that_do_not_fit_are_refused() -> None:
    model = model_of()
    with pytest.raises(ValueError, match="X and y go together"):
        model.compress(5, X)
    with pytest.raises(ValueError, match="goes with X and y; got it alone"):
        model.compress(5, sample_weight=np.ones(600))
    with pytest.raises(ValueError, match=r"labels that were not trained on: \[2\]"):
        model.compress(5, X, y + 1)
    with pytest.raises(ValueError, match="has 1 features, but ODMClassifier is expecting 2"):
        model.compress(5, X[:, :1], y)


def test_points_that_memory_has_no_room_for() -> None:
    model = model_of().set_params(memory_limit="100kB")
    with pytest.raises(ValueError, match=r"100 points need .* enough for 64. Raise it"):
        model.compress(100)
    assert len(model.compress(60).support_) == 60
