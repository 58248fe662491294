"""Kernels given as a matrix or a function, and kernels that are not positive."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from toy_data import circles

from tolerances import SAME_DECISION
from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators.kernel_machine import KernelMachine

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)


def test_precomputed_and_callable_kernels(model: KernelMachine) -> None:
    def gaussian(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-2.0 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    X, y = circles()
    Xt, _ = circles(30, seed=1)
    model.set_params(kernel="rbf", gamma=2.0, fit_intercept=True)
    expected = model.fit(X, y).decision_function(Xt)
    model.set_params(kernel=gaussian).fit(X, y)
    assert model.gamma_ is None
    np.testing.assert_allclose(model.decision_function(Xt), expected, atol=SAME_DECISION)
    model.set_params(kernel="precomputed").fit(gaussian(X, X), y)
    np.testing.assert_allclose(
        model.decision_function(gaussian(Xt, X)), expected, atol=SAME_DECISION
    )
    assert model.support_vectors_.shape == (len(model.support_), 0)


@classes
@pytest.mark.parametrize("n_rows", [550, 1100])
def test_precomputed_kernel_of_many_rows(kind: type, n_rows: int) -> None:
    X, y = circles(n_rows)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = kind("precomputed").fit(K, y)
    assert model.converged_
    assert model.relative_gap_ < 1e-3
    assert model.score(K, y) > 0.9


@pytest.mark.parametrize(
    "kind",
    [
        ODMClassifier,
        SVMClassifier,
    ],
)
def test_precomputed_kernel_in_float32(kind: type) -> None:
    """Rounding makes its lowest eigenvalues negative; that is no reason to refuse it."""
    X, y = make_blobs(300, random_state=0)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    model = kind("precomputed", fit_intercept=True).fit(X @ X.T, y)
    assert model.converged_
    assert model.score(X @ X.T, y) > 0.8


@pytest.mark.parametrize("n_rows", [120, 1100])
def test_indefinite_kernel_has_no_certificate(model: KernelMachine, n_rows: int) -> None:
    X, y = make_classification(n_rows, 5, class_sep=2.0, random_state=0)
    model.set_params(kernel="sigmoid", gamma=0.2)
    with pytest.warns(ConvergenceWarning, match=r"indefinite .* `relative_gap_` is NaN"):
        model.fit(X, y)
    assert model.converged_
    assert np.isnan(model.relative_gap_)
    assert np.isnan(model.dual_gap_)
    assert model.score(X, y) > 0.8


def test_indefinite_precomputed_kernel() -> None:
    X, y = circles()
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.warns(ConvergenceWarning, match=r"lowest eigenvalue about -0.5"):
        model = SVMClassifier("precomputed").fit(K - 0.5 * np.eye(80), y)
    assert np.isnan(model.relative_gap_)
    assert model.score(K, y) > 0.9
