"""Defaults that let SVMClassifier take the place of scikit-learn's SVC."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

import widemargin
from widemargin import (
    GossipClassifier,
    LinearODMClassifier,
    LinearSVMClassifier,
    MulticlassSVMClassifier,
    ODMClassifier,
    ODMClassifierCV,
    Stratified,
    SVMClassifier,
    SVMClassifierCV,
)
from widemargin.kernel.defaults import MOST_CLASSES_IN_PAIRS, MOST_ROWS_WITH_INTERCEPT
from widemargin.kernel.model.prediction import votes

classes = pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])


def blobs(far: float, rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return two clouds of rows, far from the origin."""
    return make_blobs(rows, centers=[(far, far), (far + 3, far + 3)], random_state=0)


# Intercept


@classes
@pytest.mark.parametrize("far", [0.0, 10.0, 300.0])
@pytest.mark.parametrize("form", ["linear", "precomputed", "function"])
def test_linear_kernel_far_from_the_origin(kind: type, far: float, form: str) -> None:
    X, y = blobs(far)
    data = X @ X.T if form == "precomputed" else X
    model = kind((lambda A, B: A @ B.T) if form == "function" else form).fit(data, y)
    assert model.fit_intercept_
    assert model.score(data, y) >= SVC(kernel="linear").fit(X, y).score(X, y) - 0.005


def test_a_constant_of_one_is_not_enough() -> None:
    X, y = blobs(300.0)
    model = SVMClassifier("linear").fit(X, y)
    assert model.kernel_constant_ == pytest.approx(np.mean(np.sum(X**2, axis=1)))
    # A constant feature gives the same kernel with a constant of one.
    weak = SVMClassifier("linear", fit_intercept=False).fit(np.column_stack([X, np.ones(400)]), y)
    assert weak.score(np.column_stack([X, np.ones(400)]), y) < 0.6


@classes
def test_which_kernels_have_an_intercept(kind: type) -> None:
    few, many = (
        make_classification(MOST_ROWS_WITH_INTERCEPT + extra, 4, random_state=0) for extra in (0, 1)
    )
    for kernel in ("rbf", "laplacian", "linear", "poly", "sigmoid"):
        settings = {"kernel": kernel, "max_iter": 1, "tol": 0.5}
        assert kind(**settings).fit(*few).fit_intercept_
        assert kind(**settings).fit(*many).fit_intercept_ == (kernel not in ("rbf", "laplacian"))
    assert kind(tol=0.5).fit(*few).kernel_constant_ == 1.0


@classes
@pytest.mark.parametrize("extra", [0, 1])
def test_kernel_values_as_by_name(kind: type, extra: int) -> None:
    X, y = make_classification(MOST_ROWS_WITH_INTERCEPT + extra, 4, random_state=0)
    for name, K in (
        ("rbf", rbf_kernel(X, gamma=0.1)),
        ("poly", polynomial_kernel(X, gamma=0.1, coef0=1.0, degree=2)),
    ):
        by_name = kind(name, gamma=0.1, coef0=1.0, degree=2, tol=1e-7).fit(X, y)
        by_values = kind("precomputed", tol=1e-7).fit(K, y)
        assert by_values.kernel_constant_ == pytest.approx(by_name.kernel_constant_)
        difference = by_values.decision_function(K) - by_name.decision_function(X)
        assert np.abs(difference).max() < 0.1


def test_rows_are_counted_by_weight() -> None:
    X, y = make_classification(600, 4, random_state=0)
    twice = SVMClassifier().fit(np.vstack([X, X]), np.tile(y, 2))
    weighted = SVMClassifier().fit(X, y, np.full(600, 2.0))
    assert not twice.fit_intercept_
    assert not weighted.fit_intercept_


def test_rows_are_those_of_a_pair_of_classes() -> None:
    X, y = make_classification(1500, 6, n_informative=4, n_classes=4, random_state=0)
    assert SVMClassifier().fit(X, y).fit_intercept_  # 750 rows a pair
    assert not SVMClassifier(multi_class="ovr").fit(X, y).fit_intercept_


# Several classes


@classes
def test_pairs_of_classes(kind: type) -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = kind("linear").fit(X, y)
    assert model.multi_class_ == "ovo"
    assert model.decision_function(X).shape == (150, 3)
    ours, theirs = (cross_val_score(each("linear"), X, y).mean() for each in (kind, _linear_svc))
    assert ours >= theirs - 0.005
    rest = kind("linear", multi_class="ovr").fit(X, y)
    assert rest.multi_class_ == "ovr"
    assert rest.score(X, y) < model.score(X, y)


def _linear_svc(kernel: str) -> SVC:
    return SVC(kernel=kernel)


def test_too_many_classes_for_pairs() -> None:
    y = np.repeat(np.arange(MOST_CLASSES_IN_PAIRS + 1), 2)
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + y[:, None]
    model = SVMClassifier().fit(X, y)
    assert model.multi_class_ == "ovr"
    assert len(model.dual_coef_) == MOST_CLASSES_IN_PAIRS + 1
    pairs = SVMClassifier(decision_function_shape="ovo").fit(X, y)
    assert pairs.multi_class_ == "ovo"


def test_votes_are_those_of_scikit_learn() -> None:
    pairwise = np.random.default_rng(0).normal(size=(200, 10))
    expected = _ovr_decision_function(pairwise < 0, -pairwise, 5)
    np.testing.assert_allclose(votes(pairwise, 5), expected, atol=1e-12)


@pytest.mark.parametrize(
    "kind", [lambda **k: ODMClassifierCV(Cs=[1.0], gammas=[0.3], **k), SVMClassifier]
)
def test_what_auto_chose_is_in_the_file(kind: type, tmp_path) -> None:
    X, y = load_iris(return_X_y=True)
    model = kind(kernel="rbf").fit(X, y)
    model.save(tmp_path / "m.wm")
    loaded = widemargin.load_model(tmp_path / "m.wm")
    assert (loaded.multi_class, loaded.fit_intercept) == ("auto", "auto")
    assert (loaded.multi_class_, loaded.fit_intercept_) == ("ovo", True)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    small = model.compress(20)
    assert (small.multi_class_, small.fit_intercept_) == ("ovo", True)


def test_warm_start_after_another_scheme() -> None:
    """Three classes are three problems either way; their solutions have nothing in common."""
    X, y = load_iris(return_X_y=True)
    model = SVMClassifier(multi_class="ovr", warm_start=True).fit(X, y)
    model.set_params(multi_class="auto").fit(X, y)
    cold = SVMClassifier().fit(X, y)
    assert model.n_iter_ == cold.n_iter_
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-6)


# The same model every time


@pytest.mark.parametrize(
    "model",
    [
        ODMClassifier(),
        SVMClassifier(),
        SVMClassifier(strategy="dc"),
        ODMClassifier(strategy=Stratified(levels=1, fan_in=4, stop_level=1)),
        SVMClassifierCV(Cs=[1.0], gammas=[0.1], cv=2),
        LinearODMClassifier(),
        LinearSVMClassifier(solver="dual"),
        LinearSVMClassifier(solver="dsvrg", max_iter=3),
        LinearODMClassifier(validation_fraction=0.2, solver="svrg", max_iter=3),
        MulticlassSVMClassifier(),
        MulticlassSVMClassifier("cs"),
        GossipClassifier(4, max_iter=3),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_a_seed(model) -> None:
    X, y = make_classification(2500, 6, n_informative=4, n_classes=3, random_state=0)
    one, two = (model.fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


# Parameters of SVC


@pytest.mark.parametrize("kind", [SVMClassifier, ODMClassifier, SVMClassifierCV])
@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("probability", "calibrate='sigmoid'"),
        ("cache_size", "memory_limit='500MB'"),
        ("shrinking", "leave it out"),
        ("break_ties", "leave it out"),
    ],
)
def test_parameters_of_svc_are_refused_with_advice(kind: type, name: str, advice: str) -> None:
    message = f"{kind.__name__} has no parameter '{name}': .*{advice}"
    with pytest.raises(TypeError, match=message):
        kind(**{name: True})
    with pytest.raises(ValueError, match=message):
        kind().set_params(**{name: True})
    pipeline = make_pipeline(StandardScaler(), kind())
    with pytest.raises(ValueError, match=message):
        pipeline.set_params(**{f"{kind.__name__.lower()}__{name}": True})


@pytest.mark.parametrize("name", ["penalty", "dual", "multi_class"])
def test_parameters_of_linear_svc(name: str) -> None:
    with pytest.raises(TypeError, match=f"LinearSVMClassifier has no parameter '{name}'"):
        LinearSVMClassifier(**{name: "l2"})


def test_unknown_parameters_are_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        SVMClassifier(nonsense=1)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        SVMClassifier().set_params(nonsense=1)


def test_no_limit_of_iterations_is_none_and_not_minus_one():
    X, y = make_blobs(20, centers=2, random_state=0)
    with pytest.raises(ValueError, match=r"'max_iter' .*\(None sets no limit\)\. Got -1"):
        SVMClassifier(max_iter=-1).fit(X, y)


def test_weights_of_features_are_refused_with_what_to_do():
    X, y = make_blobs(20, centers=2, random_state=0)
    model = SVMClassifier(kernel="linear").fit(X, y)
    with pytest.raises(AttributeError, match=r"has no `coef_`.*dual_coef_ @ support_vectors_"):
        model.coef_  # noqa: B018
    assert not hasattr(model, "coef_")
