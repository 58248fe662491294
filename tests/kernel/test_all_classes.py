"""Kernel machines that learn all classes in one problem."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from multiclass_oracle import losses, optimum
from oracle import square_root_factor
from widemargin import MulticlassSVMClassifier, SVMClassifier, SVMClassifierCV, load_model
from widemargin.kernel.all_classes import AllClassesProblem
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.solvers import class_blocks

formulations = pytest.mark.parametrize("formulation", ["ww", "cs"])


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


def primal(model: SVMClassifier, K: np.ndarray, codes: np.ndarray, bound: np.ndarray) -> float:
    """Return the objective of a fitted model, given the kernel matrix with its constant."""
    coef = np.zeros((len(model.classes_), len(codes)))
    coef[:, model.support_] = model.dual_coef_
    scores = K @ coef.T
    penalty = 0.5 * float(np.sum(coef.T * scores))
    return penalty + float(bound @ losses(scores, codes, model.multi_class_))


@formulations
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("constant", [False, True])
def test_optimum_of_clarabel(formulation, C, constant, iris) -> None:
    X, y = iris
    weight = np.linspace(0.5, 2.0, len(y))
    model = SVMClassifier(C=C, gamma=0.5, multi_class=formulation, fit_intercept=constant)
    model.fit(X, y, weight)
    K = rbf_kernel(X, gamma=0.5) + model.kernel_constant_
    wanted = optimum(square_root_factor(K), y, 3, C * weight, formulation)
    assert primal(model, K, y, C * weight) == pytest.approx(wanted, rel=1e-6)
    assert model.history_["dual"][-1] == pytest.approx(wanted, rel=1e-6)
    assert model.relative_gap_ < 1e-6
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-12 * C)


@formulations
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_linear_kernel_is_the_linear_machine(formulation, n_classes) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[y < n_classes][:500] / 16.0, y[y < n_classes][:500]
    settings = {"C": 0.1, "fit_intercept": False, "tol": 1e-7}
    ours = SVMClassifier("linear", multi_class=formulation, **settings).fit(X, y)
    linear = MulticlassSVMClassifier(formulation, **settings).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), linear.decision_function(X), atol=2e-3)
    np.testing.assert_array_equal(ours.predict(X), linear.predict(X))
    if n_classes > 2:
        assert ours.history_["primal"][-1] == pytest.approx(linear.history_["primal"][-1], rel=1e-6)


@formulations
def test_two_classes_are_a_binary_machine_of_twice_the_weight(formulation, iris) -> None:
    X, y = iris
    X, y = X[y > 0], y[y > 0]
    model = SVMClassifier(C=0.5, gamma=0.5, multi_class=formulation).fit(X, y)
    binary = SVMClassifier(C=1.0, gamma=0.5).fit(X, y)
    assert model.decision_function(X).shape == (len(y),)
    np.testing.assert_allclose(model.decision_function(X), binary.decision_function(X), atol=1e-6)


@formulations
@pytest.mark.parametrize("memory", ["1GiB", "2MiB"])
def test_threads_change_nothing(formulation, memory, rows) -> None:
    X, y = rows
    settings = {"C": 5.0, "gamma": 0.05, "multi_class": formulation, "memory_limit": memory}
    one, two = (SVMClassifier(n_jobs=n, **settings).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@formulations
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_and_rows_set_aside_change_the_solution_within_tol(
    formulation, dtype, rows, monkeypatch
) -> None:
    X, y = rows[0].astype(dtype), rows[1]
    settings = {"C": 5.0, "gamma": 0.05, "multi_class": formulation, "tol": 1e-4}
    whole = SVMClassifier(**settings).fit(X, y)
    aside: list[int] = []
    take_back = class_blocks.ClassBlocks._take_back

    def watched(blocks, coef, score) -> None:
        aside.append(int(np.sum(~blocks.active)))
        take_back(blocks, coef, score)

    monkeypatch.setattr(class_blocks.ClassBlocks, "_take_back", watched)
    monkeypatch.setattr(class_blocks, "FIRST_BLOCK", 200)
    blocks = SVMClassifier(**settings, memory_limit="2MiB").fit(X, y)
    assert max(aside) > 0
    assert len(blocks.history_["iteration"]) > 5
    for model in (whole, blocks):
        assert model.converged_
        assert model.relative_gap_ <= 1e-4
    duals = [model.history_["dual"][-1] for model in (whole, blocks)]
    assert duals[0] == pytest.approx(duals[1], rel=1e-4)
    np.testing.assert_allclose(whole.decision_function(X), blocks.decision_function(X), atol=0.05)


@formulations
def test_certificate_is_that_of_exact_scores(formulation, rows) -> None:
    X, y = rows[0].astype(np.float32), rows[1]
    model = SVMClassifier(C=5.0, gamma=0.05, multi_class=formulation, tol=1e-3).fit(X, y)
    K = rbf_kernel(X.astype(np.float64), gamma=0.05) + model.kernel_constant_
    found = primal(model, K, y, np.full(len(y), 5.0))
    assert found == pytest.approx(model.history_["primal"][-1], rel=1e-5)
    coef = model.dual_coef_
    norm = float(np.sum(coef * (coef @ K[np.ix_(model.support_, model.support_)])))
    dual = float(np.maximum(coef, 0.0).sum()) - 0.5 * norm
    assert 0.0 < found - dual <= model.dual_gap_
    assert model.dual_gap_ <= 1e-3 * found


def test_float32_goes_on_in_float64_where_it_must(rows) -> None:
    X, y = rows[0].astype(np.float32), rows[1]
    model = SVMClassifier(C=5.0, gamma=0.05, multi_class="cs", tol=1e-8).fit(X[:1200], y[:1200])
    assert model.relative_gap_ <= 1e-8


@formulations
def test_every_form_of_rows(formulation, iris) -> None:
    X, y = iris
    settings = {"C": 2.0, "gamma": 0.5, "multi_class": formulation}
    expected = SVMClassifier(**settings).fit(X, y).decision_function(X)
    K = rbf_kernel(X, gamma=0.5)
    others = {
        "sparse": (SVMClassifier(**settings), sparse.csr_matrix(X)),
        "float32": (SVMClassifier(**settings), X.astype(np.float32)),
        "precomputed": (SVMClassifier("precomputed", **settings), K),
        "function": (SVMClassifier(lambda a, b: rbf_kernel(a, b, gamma=0.5), **settings), X),
    }
    for name, (model, given) in others.items():
        found = model.fit(given, y).decision_function(given)
        np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=name)


@formulations
def test_a_large_kernel_matrix_in_blocks(formulation, rows) -> None:
    X, y = rows[0][:1500], rows[1][:1500]
    settings = {"C": 5.0, "gamma": 0.05, "multi_class": formulation, "fit_intercept": True}
    named = SVMClassifier(**settings).fit(X, y)
    given = SVMClassifier("precomputed", **settings, memory_limit="2MiB")
    given.fit(rbf_kernel(X, gamma=0.05), y)
    duals = [model.history_["dual"][-1] for model in (named, given)]
    assert duals[0] == pytest.approx(duals[1], rel=2e-3)
    assert given.relative_gap_ <= 1e-3


@formulations
def test_weights_are_copies(formulation, iris) -> None:
    X, y = iris
    weight = 1 + np.arange(len(y)) % 3
    settings = {"C": 2.0, "gamma": 0.5, "multi_class": formulation}
    weighed = SVMClassifier(**settings).fit(X, y, weight)
    copied = SVMClassifier(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    expected = weighed.decision_function(X)
    np.testing.assert_allclose(copied.decision_function(X), expected, atol=1e-7)
    some = weight != 2
    left_out = SVMClassifier(**settings).fit(X, y, some * 1.0).decision_function(X)
    alone = SVMClassifier(**settings).fit(X[some], y[some]).decision_function(X)
    np.testing.assert_allclose(left_out, alone, atol=1e-7)
    classes = {0: 1.0, 1: 2.0, 2: 3.0}
    by_class = SVMClassifier(**settings, class_weight=classes).fit(X, y).decision_function(X)
    by_row = SVMClassifier(**settings).fit(X, y, y + 1.0).decision_function(X)
    np.testing.assert_allclose(by_class, by_row, atol=1e-7)


@formulations
def test_many_copies_are_merged(formulation, rows, monkeypatch) -> None:
    X, y = rows
    monkeypatch.setattr("widemargin.kernel.all_classes.CANONICAL_VALUES", 100)
    merged = np.vstack([X, X[:400]]), np.concatenate([y, y[:400]])
    problem = AllClassesProblem(
        formulation, merged[1], 4, Kernel("rbf", 0.05), merged[0], np.ones(3000)
    )
    found = problem.without_copies()
    assert found is not None
    smaller, copies = found
    assert smaller.n_rows == 2600
    assert smaller.weights.sum() == 3000
    coef = np.arange(2600.0)
    np.testing.assert_allclose(copies.merge(copies.spread(coef)), coef)
    assert (
        AllClassesProblem(formulation, y, 4, Kernel("rbf", 0.05), X, np.ones(2600)).without_copies()
        is None
    )


def test_rows_that_act_on_no_score(iris) -> None:
    X, y = iris
    X = np.vstack([X, np.zeros((3, 4))])
    y = np.concatenate([y, [0, 1, 2]])
    for formulation in ("ww", "cs"):
        model = SVMClassifier("linear", multi_class=formulation, fit_intercept=False).fit(X, y)
        assert model.converged_
        wanted = optimum(X, y, 3, np.ones(len(y)), formulation)
        assert model.history_["dual"][-1] == pytest.approx(wanted, rel=1e-6)


def test_limits(rows) -> None:
    X, y = rows
    settings = {"C": 5.0, "gamma": 0.05, "multi_class": "ww", "memory_limit": "2MiB"}
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVMClassifier(**settings, max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert not model.converged_
    assert model.relative_gap_ > 1e-3
    with pytest.warns(ConvergenceWarning, match="max_time"):
        SVMClassifier(**settings, max_time=1e-6).fit(X, y)
    with pytest.raises(ValueError, match="4 numbers for every row and class"):
        SVMClassifier(multi_class="ww", memory_limit=200_000).fit(X, y)


def test_an_interrupt_leaves_what_was_found(rows, monkeypatch) -> None:
    X, y = rows
    solve, calls = class_blocks.ClassBlocks._solve_block, []

    def interrupted(blocks, *args):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return solve(blocks, *args)

    monkeypatch.setattr(class_blocks.ClassBlocks, "_solve_block", interrupted)
    model = SVMClassifier(C=5.0, gamma=0.05, multi_class="cs", memory_limit="2MiB")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.isnan(model.relative_gap_)
    assert model.score(X, y) > 0.5


@formulations
def test_paths_and_warm_starts(formulation, rows) -> None:
    X, y = rows
    model = SVMClassifier(gamma=0.05, multi_class=formulation, warm_start=True)
    path = model.fit_path(X, y, [5.0, 0.5])
    for each, C in zip(path, (5.0, 0.5), strict=True):
        assert each.C == C
        assert each.relative_gap_ <= each.tol
    alone = model.set_params(C=5.0).fit(X, y)
    dual = path[0].history_["dual"][-1]
    assert dual == pytest.approx(alone.history_["dual"][-1], rel=2e-3)
    first = alone.n_iter_
    assert model.fit(X, y).n_iter_ < first


@formulations
def test_indefinite_kernels_have_no_certificate(formulation, iris) -> None:
    X, y = iris
    with pytest.warns(ConvergenceWarning, match="indefinite"):
        model = SVMClassifier("sigmoid", coef0=-1.0, gamma=0.5, multi_class=formulation).fit(X, y)
    assert np.isnan(model.relative_gap_)
    assert model.score(X, y) > 0.5


@formulations
def test_probabilities(formulation, iris) -> None:
    X, y = iris
    model = SVMClassifier(multi_class=formulation, calibrate="sigmoid").fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))
    assert model.calibration_["scheme"] == "margins"
    plain = SVMClassifier(multi_class=formulation).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))


@formulations
def test_search(formulation, iris) -> None:
    X, y = iris
    search = SVMClassifierCV(multi_class=formulation, Cs=[0.1, 10.0], gammas=[0.5], cv=3)
    search.fit(X, y)
    assert search.best_estimator_.multi_class_ == formulation
    best = SVMClassifier(C=search.C_, gamma=search.gamma_, multi_class=formulation).fit(X, y)
    np.testing.assert_allclose(search.decision_function(X), best.decision_function(X))


@formulations
def test_compressed_and_saved(formulation, rows, tmp_path) -> None:
    X, y = rows
    model = SVMClassifier(C=5.0, gamma=0.05, multi_class=formulation).fit(X, y)
    assert model.decision_function(X).shape == (len(y), 4)
    path = tmp_path / "model.wm"
    model.save(path)
    loaded = load_model(path)
    assert loaded.multi_class_ == formulation
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    small = model.compress(400)
    assert len(small.support_) <= 400
    assert np.mean(small.predict(X) == model.predict(X)) > 0.95
    with pytest.raises(ValueError, match="binary problems only"):
        model.compress(400, X, y)


@formulations
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "squared_hinge"}, "needs loss='hinge'; got loss='squared_hinge'"),
        ({"solver": "newton"}, "needs solver='auto' or 'blocks'; got solver='newton'"),
        ({"strategy": "dc"}, "needs strategy='auto' or 'exact'; got strategy='dc'"),
        ({"decision_function_shape": "ovo"}, "needs pairwise problems"),
    ],
)
def test_refusals(formulation, settings, message, iris) -> None:
    with pytest.raises(ValueError, match=message):
        SVMClassifier(multi_class=formulation, **settings).fit(*iris)


def test_many_rows_are_not_divided(iris, monkeypatch) -> None:
    monkeypatch.setattr("widemargin.kernel.divide.driver.EXACT_ROWS", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVMClassifier(multi_class="ww").fit(*iris)
    assert model.strategy_ == "exact"
