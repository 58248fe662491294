"""Dense rows of mostly zeros are evaluated as CSR, and nobody can tell."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from widemargin import ODMClassifier, SVMClassifier
from widemargin.core import rows as rows_module
from widemargin.core.rows import SPARSE_FEATURES, SPARSE_SHARE, sparse_if_faster


def one_hot(n: int, features: int, share: float, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng((n, features))
    return (rng.random((n, features)) * (rng.random((n, features)) < share)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 3, 700])
def test_mostly_zeros_become_csr(n: int, dtype: str) -> None:
    """Also over several blocks, which 40,000 features force, and with rows of nothing else."""
    for features in (SPARSE_FEATURES, 40_000 if n == 700 else 50):
        X = one_hot(n, features, 0.1 if features < 100 else 0.0002, dtype)
        X[1:2] = 0.0
        found = sparse_if_faster(X)
        assert sp.issparse(found)
        assert found.dtype == dtype
        assert found.has_canonical_format
        assert found.shape == X.shape
        assert found.nnz == np.count_nonzero(X)
        assert (found != sp.csr_matrix(X)).nnz == 0


def test_others_stay_as_they_are() -> None:
    few = one_hot(50, SPARSE_FEATURES - 1, 0.1)
    full = one_hot(50, 100, SPARSE_SHARE + 0.1)
    csr = sp.csr_matrix(full)
    for X in (few, full, csr):
        assert sparse_if_faster(X) is X


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_models_are_the_same(
    kernel: str, dtype: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = one_hot(150, 48, 0.15, dtype)
    y = np.argmax(X[:, :3] + 0.2 * X[:, 3:6], axis=1)
    queries = one_hot(90, 48, 0.2, dtype)

    def fitted() -> tuple[ODMClassifier, np.ndarray]:
        model = ODMClassifier(kernel=kernel, C=2.0, multi_class=scheme, tol=1e-8).fit(X, y)
        return model, model.decision_function(queries)

    model, decisions = fitted()
    assert isinstance(model.support_vectors_, np.ndarray)
    assert model.support_vectors_.dtype == dtype
    # Queries by themselves, sparse or not, have the decisions they have among others.
    np.testing.assert_array_equal(model.decision_function(queries[5:6]), decisions[5:6])
    np.testing.assert_array_equal(model.decision_function(sp.csr_matrix(queries)), decisions)
    monkeypatch.setattr(rows_module, "SPARSE_SHARE", -1.0)
    tolerance = 1e-4 if dtype == "float32" else 1e-7
    np.testing.assert_allclose(model.decision_function(queries), decisions, atol=tolerance)
    np.testing.assert_allclose(fitted()[1], decisions, atol=10 * tolerance)


def test_dense_zeros_agree_with_svc() -> None:
    X = one_hot(200, 40, 0.2)
    y = (X[:, 0] + X[:, 1] > X[:, 2] + X[:, 3]).astype(int)
    ours = SVMClassifier(C=3.0, gamma=0.5, fit_intercept=False, tol=1e-8).fit(X, y)
    gram = np.exp(-0.5 * ((X[:, None] - X[ours.support_][None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(ours.decision_function(X), gram @ ours.dual_coef_[0], atol=1e-10)
    assert np.mean(ours.predict(X) == SVC(C=3.0, gamma=0.5).fit(X, y).predict(X)) > 0.95


def test_precomputed_zeros_stay_a_matrix() -> None:
    K = np.eye(60) + np.diag(np.full(59, 0.3), 1) + np.diag(np.full(59, 0.3), -1)
    y = np.arange(60) % 2
    model = ODMClassifier(kernel="precomputed", tol=1e-6).fit(K, y)
    assert model.relative_gap_ <= 1e-6
    assert model.predict(K).shape == (60,)
