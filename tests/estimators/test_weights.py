"""Sample and class weights: a row of weight two is the row twice."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from toy_data import circles

from tolerances import LAST_DIGITS, SAME_DECISION
from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators.kernel_machine import KernelMachine

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)


def test_zero_weight_is_no_row(model: KernelMachine) -> None:
    X, y = circles()
    keep = np.arange(80) % 3 != 1
    keep[-1] = False
    model.set_params(random_state=0)
    left_out = model.fit(X[keep], y[keep]).decision_function(X)
    weighted = model.fit(X, y, keep.astype(float))
    np.testing.assert_allclose(weighted.decision_function(X), left_out, atol=SAME_DECISION)
    assert set(weighted.support_) <= set(np.flatnonzero(keep))
    np.testing.assert_array_equal(weighted.support_vectors_, X[weighted.support_])


@classes
def test_zero_weights_with_a_precomputed_kernel(kind: type) -> None:
    X, y = circles()
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    keep = np.arange(80) % 3 != 1
    part = kind("precomputed").fit(K[np.ix_(keep, keep)], y[keep])
    whole = kind("precomputed").fit(K, y, keep.astype(float))
    np.testing.assert_allclose(
        whole.decision_function(K), part.decision_function(K[:, keep]), atol=SAME_DECISION
    )


def test_weight_two_is_the_row_twice(model: KernelMachine) -> None:
    X, y = circles()
    copies = 1 + np.arange(80) % 3
    rows = np.repeat(np.arange(80), copies)
    model.set_params(tol=LAST_DIGITS)
    weighted = model.fit(X, y, copies).decision_function(X)
    repeated = model.fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=SAME_DECISION)


def test_lambda_counts_rows_by_weight() -> None:
    X, y = circles()
    copies = 1 + np.arange(80) % 3
    rows = np.repeat(np.arange(80), copies)
    model = ODMClassifier(lam=20.0, theta=0.3, tol=LAST_DIGITS)
    weighted = model.fit(X, y, copies).decision_function(X)
    repeated = model.fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=SAME_DECISION)
    C = 20.0 / (80 * 0.7**2)
    by_row = ODMClassifier(C=C, theta=0.3).fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X), by_row, atol=SAME_DECISION)


def test_class_weights_are_sample_weights(model: KernelMachine) -> None:
    X, y = circles()
    y[:30] = 0
    by_class = (
        model.set_params(gamma=0.7, class_weight={0: 1.0, 1: 3.0}).fit(X, y).decision_function(X)
    )
    by_row = model.set_params(class_weight=None).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_row.decision_function(X), by_class, atol=SAME_DECISION)
    counts = np.bincount(y)
    balanced = model.set_params(class_weight="balanced").fit(X, y).decision_function(X)
    by_row = model.set_params(class_weight=None).fit(X, y, (80 / (2 * counts))[y])
    np.testing.assert_allclose(by_row.decision_function(X), balanced, atol=SAME_DECISION)


@classes
def test_class_weights_leave_the_kernel_alone(kind: type) -> None:
    """They say what errors cost, not how rows are spread; sample weights say both."""
    X, y = circles()
    plain = kind().fit(X, y).gamma_
    assert kind(class_weight={0: 1.0, 1: 9.0}).fit(X, y).gamma_ == plain
    assert kind().fit(X, y, np.where(X[:, 0] > 0, 9.0, 1.0)).gamma_ != plain


def test_imbalance_without_intercept(model: KernelMachine) -> None:
    X, y = make_classification(
        400, 5, n_informative=3, weights=[0.95], class_sep=2.0, flip_y=0, random_state=0
    )
    balanced = model.set_params(class_weight="balanced").fit(X, y).predict(X)
    assert balanced_accuracy_score(y, balanced) > 0.9


def test_weights_over_many_orders_of_magnitude(model: KernelMachine) -> None:
    X, y = circles()
    weights = 10.0 ** np.linspace(-9, 3, 80)
    assert model.fit(X, y, weights).converged_


def test_subnormal_weights_end() -> None:
    X, y = circles(1100)
    weights = np.where(np.arange(1100) % 3 == 0, 1e-320, 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ODMClassifier(max_time=1.0).fit(X, y, weights)
    assert not any("max_time" in str(w.message) for w in caught)
    assert model.score(X, y) > 0.9


@classes
def test_class_weights_of_absent_classes_are_ignored(kind: type) -> None:
    """A cross-validation fold may miss a class that the settings name."""
    X, y = circles()
    expected = kind(class_weight={1: 3.0}, random_state=0).fit(X, y).decision_function(X)
    model = kind(class_weight={1: 3.0, 7: 2.0}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected)
