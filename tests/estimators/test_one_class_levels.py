"""The one-class machine on a divided training set: levels, their offset, the way to the root."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from tolerances import SAME_DECISION
from widemargin import Clustered, OneClassSVM, Stratified, load_model
from widemargin.core.progress import FitProgress
from widemargin.kernel import one_class_levels

EARLY = Stratified(levels=2, stop_level=2)


def rows(n=3000, features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, features))


def test_root_is_the_exact_model():
    X = rows()
    exact = OneClassSVM(nu=0.1).fit(X)
    for strategy in ("stratified", Stratified(levels=2), Stratified(levels=1, fan_in=3)):
        root = OneClassSVM(nu=0.1, strategy=strategy).fit(X)
        assert (root.strategy_, root.level_, root.solver_) == ("stratified", 0, "pairs")
        assert root.converged_
        assert root.relative_gap_ <= root.tol
        assert root.dual_coef_.sum() == pytest.approx(0.1 * len(X))
        assert root.offset_ == pytest.approx(exact.offset_, rel=1e-3)
        np.testing.assert_allclose(
            root.score_samples(X), exact.score_samples(X), atol=1e-3 * exact.offset_
        )


def test_exact_says_so():
    model = OneClassSVM().fit(rows(100))
    assert (model.strategy_, model.level_) == ("exact", 0)
    assert "passes" in model.history_


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("levels", [1, 2])
def test_early_level_has_the_share_of_outliers(nu, levels):
    X = rows(4000)
    early = OneClassSVM(nu=nu, strategy=Stratified(levels=levels, stop_level=levels)).fit(X)
    assert early.level_ == levels
    assert early.converged_
    assert np.isnan(early.relative_gap_)
    assert early.dual_coef_.sum() == pytest.approx(nu * len(X))
    assert np.mean(early.decision_function(X) < 0) == pytest.approx(nu, abs=1e-3)


def test_offset_from_a_sample(monkeypatch):
    X = rows(4000)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X))
    monkeypatch.setattr(one_class_levels, "OFFSET_ROWS", 1000)
    early = OneClassSVM(nu=0.1, strategy=EARLY).fit(X, sample_weight=weights)
    outside = early.decision_function(X) < 0
    assert np.average(outside, weights=weights) == pytest.approx(0.1, abs=0.03)


def test_early_scores_are_those_of_the_parts_mean():
    """Two parts, which the support vectors tell apart: each is the machine of its own rows."""
    X = rows(400)
    early = OneClassSVM(nu=0.2, gamma=0.5, strategy=Stratified(1, 2, 1)).fit(X)
    exact = OneClassSVM(nu=0.2, gamma=0.5).fit(X)
    history = early.history_
    np.testing.assert_array_equal(history["level"], [1])
    np.testing.assert_array_equal(history["parts"], [2])
    # Small copies: each of the parts has the sum of duals of the whole, the mean has it again.
    assert early.dual_coef_.sum() == pytest.approx(0.2 * 400)
    assert early.dual_coef_.max() <= 1.0 + 1e-12
    # A mean of models of half the rows is near the model of all, and is another one.
    apart = np.abs(early.score_samples(X) - exact.score_samples(X)).max() / exact.offset_
    assert 1e-4 < apart < 0.2


def test_early_level_detects_as_well():
    usual, test = rows(4000), rows(1000, seed=1)
    unusual = 2.5 * rows(1000, seed=2)
    X, y = np.vstack([test, unusual]), np.repeat([1, 0], 1000)
    exact = OneClassSVM(nu=0.1).fit(usual)
    early = OneClassSVM(nu=0.1, strategy=EARLY).fit(usual)
    best = roc_auc_score(y, exact.score_samples(X))
    assert best > 0.8
    assert roc_auc_score(y, early.score_samples(X)) > best - 0.01


def test_auto_divides_beyond_a_size_and_says_so(monkeypatch):
    monkeypatch.setattr(one_class_levels, "EXACT_VALUES", 0.1 * 1000**2)
    monkeypatch.setattr(one_class_levels, "PART_ROWS", 300)
    assert OneClassSVM(nu=0.1).fit(rows(1000)).strategy_ == "exact"
    with pytest.warns(UserWarning, match=r"4 parts.*strategy='exact'"):
        model = OneClassSVM(nu=0.1).fit(rows(1001))
    assert (model.strategy_, model.level_) == ("stratified", 1)
    np.testing.assert_array_equal(model.history_["parts"], [4])
    assert OneClassSVM(nu=0.1, strategy="exact").fit(rows(1001)).level_ == 0
    with pytest.warns(UserWarning, match="16 parts"):
        assert OneClassSVM(nu=0.1).fit(rows(1201)).level_ == 2


def test_time_ends_at_a_level():
    X = rows(6000, 5)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = OneClassSVM(nu=0.5, strategy=Stratified(levels=3), max_time=1e-6).fit(X)
    assert model.level_ > 0
    assert not model.converged_
    assert np.mean(model.decision_function(X) < 0) == pytest.approx(0.5, abs=0.01)


def test_an_interrupt_leaves_the_last_level(monkeypatch):
    def interrupt(progress, level, done, of):
        if level == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report_parts", interrupt)
    X, model = rows(), OneClassSVM(nu=0.1, strategy=Stratified(levels=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.level_ == 1
    assert not model.converged_
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("strategy", [EARLY, "stratified"], ids=str)
def test_threads_change_nothing(strategy):
    X = rows(5000).astype(np.float32)
    one, two = (OneClassSVM(nu=0.1, strategy=strategy, n_jobs=k).fit(X) for k in (1, 2))
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert one.offset_ == two.offset_


def test_seed_divides():
    X = rows(1000)
    same = [OneClassSVM(nu=0.1, strategy=EARLY, random_state=3).fit(X) for _ in range(2)]
    other = OneClassSVM(nu=0.1, strategy=EARLY, random_state=4).fit(X)
    np.testing.assert_array_equal(same[0].dual_coef_, same[1].dual_coef_)
    assert not np.array_equal(same[0].support_, other.support_)


def test_sparse_rows_and_kernel_values_give_the_same_model():
    X = rows(600, 6)  # hardly a row is zero: copies, if they were many, would be merged
    X[X < 0] = 0
    plain = OneClassSVM(nu=0.2, gamma=0.5, strategy=Stratified(1, 2, 1)).fit(X)
    sparse = OneClassSVM(nu=0.2, gamma=0.5, strategy=Stratified(1, 2, 1)).fit(sp.csr_matrix(X))
    matrix = OneClassSVM(nu=0.2, kernel="precomputed", strategy=Stratified(1, 2, 1))
    matrix.fit(rbf_kernel(X, gamma=0.5))
    close = {"rtol": 0, "atol": 1e-3 * plain.offset_}
    expected = plain.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), expected, **close)
    given = matrix.decision_function(rbf_kernel(X, gamma=0.5))
    np.testing.assert_allclose(given, expected, **close)


def test_weight_two_is_the_row_twice():
    """Copies are merged before the rows are divided, so that the parts are the same."""
    X, count = rows(400), np.random.default_rng(4).integers(2, 4, size=400)
    weighted, copied = (OneClassSVM(nu=0.2, strategy=Stratified(1, 2, 1)) for _ in range(2))
    weighted.fit(X, sample_weight=count)
    copied.fit(np.repeat(X, count, axis=0))
    np.testing.assert_allclose(
        weighted.decision_function(X),
        copied.decision_function(X),
        atol=SAME_DECISION * weighted.offset_,
    )


def test_saved_and_pickled_models_decide_the_same(tmp_path):
    X = rows(500)
    model = OneClassSVM(nu=0.1, strategy=EARLY).fit(X)
    model.save(tmp_path / "novelty.wm")
    for other in (load_model(tmp_path / "novelty.wm"), pickle.loads(pickle.dumps(model))):
        assert (other.strategy_, other.level_) == ("stratified", 2)
        assert other.strategy.get_params() == EARLY.get_params()
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("dc", "strategy"),
        (Clustered(levels=1), "strategy"),
        (Stratified(printed=True), "printed"),
        (Stratified(validation_fraction=0.1), "validation_fraction"),
        (Stratified(levels=8), "fan_in"),
    ],
    ids=str,
)
def test_other_divisions_are_refused(strategy, message):
    with pytest.raises(ValueError, match=message):
        OneClassSVM(strategy=strategy).fit(rows(100))
