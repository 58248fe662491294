"""The one-class machine: agreement with scikit-learn's, its contract, and degenerate data."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone, is_outlier_detector
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import (
    check_outliers_fit_predict,
    check_outliers_train,
    parametrize_with_checks,
)

from one_class_oracle import one_class_optimum
from tolerances import SAME_DECISION
from widemargin import OneClassSVM, Stratified, load_model

VARIANTS = [
    OneClassSVM(),
    OneClassSVM(nu=0.1, kernel="laplacian"),
    OneClassSVM(kernel="poly", coef0=1.0),
    OneClassSVM(kernel="linear"),
    OneClassSVM(kernel="precomputed"),
    OneClassSVM(strategy="stratified"),
    OneClassSVM(strategy=Stratified(levels=1, fan_in=2)),
]
UNFINISHED = OneClassSVM(strategy=Stratified(levels=1, fan_in=2, stop_level=1))


class OnRowsOf(OneClassSVM):
    """A precomputed kernel whose matrices are made of the rows that are given."""

    def fit(self, X, y=None):
        self.rows_ = check_array(X)
        return super().fit(linear_kernel(self.rows_))

    def decision_function(self, X):
        return super().decision_function(linear_kernel(X, self.rows_))


def expected_failures(estimator):
    """Return checks that cannot pass.

    Two give rows to a precomputed kernel where the others make its matrix first. scikit-learn's
    machine fails them, too, and ours passes them as ``OnRowsOf``. Of an unfinished level, a row
    given twice may go to two parts, a row of weight two cannot.
    """
    if estimator is UNFINISHED:
        kinds = ("dense", "sparse")
        failing = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in kinds]
        return dict.fromkeys(failing, "weights and copies make other parts")
    if estimator.kernel == "precomputed":
        failing = ["check_outliers_train", "check_outliers_fit_predict"]
        return dict.fromkeys(failing, "rows instead of a kernel matrix")
    return {}


@parametrize_with_checks([*VARIANTS, UNFINISHED], expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", [check_outliers_train, check_outliers_fit_predict], ids=lambda each: each.__name__
)
def test_sklearn_checks_of_outliers_on_kernel_matrices(check):
    check("OneClassSVM", OnRowsOf(kernel="precomputed"))


def rows(n=300, features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, features))


@pytest.mark.parametrize("nu", [0.03, 0.2, 0.7])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gamma": "auto"},
        {"gamma": 2.0},
        {"kernel": "poly", "coef0": 1.0, "degree": 2},
        {"kernel": "linear"},
    ],
    ids=str,
)
def test_scores_are_those_of_sklearn(nu, options):
    # ν times 301 is no whole number: the offset is unique.
    X, new = rows(301) + 4.0, rows(50, seed=1) + 4.0
    ours = OneClassSVM(nu=nu, **options).fit(X)
    theirs = svm.OneClassSVM(nu=nu, tol=1e-8, **options).fit(X)
    largest = np.abs(theirs.score_samples(X)).max()
    close = {"rtol": 0, "atol": 1e-5 * largest}
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), **close)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **close)
    assert ours.offset_ == pytest.approx(float(theirs.offset_[0]), rel=1e-5)
    assert ours.dual_coef_.shape == (1, len(ours.support_))
    assert ours.dual_coef_.sum() == pytest.approx(nu * len(X))


def test_weights_are_those_of_sklearn():
    X, weights = rows(), np.random.default_rng(3).uniform(0.0, 3.0, size=300)
    weights[::10] = 0.0
    ours = OneClassSVM(nu=0.2, gamma=0.5).fit(X, sample_weight=weights)
    theirs = svm.OneClassSVM(nu=0.2, gamma=0.5, tol=1e-8).fit(X, sample_weight=weights)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-4 * ours.offset_
    )
    assert np.all(weights[ours.support_] > 0)
    assert np.all(ours.dual_coef_[0] <= weights[ours.support_])


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 1.0])
def test_nu_bounds_outliers_and_support_vectors(nu):
    X = rows(6000)
    model = OneClassSVM(nu=nu).fit(X)
    decisions = model.decision_function(X)
    # Support vectors between their bounds lie on the border, on either side by rounding.
    outliers = np.mean(decisions < -1e-4 * model.offset_)
    assert outliers <= nu <= len(model.support_) / len(X) + 1e-12
    assert outliers >= nu - 0.05


def test_rows_inside_are_no_support_vectors():
    """Their duals are zero, not what rounding left to share out (cod-rna: 1,043, once 20,000)."""
    X = rows(20_000, 4)
    model = OneClassSVM(nu=0.05).fit(X)
    inside = model.decision_function(X) > 1e-3 * model.offset_
    assert not np.any(inside[model.support_])
    assert len(model.support_) < 0.07 * len(X)


def test_decisions_predictions_and_scores_agree():
    X = rows()
    model = OneClassSVM(nu=0.2).fit(X)
    decisions = model.decision_function(X)
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, decisions, atol=1e-12)
    assert model.intercept_[0] == -model.offset_
    np.testing.assert_array_equal(model.predict(X), np.where(decisions < 0, -1, 1))
    np.testing.assert_array_equal(clone(model).fit_predict(X), model.predict(X))
    assert is_outlier_detector(model)


def test_gap_is_certified_and_recorded():
    model = OneClassSVM(nu=0.1, tol=1e-6).fit(rows(6000))
    assert model.converged_
    assert 0 <= model.relative_gap_ <= 1e-6
    assert model.history_["relative_gap"][-1] == pytest.approx(model.relative_gap_)
    assert model.dual_gap_ <= 1e-6 * model.history_["primal"][-1]
    assert model.n_iter_ == max(1, model.history_["iteration"][-1])
    assert model.solver_ == "pairs"


@pytest.mark.parametrize("nu", [0.05, 0.4])
@pytest.mark.parametrize("strategy", ["exact", Stratified(levels=1, fan_in=2)], ids=str)
def test_optimum_of_clarabel(nu, strategy):
    X, weights = rows(), np.random.default_rng(6).uniform(0.2, 3.0, size=300)
    model = OneClassSVM(nu=nu, gamma=0.3, strategy=strategy, tol=1e-7).fit(X, sample_weight=weights)
    K = rbf_kernel(X, gamma=0.3)
    optimum = one_class_optimum(K, weights, nu)
    coef = np.zeros(300)
    coef[model.support_] = model.dual_coef_[0]
    assert 0.5 * coef @ K @ coef == pytest.approx(optimum.objective, rel=1e-6)
    largest = np.abs(optimum.scores).max()
    np.testing.assert_allclose(model.score_samples(X), optimum.scores, atol=1e-4 * largest)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("strategy", ["exact", "stratified"])
def test_certificate_is_that_of_exact_scores(dtype, strategy):
    """The gap of the duals and of the offset, by their definition and in double precision."""
    X = rows(5000).astype(dtype)
    model = OneClassSVM(nu=0.1, gamma=0.3, strategy=strategy).fit(X)
    K = rbf_kernel(X.astype(np.float64), X[model.support_].astype(np.float64), gamma=0.3)
    coef = model.dual_coef_[0]
    scores = K @ coef
    norm = 0.5 * coef @ scores[model.support_]
    violations = np.maximum(model.offset_ - scores, 0.0).sum()
    primal = norm - model.offset_ * 0.1 * 5000 + violations
    dual = -norm
    assert -1e-9 * norm <= primal - dual <= 1.01 * model.dual_gap_ + 1e-9 * norm
    assert model.relative_gap_ <= model.tol
    assert np.all((coef > 0) & (coef <= 1))


def test_weight_two_is_the_row_twice():
    X, count = rows(200), np.random.default_rng(4).integers(0, 4, size=200)
    weighted = OneClassSVM(nu=0.2).fit(X, sample_weight=count)
    copied = OneClassSVM(nu=0.2).fit(np.repeat(X, count, axis=0))
    np.testing.assert_allclose(
        weighted.decision_function(X),
        copied.decision_function(X),
        atol=SAME_DECISION * weighted.offset_,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparse_rows_give_the_same_model(dtype):
    X = rows(500).astype(dtype)
    X[X < 0] = 0
    dense, sparse = OneClassSVM(nu=0.2).fit(X), OneClassSVM(nu=0.2).fit(sp.csr_matrix(X))
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(
        dense.decision_function(X),
        sparse.decision_function(sp.csr_matrix(X)),
        atol=1e-5 * dense.offset_,
    )


def test_threads_and_order_change_nothing_that_matters():
    X = rows(6000)
    one, two = (OneClassSVM(nu=0.1, n_jobs=k).fit(X) for k in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    turned = OneClassSVM(nu=0.1).fit(X[::-1])
    scores = one.score_samples(X[:100])
    np.testing.assert_allclose(turned.score_samples(X[:100]), scores, rtol=0.02)


@pytest.mark.parametrize("kernel", ["precomputed", rbf_kernel])
def test_kernel_values_give_the_same_model(kernel):
    X, new = rows(200), rows(20, seed=1)
    plain = OneClassSVM(nu=0.2, gamma=1 / 3).fit(X)
    given = OneClassSVM(nu=0.2, kernel=kernel)
    matrix = kernel == "precomputed"
    given.fit(rbf_kernel(X) if matrix else X)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(new, X) if matrix else new),
        plain.decision_function(new),
        atol=1e-6 * plain.offset_,
    )


@pytest.mark.parametrize("nu", [0.2, 1.0])
@pytest.mark.parametrize("X", [np.ones((20, 3)), np.zeros((5, 1)), [[1.0, 2.0]], [[0.0], [1.0]]])
def test_degenerate_data(X, nu):
    model = OneClassSVM(nu=nu).fit(X)
    assert model.converged_
    assert np.isfinite(model.offset_)
    assert model.dual_coef_.sum() == pytest.approx(nu * len(X))
    assert np.mean(model.decision_function(X) < -1e-9) <= nu


def test_zero_function_is_no_failure():
    """Centred rows and a linear kernel: nothing can be told apart, which is the solution."""
    X = rows(5000) - rows(5000).mean(axis=0)
    model = OneClassSVM(nu=0.5, kernel="linear").fit(X)
    assert model.converged_
    np.testing.assert_allclose(model.score_samples(X), 0.0, atol=1e-4)


def test_limits_warn_and_leave_a_model():
    X = rows(6000)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = OneClassSVM(nu=0.05, max_iter=1, tol=1e-9).fit(X)
    assert not model.converged_
    assert model.relative_gap_ > 1e-9
    assert model.predict(X).shape == (6000,)


def test_indefinite_kernel_warns():
    with pytest.warns(ConvergenceWarning, match="indefinite"):
        model = OneClassSVM(kernel="sigmoid", gamma=0.5, coef0=-1.0).fit(rows(100) + 1)
    assert np.isnan(model.relative_gap_)
    # At most half the rows are outliers by the scores of the kernel as it was given.
    assert np.mean(model.decision_function(rows(100) + 1) < -1e-6) <= 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [({"nu": 0.0}, "nu"), ({"nu": 1.5}, "nu"), ({"kernel": "rbs"}, "kernel"), ({"tol": 0}, "tol")],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        OneClassSVM(**options).fit(rows(10))


def test_parameters_of_sklearn_are_refused_with_advice():
    with pytest.raises(TypeError, match="memory_limit"):
        OneClassSVM(cache_size=500)


def test_refused_rows_leave_the_earlier_model():
    X = rows(50)
    model = OneClassSVM().fit(X)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="weight"):
        model.fit(rows(50, 5), sample_weight=np.zeros(50))
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        OneClassSVM().predict(rows(3))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_saved_and_pickled_models_decide_the_same(tmp_path, kernel):
    X = rows(200)
    data = rbf_kernel(X) if kernel == "precomputed" else X
    model = OneClassSVM(nu=0.1, kernel=kernel).fit(data)
    model.save(tmp_path / "novelty.wm")
    for other in (load_model(tmp_path / "novelty.wm"), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
        np.testing.assert_array_equal(other.decision_function(data), model.decision_function(data))
        np.testing.assert_array_equal(other.score_samples(data), model.score_samples(data))
        assert other.relative_gap_ == model.relative_gap_


def test_works_in_a_pipeline_that_is_saved(tmp_path):
    from widemargin import save

    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), OneClassSVM(nu=0.1)).fit(X[y == 0])
    assert np.mean(pipeline.predict(X[y == 0]) == 1) > 0.8
    assert np.all(pipeline.predict(X[y == 2]) == -1)
    save(pipeline, tmp_path / "pipeline.wm")
    loaded = load_model(tmp_path / "pipeline.wm")
    np.testing.assert_array_equal(loaded.decision_function(X), pipeline.decision_function(X))


def test_damaged_model_is_refused(tmp_path):
    model = OneClassSVM().fit(rows(50))
    model.offset_ += 1.0
    with pytest.raises(ValueError, match="offset_"):
        model.save(tmp_path / "damaged.wm")


def test_a_linear_kernel_of_centred_rows_learns_nothing_and_says_so():
    X = np.random.default_rng(0).normal(size=(300, 3))
    with pytest.warns(UserWarning, match="Every score is zero.*Do not centre"):
        model = OneClassSVM(kernel="linear", nu=0.1).fit(X)
    assert np.abs(model.score_samples(X)).max() < 1e-5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneClassSVM(kernel="linear", nu=0.1).fit(X + 5.0)
        OneClassSVM(nu=0.1).fit(X)
