"""Kernel machines for the margin distribution of all classes in one problem."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from multiclass_oracle import margin_distribution, margin_distribution_optimum, margins
from oracle import square_root_factor
from widemargin import MulticlassODMClassifier, ODMClassifier, ODMClassifierCV, load_model
from widemargin.kernel.class_margins import with_rivals
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.solvers.class_blocks import ClassBlocks, ClassLoss


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return (X[::3] - X.mean(axis=0)) / X.std(axis=0), y[::3]


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        2600, 12, n_informative=8, n_classes=4, class_sep=1.5, flip_y=0.05, random_state=0
    )
    return X, y


def weights_of(model: ODMClassifier, F: np.ndarray, n_rows: int) -> np.ndarray:
    coef = np.zeros((len(model.classes_), n_rows))
    coef[:, model.support_] = model.dual_coef_
    return coef @ F


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(("theta", "upsilon"), [(0.2, 0.5), (0.0, 1.0), (0.4, 0.1)])
def test_the_last_convex_problem_has_clarabels_optimum(C, theta, upsilon, iris) -> None:
    X, y = iris
    weight = np.linspace(0.5, 2.0, len(y))
    settings = {"C": C, "gamma": 0.5, "theta": theta, "upsilon": upsilon, "tol": 1e-7}
    model = ODMClassifier(**settings, multi_class="all").fit(X, y, weight)
    assert model.converged_
    F = square_root_factor(rbf_kernel(X, gamma=0.5) + model.kernel_constant_)
    W, bound = weights_of(model, F, len(y)), C * weight
    _, rivals = margins(F @ W.T, y)
    found = margin_distribution(W, F, y, bound, theta, upsilon)
    wanted = margin_distribution_optimum(F, y, 3, bound, theta, upsilon, rivals)
    assert found == pytest.approx(wanted, rel=1e-6)
    assert found == pytest.approx(model.history_["primal"][-1], rel=1e-6)
    # The certificate is true of an optimum that others found.
    assert model.history_["dual"][-1] <= wanted * (1 + 1e-9)
    assert found - wanted <= model.dual_gap_ + 1e-9 * wanted
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-9 * C)


@pytest.mark.parametrize("with_rivals", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_convex_problems_have_clarabels_optimum(with_rivals, C, iris) -> None:
    X, y = iris
    theta, upsilon, bound = 0.2, 0.5, np.full(len(y), C)
    blocks = ClassBlocks(
        X, Kernel("rbf", 0.5), ClassLoss("odm", theta, upsilon), y, bound,
        threads=1, memory=2**24, seed=0,
    )  # fmt: skip
    rivals = None
    if with_rivals:
        rivals = ((y + 1 + np.arange(len(y)) % 2) % 3).astype(np.int32)
        blocks.rivals = rivals
    coef, score = np.zeros((3, len(y))), np.zeros((3, len(y)))
    blocks.solve(coef, score, 1e-10, max_sets=10_000, stop=lambda: False)
    found = blocks.measure(coef, blocks.scores.of(coef)).certificate
    F = square_root_factor(rbf_kernel(X, gamma=0.5))
    wanted = margin_distribution_optimum(F, y, 3, bound, theta, upsilon, rivals)
    assert found.primal == pytest.approx(wanted, rel=1e-6)
    assert found.dual == pytest.approx(wanted, rel=1e-6)
    off = blocks.measure(coef, score, 1e-3).certificate
    assert off.gap > found.gap


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_linear_kernel_is_the_linear_machine(n_classes) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[y < n_classes][:400] / 16.0, y[y < n_classes][:400]
    settings = {"C": 0.1, "fit_intercept": False, "tol": 1e-7}
    ours = ODMClassifier("linear", multi_class="all", **settings).fit(X, y)
    linear = MulticlassODMClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), linear.decision_function(X), atol=2e-3)
    np.testing.assert_array_equal(ours.predict(X), linear.predict(X))
    if n_classes > 2:
        assert ours.history_["primal"][-1] == pytest.approx(linear.objective_, rel=1e-6)


def test_rivals_take_negative_multipliers_over() -> None:
    codes, rivals = np.array([0, 1]), np.array([2, 0], dtype=np.int32)
    coef = np.array([[-1.0, 0.5], [1.0, -1.5], [0.0, 1.0]])
    moved = with_rivals(coef, codes, rivals)
    np.testing.assert_allclose(moved, [[-1.0, 1.5], [0.0, -1.5], [1.0, 0.0]])


def test_several_blocks_and_threads(rows) -> None:
    X, y = rows[0].astype(np.float32), rows[1]
    settings = {"C": 2.0, "gamma": 0.05, "multi_class": "all"}
    one, two = (ODMClassifier(n_jobs=n, memory_limit="2MiB", **settings).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert one.relative_gap_ <= 1e-3
    whole = ODMClassifier(**settings).fit(X, y)
    objectives = [model.history_["primal"][-1] for model in (one, whole)]
    assert objectives[0] == pytest.approx(objectives[1], rel=5e-3)
    assert whole.score(X, y) > 0.9


def test_every_form_of_rows(iris) -> None:
    X, y = iris
    settings = {"C": 2.0, "gamma": 0.5, "multi_class": "all"}
    expected = ODMClassifier(**settings).fit(X, y).decision_function(X)
    others = {
        "sparse": (ODMClassifier(**settings), sparse.csr_matrix(X)),
        "float32": (ODMClassifier(**settings), X.astype(np.float32)),
        "precomputed": (ODMClassifier("precomputed", **settings), rbf_kernel(X, gamma=0.5)),
    }
    for name, (model, given) in others.items():
        found = model.fit(given, y).decision_function(given)
        np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=name)


def test_weights_are_copies(iris) -> None:
    X, y = iris
    weight = 1 + np.arange(len(y)) % 3
    settings = {"C": 2.0, "gamma": 0.5, "multi_class": "all"}
    weighed = ODMClassifier(**settings).fit(X, y, weight).decision_function(X)
    copied = ODMClassifier(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(copied.decision_function(X), weighed, atol=1e-7)


def test_limits_paths_and_warm_starts(rows) -> None:
    X, y = rows[0][:1500], rows[1][:1500]
    settings = {"gamma": 0.05, "multi_class": "all"}
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ODMClassifier(max_iter=2, **settings).fit(X, y)
    model = ODMClassifier(warm_start=True, **settings)
    for each in model.fit_path(X, y, [1.0, 0.2]):
        assert each.relative_gap_ <= each.tol
    first = model.fit(X, y).n_iter_
    assert model.fit(X, y).n_iter_ < first


def test_probabilities_search_and_files(iris, tmp_path) -> None:
    X, y = iris
    model = ODMClassifier(multi_class="all", calibrate="sigmoid").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    path = tmp_path / "model.wm"
    model.save(path)
    loaded = load_model(path)
    assert loaded.multi_class_ == "all"
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    search = ODMClassifierCV(multi_class="all", Cs=[0.1, 10.0], gammas=[0.5], cv=3).fit(X, y)
    assert search.best_estimator_.multi_class_ == "all"


def test_indefinite_kernels_have_no_certificate(iris) -> None:
    X, y = iris
    with pytest.warns(ConvergenceWarning, match="indefinite"):
        model = ODMClassifier("sigmoid", coef0=-1.0, gamma=0.5, multi_class="all").fit(X, y)
    assert np.isnan(model.relative_gap_)


def test_refusals(iris) -> None:
    with pytest.raises(ValueError, match="needs strategy='auto' or 'exact'; got strategy='sodm'"):
        ODMClassifier(multi_class="all", strategy="sodm").fit(*iris)
    with pytest.raises(ValueError, match="needs solver='auto' or 'blocks'; got solver='newton'"):
        ODMClassifier(multi_class="all", solver="newton").fit(*iris)
    with pytest.raises(ValueError, match="multi_class"):
        ODMClassifier(multi_class="ww").fit(*iris)
