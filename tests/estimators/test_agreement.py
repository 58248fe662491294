"""Agreement: with scikit-learn where the problems coincide, and of every way to the same model."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from oracle import solve_with_clarabel
from reference import kernels
from tolerances import LAST_DIGITS, SAME_DECISION
from widemargin import ODMClassifier, SVMClassifier, load_model

CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)


@pytest.fixture(scope="module")
def two_classes() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(150, 5, class_sep=0.5, flip_y=0.1, random_state=3)


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# scikit-learn, by objective


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_linear_svc(
    loss: str, fit_intercept: bool, C: float, sparse: bool, two_classes: tuple
) -> None:
    """LIBLINEAR penalises the intercept as we do, so the problems are the same."""
    X, y = two_classes
    weights = 1.0 + np.arange(len(y)) % 3
    ours = SVMClassifier("linear", loss=loss, C=C, fit_intercept=fit_intercept, tol=1e-9)
    ours.fit(sp.csr_matrix(X) if sparse else X, y, weights)
    constant = ours.kernel_constant_ or 1.0
    peer = LinearSVC(
        loss=loss,
        C=C,
        fit_intercept=fit_intercept,
        intercept_scaling=np.sqrt(constant),
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(X, y, weights)
    coef = (ours.dual_coef_ @ X[ours.support_])[0]

    def objective(w: np.ndarray, b: float) -> float:
        short = np.maximum(1 - (2 * y - 1) * (X @ w + b), 0)
        power = 1 if loss == "hinge" else 2
        return 0.5 * (w @ w + b * b / constant) + C * np.sum(weights * short**power)

    bias = float(peer.intercept_[0]) if fit_intercept else 0.0
    ours_found = objective(coef, ours.intercept_[0])
    theirs_found = objective(peer.coef_[0], bias)
    assert ours_found == pytest.approx(theirs_found, rel=1e-6)
    assert ours_found <= theirs_found * (1 + 1e-9)
    np.testing.assert_allclose(coef, peer.coef_[0], atol=2e-3)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "precomputed"])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_svc_is_bracketed(kernel: str, C: float, two_classes: tuple) -> None:
    """SVC's intercept b is free; no intercept, or the price b²/2c for it, can only cost more."""
    X, y = two_classes
    sign = 2.0 * y - 1
    arguments = {"gamma": 0.3, "coef0": 1.0, "degree": 2}
    K = {
        "rbf": kernels.rbf(X, X, 0.3),
        "poly": kernels.polynomial(X, X, 0.3, 2, 1.0),
    }.get(kernel, kernels.linear(X, X))
    peer = SVC(kernel=kernel, C=C, tol=1e-8, **arguments)
    peer.fit(K if kernel == "precomputed" else X, y)
    net_dual = np.zeros(len(y))
    net_dual[peer.support_] = np.abs(peer.dual_coef_[0])
    decision = K @ (sign * net_dual)
    free_bias = 0.5 * net_dual @ (sign * decision) + C * np.sum(
        np.maximum(1 - sign * (decision + peer.intercept_[0]), 0)
    )
    ours = [
        SVMClassifier(kernel, C=C, fit_intercept=intercept, tol=LAST_DIGITS, **arguments).fit(
            K if kernel == "precomputed" else X, y
        )
        for intercept in (False, True)
    ]
    without, penalised = (model.history_["primal"][-1] for model in ours)
    assert free_bias <= penalised * (1 + 1e-6)  # SVC's own is not exact
    assert penalised <= without * (1 + 1e-9)
    price = 0.5 * peer.intercept_[0] ** 2 / ours[1].kernel_constant_
    assert penalised <= free_bias + price + 1e-6


def test_svc_where_the_intercept_vanishes() -> None:
    """On a set with −x of the other class for every x, SVC's best intercept is zero."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(60, 4)) + 0.5
    X, y = np.vstack([half, -half]), np.repeat([1, -1], 60)
    for kernel, arguments in (("linear", {}), ("poly", {"degree": 3, "gamma": 0.3})):
        peer = SVC(kernel=kernel, C=2.0, tol=1e-9, **arguments).fit(X, y)
        ours = SVMClassifier(kernel, C=2.0, tol=LAST_DIGITS, **arguments).fit(X, y)
        assert abs(peer.intercept_[0]) < 1e-6
        np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-5)


def test_accuracy_of_svc_on_digits() -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    train, test = np.arange(900), np.arange(900, 1797)
    peer = SVC(C=10.0).fit(X[train], y[train]).score(X[test], y[test])
    for model in (
        SVMClassifier(C=10.0, multi_class="ovo"),
        SVMClassifier(C=10.0),
        ODMClassifier(C=10.0),
    ):
        model.fit(X[train], y[train])
        assert model.converged_
        assert model.score(X[test], y[test]) > peer - 0.02


# The estimator's report, against the oracle


@classes
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_history_ends_at_the_optimum(
    kind: type, fit_intercept: bool, dtype: str, two_classes: tuple
) -> None:
    X, y = two_classes
    X = X[:60].astype(dtype)
    sign = 2.0 * y[:60] - 1
    weights = 0.5 + np.arange(60) % 4
    model = kind(C=3.0, gamma=0.4, fit_intercept=fit_intercept).fit(X, y[:60], weights)
    K = kernels.rbf(X.astype(np.float64), X.astype(np.float64), 0.4)
    K = kernels.with_intercept(K) if fit_intercept else K
    name = "odm" if kind is ODMClassifier else "hinge"
    expected = solve_with_clarabel(K, sign, name, 3.0, weights, 0.5, 0.2)
    history = model.history_
    assert history["primal"][-1] == pytest.approx(expected.objective, rel=1e-8)
    assert history["dual"][-1] == pytest.approx(expected.objective, rel=1e-8)
    assert model.dual_gap_ == pytest.approx(0.0, abs=1e-9 * expected.objective)
    assert model.relative_gap_ < 1e-12
    coef = np.zeros(60)
    coef[model.support_] = model.dual_coef_[0]
    assert model.intercept_[0] == pytest.approx(coef.sum() if fit_intercept else 0.0, abs=1e-12)
    np.testing.assert_allclose(
        sign * model.decision_function(X),
        expected.margins,
        atol=1e-6 if dtype == "float64" else 3e-5,
    )


# Several classes


@classes
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_schemes_are_scikit_learn_s(kind: type, scheme: str, iris: tuple) -> None:
    X, y = iris
    ours = kind(multi_class=scheme).fit(X, y)
    wrapper = OneVsRestClassifier if scheme == "ovr" else OneVsOneClassifier
    theirs = wrapper(kind(gamma=ours.gamma_)).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=SAME_DECISION
    )


@classes
def test_pairwise_decisions(kind: type, iris: tuple) -> None:
    X, y = iris
    model = kind(multi_class="ovo", decision_function_shape="ovo", gamma=0.3).fit(X, y)
    decisions = model.decision_function(X)
    assert decisions.shape == (150, 3)
    for column, (i, j) in zip(decisions.T, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = np.isin(y, [i, j])
        alone = kind(gamma=0.3).fit(X[rows], y[rows])
        np.testing.assert_allclose(column, -alone.decision_function(X), atol=SAME_DECISION)
    votes = kind(multi_class="ovo", gamma=0.3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), votes.predict(X))
    np.testing.assert_array_equal(
        votes.predict(X), votes.classes_[votes.decision_function(X).argmax(axis=1)]
    )


@classes
def test_attributes_of_several_problems(kind: type, iris: tuple) -> None:
    X, y = iris
    model = kind().fit(X, y)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert np.all(np.any(model.dual_coef_ != 0, axis=0))
    np.testing.assert_array_equal(np.sort(model.support_), model.support_)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(model.n_support_, np.bincount(y[model.support_]))
    assert model.intercept_.shape == (3,)
    assert list(np.unique(model.history_["problem"])) == [0, 1, 2]
    assert model.strategy_ == "exact"
    assert model.solver_ == "blocks"
    assert model.n_iter_ >= 1
    assert model.n_samples_fit_ == 150


# Determinism


DATA_KINDS = ("dense32", "dense64", "sparse")


def larger(layout: str) -> tuple[np.ndarray, np.ndarray]:
    """More rows than are solved as one working set or polished, in three classes."""
    X, y = make_classification(1600, 10, n_informative=6, n_classes=3, flip_y=0.1, random_state=0)
    if layout == "sparse":
        X[np.abs(X) < 0.7] = 0.0
        return sp.csr_matrix(X), y
    return X.astype(np.float32 if layout == "dense32" else np.float64), y


@classes
@pytest.mark.parametrize("layout", DATA_KINDS)
@pytest.mark.parametrize("n_rows", [500, 1600])
def test_same_seed_same_bits(kind: type, layout: str, n_rows: int, tmp_path: Path) -> None:
    """On one or two threads, again, after pickling, after saving and loading."""
    X, y = larger(layout)
    X, y = X[:n_rows], y[:n_rows]
    models = [kind(C=2.0, random_state=7, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 2)]
    first = models[0]
    first.save(tmp_path / "model.wm")
    models += [pickle.loads(pickle.dumps(first)), load_model(tmp_path / "model.wm")]
    expected = first.decision_function(X)
    for model in models[1:]:
        np.testing.assert_array_equal(model.support_, first.support_)
        np.testing.assert_array_equal(model.dual_coef_, first.dual_coef_)
        for jobs in (1, 2):
            model.set_params(n_jobs=jobs)
            np.testing.assert_array_equal(model.decision_function(X), expected)
            np.testing.assert_array_equal(model.predict(X), first.predict(X))


@classes
def test_prediction_of_a_row_does_not_depend_on_the_others(kind: type) -> None:
    X, y = larger("dense32")
    model = kind(tol=0.1).fit(X, y)
    expected = model.decision_function(X)
    for rows in (slice(0, 1), slice(5, 22), slice(300, 557), slice(None, None, 3)):
        np.testing.assert_array_equal(model.decision_function(X[rows]), expected[rows])


def test_prediction_with_a_precomputed_kernel_neither(iris: tuple) -> None:
    X, y = iris
    K = X @ X.T
    model = SVMClassifier("precomputed", fit_intercept=True).fit(K, y)
    expected = model.decision_function(K)
    for rows in (slice(0, 1), slice(5, 22), slice(None, None, 3)):
        np.testing.assert_array_equal(model.decision_function(K[rows]), expected[rows])


@classes
def test_another_seed_differs_within_the_tolerance(kind: type) -> None:
    X, y = larger("dense64")
    y = y == 0
    models = [kind(random_state=seed, tol=1e-3).fit(X, y) for seed in (0, 1)]
    primals = [model.history_["primal"][-1] for model in models]
    assert primals[0] == pytest.approx(primals[1], rel=1e-3)
    # Where the last digits are asked for, no trace of the seed remains but rounding.
    X, y = X[:300], y[:300]
    small = [kind(random_state=seed, tol=LAST_DIGITS).fit(X, y) for seed in (0, 1)]
    a, b = (model.decision_function(X) for model in small)
    np.testing.assert_allclose(a, b, atol=SAME_DECISION)


@classes
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_tolerance_is_kept(kind: type, tol: float) -> None:
    """Recomputed from the coefficients alone, in float64, for rows given in float32."""
    X, y = larger("dense32")
    sign = np.where(y == 0, 1.0, -1.0)
    model = kind(tol=tol, gamma=0.05, C=1.5).fit(X, sign)
    assert model.converged_
    K = kernels.rbf(X.astype(np.float64), X[model.support_].astype(np.float64), 0.05)
    coef = model.dual_coef_[0]
    margin = sign * (K @ coef)
    net_dual = sign[model.support_] * coef
    norm = net_dual @ margin[model.support_]
    if kind is SVMClassifier:
        primal = 0.5 * norm + 1.5 * np.maximum(1 - margin, 0).sum()
        assert np.all((net_dual >= 0) & (net_dual <= 1.5))
        dual = net_dual.sum() - 0.5 * norm
    else:
        short, excess = np.maximum(0.8 - margin, 0), np.maximum(margin - 1.2, 0)
        primal = 0.5 * norm + 0.75 * (short @ short + 0.5 * excess @ excess)
        up, down = np.maximum(net_dual, 0), np.maximum(-net_dual, 0)
        phi = up @ up / 3 - 0.8 * up.sum() + down @ down / 1.5 + 1.2 * down.sum()
        dual = -0.5 * norm - phi
    assert primal - dual <= 1.0001 * tol * primal
    assert model.relative_gap_ == pytest.approx((primal - dual) / primal, rel=1e-3, abs=1e-12)
    assert model.dual_gap_ == pytest.approx(primal - dual, rel=1e-3, abs=1e-9)


# What only looks different


@classes
def test_scaling_rows_and_gamma_together(kind: type, two_classes: tuple) -> None:
    X, y = two_classes
    plain = kind(gamma=0.3, tol=LAST_DIGITS).fit(X, y).decision_function(X)
    scaled = kind(gamma=0.3 / 64, tol=LAST_DIGITS).fit(8 * X, y).decision_function(8 * X)
    np.testing.assert_allclose(scaled, plain, atol=SAME_DECISION)


@classes
def test_order_of_rows_and_names_of_classes(kind: type, two_classes: tuple) -> None:
    X, y = two_classes
    model = kind(tol=LAST_DIGITS)
    expected = model.fit(X, y).decision_function(X)
    order = np.random.default_rng(0).permutation(len(y))
    moved = model.fit(X[order], y[order]).decision_function(X)
    np.testing.assert_allclose(moved, expected, atol=SAME_DECISION)
    flipped = model.fit(X, np.where(y == 1, "a", "b")).decision_function(X)
    np.testing.assert_allclose(flipped, -expected, atol=SAME_DECISION)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (ODMClassifier(solver="newton"), ODMClassifier(solver="coordinate")),
        (
            SVMClassifier(loss="squared_hinge", solver="newton"),
            SVMClassifier(loss="squared_hinge", solver="coordinate"),
        ),
        (ODMClassifier(strategy="auto"), ODMClassifier(strategy="exact")),
        # With θ = 0 and υ → 0, ODM is the squared hinge at half its weight.
        (
            ODMClassifier(C=4.0, theta=0.0, upsilon=1e-12),
            SVMClassifier(loss="squared_hinge", C=2.0),
        ),
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_two_ways_to_one_model(a: object, b: object, kernel: str, two_classes: tuple) -> None:
    X, y = two_classes
    first, second = (
        model.set_params(kernel=kernel).fit(X, y).decision_function(X) for model in (a, b)
    )
    np.testing.assert_allclose(first, second, atol=1e-6)
