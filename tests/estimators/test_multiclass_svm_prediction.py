"""Prediction with many classes: sparse weights, the best k of them, bounded memory."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from widemargin import MulticlassSVMClassifier
from widemargin.estimators import multiclass_svm_prediction
from widemargin.estimators.multiclass_svm_prediction import best_columns

N_CLASSES, N_WORDS = 12, 300
N_FEATURES = 5 * N_WORDS  # most of which never occur, as with hashed words


def topics(n_rows: int = 120) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows of a few words each, most of them from the class's own vocabulary."""
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % N_CLASSES
    own = N_WORDS // N_CLASSES
    words = y[:, None] * own + random.integers(0, own, (n_rows, 6))
    words[:, 0] = random.integers(0, N_WORDS, n_rows)
    X = np.zeros((n_rows, N_FEATURES))
    X[np.arange(n_rows)[:, None], 5 * words] = random.uniform(0.5, 1.0, words.shape)
    return sp.csr_matrix(X), y


@pytest.fixture(scope="module")
def sparse_model() -> MulticlassSVMClassifier:
    X, y = topics()
    return MulticlassSVMClassifier("cs", random_state=0).fit(X, y)


def test_sparse_weights_are_kept_sparsely(sparse_model: MulticlassSVMClassifier) -> None:
    coef = sparse_model.coef_
    assert sp.issparse(coef)
    assert coef.format == "csr"
    assert coef.shape == (N_CLASSES, N_FEATURES)
    assert isinstance(sparse_model.intercept_, np.ndarray)
    assert sparse_model.intercept_.shape == (N_CLASSES,)
    assert sparse_model.density_ == np.count_nonzero(coef.toarray()) / coef.toarray().size
    assert 0 < sparse_model.density_ < 0.25
    assert sparse_model.score(*topics()) > 0.95


def test_two_classes_may_have_sparse_weights() -> None:
    X, y = topics()
    pair = y < 2
    model = MulticlassSVMClassifier("ww", random_state=0).fit(X[pair], y[pair])
    assert sp.issparse(model.coef_)
    assert model.coef_.shape == (1, N_FEATURES)
    assert model.decision_function(X).shape == (120,)
    assert model.score(X[pair], y[pair]) > 0.95


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_pair_of_forms_predicts_alike(
    sparse_model: MulticlassSVMClassifier, kind: object, dtype: type
) -> None:
    X = topics()[0].toarray().astype(dtype)
    given = kind(X)  # type: ignore[operator]
    expected = X.astype(np.float64) @ sparse_model.coef_.toarray().T + sparse_model.intercept_
    try:
        for change in ("sparsify", "densify"):
            assert getattr(sparse_model, change)() is sparse_model
            decision = sparse_model.decision_function(given)
            assert isinstance(decision, np.ndarray)
            np.testing.assert_allclose(decision, expected, rtol=1e-12, atol=1e-12)
            top = sparse_model.predict_top_k(given, 4)
            np.testing.assert_array_equal(top[:, 0], sparse_model.predict(given))
            values = np.take_along_axis(decision, top, axis=1)
            np.testing.assert_array_equal(values, -np.sort(-decision, axis=1)[:, :4])
        assert isinstance(sparse_model.coef_, np.ndarray)
    finally:
        sparse_model.sparsify()


def test_blocks_and_threads_change_nothing(
    sparse_model: MulticlassSVMClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = topics(2000)
    expected = sparse_model.decision_function(X)
    monkeypatch.setattr(multiclass_svm_prediction, "BLOCK_VALUES", 100)
    for n_jobs in (1, 2):
        sparse_model.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(sparse_model.decision_function(X), expected)
        np.testing.assert_array_equal(sparse_model.predict(X), expected.argmax(axis=1))
    sparse_model.set_params(n_jobs=None)


@pytest.mark.parametrize("k", [1, 2, 5, 9, 10])
def test_the_best_are_those_of_a_stable_sort(k: int) -> None:
    scores = np.random.default_rng(k).integers(0, 4, (200, 10)).astype(float)  # many ties
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(best_columns(scores, k), expected)


def test_the_best_are_found_beside_numbers_that_are_none() -> None:
    scores = np.array([[np.nan, 1.0, np.inf, -np.inf], [np.nan] * 4])
    best = best_columns(scores, 3)
    assert best.shape == (2, 3)
    assert all(len(set(row)) == 3 for row in best.tolist())


def test_equally_good_classes_come_in_their_order() -> None:
    X, y = topics()
    model = MulticlassSVMClassifier(fit_intercept=False).fit(X, y)
    top = model.predict_top_k(np.zeros((1, N_FEATURES)), 4)
    assert top.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("k", [0, -1, N_CLASSES + 1, 2.0, True, None, "1"])
def test_k_must_be_a_number_of_classes(sparse_model: MulticlassSVMClassifier, k: object) -> None:
    with pytest.raises(ValueError, match=r"`k` must be an integer from 1 to .* 12; got "):
        sparse_model.predict_top_k(topics()[0], k)  # type: ignore[arg-type]


def test_memory_does_not_grow_with_rows_times_classes() -> None:
    n_rows, n_classes = 10_000, 2_000  # 160 MB of scores
    X, y = topics()
    with pytest.warns(ConvergenceWarning):
        model = MulticlassSVMClassifier(max_iter=1, n_jobs=2, tol=1e-9).fit(X, y)
    model.classes_ = np.arange(n_classes)
    model.coef_ = sp.random(n_classes, N_FEATURES, density=0.01, format="csr", random_state=0)
    model.intercept_ = np.zeros(n_classes)
    rows = sp.random(n_rows, N_FEATURES, density=0.01, format="csr", random_state=1)
    tracemalloc.start()
    try:
        assert model.predict(rows).shape == (n_rows,)
        assert model.predict_top_k(rows, 5).shape == (n_rows, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
