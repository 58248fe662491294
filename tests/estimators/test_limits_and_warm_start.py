"""Limits name themselves, an interrupted fit is a model, and a fit may go on from the last one."""

import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from toy_data import circles

from tolerances import LAST_DIGITS, SAME_DECISION
from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators.kernel_machine import KernelMachine

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)


# Limits


@pytest.mark.parametrize("n_rows", [200, 1500])
def test_max_iter_is_named(model: KernelMachine, n_rows: int) -> None:
    X, y = circles(n_rows)
    model.set_params(C=1e5, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"did not converge: .*tol=1e-09. `max_iter` was"):
        model.fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.relative_gap_ > 1e-9
    assert model.predict(X).shape == (n_rows,)


def test_max_time_is_named(model: KernelMachine) -> None:
    n_rows = 1200 if model.solver == "newton" else 4000
    X, y = make_classification(n_rows, 20, flip_y=0.4, random_state=0)
    model.set_params(max_time=0.001, tol=1e-12)
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model.fit(X, y)
    assert time.perf_counter() - started < 5
    assert not model.converged_
    assert np.isfinite(model.relative_gap_)


@classes
def test_several_problems_are_summed_up_in_one_warning(kind: type) -> None:
    X, y = make_classification(300, 8, n_informative=6, n_classes=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="in 3 of 3 binary problems") as caught:
        kind(C=1e4, max_iter=1, tol=1e-9).fit(X, y)
    assert len(caught) == 1


@classes
def test_interrupted_fit_is_a_model(kind: type) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15_000, 150)).astype(np.float32), np.arange(15_000) % 2
    model = kind(tol=1e-12, memory_limit="40MB")
    timer = threading.Timer(1.0, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert not model.converged_
    assert np.isnan(model.relative_gap_)
    assert model.n_support_.sum() > 0
    assert set(model.predict(X[:20])) <= {0, 1}
    assert model.history_["primal"].size > 0


# Warm start


def test_warm_start_at_the_solution_is_immediate(model: KernelMachine) -> None:
    X, y = circles(1200)
    model.set_params(warm_start=True, max_iter=10_000)
    weights = np.ones(1200)
    weights[-5:] = 0.0
    model.fit(X, y, weights)
    first = model.decision_function(X)
    model.fit(X, y, weights)
    assert model.n_iter_ <= 1
    np.testing.assert_allclose(model.decision_function(X), first, atol=1e-9)


@pytest.mark.parametrize("n_rows", [80, 1100])
def test_warm_start_survives_any_change(model: KernelMachine, n_rows: int) -> None:
    """Smaller C (the old solution is outside the box), flipped labels, other kernel, other rows."""
    X, y = circles(n_rows)
    model.set_params(warm_start=True, C=100.0, max_time=20.0).fit(X, y)
    for change in ({"C": 0.1}, {"C": 1.0, "kernel": "laplacian"}, {"multi_class": "ovo"}):
        model.set_params(**change).fit(X, y)
        assert model.converged_
    assert model.fit(X, 1 - y).score(X, 1 - y) > 0.9
    assert model.fit(X[::2], y[::2]).score(X, y) > 0.9
    assert model.fit(X, y + 5).score(X, y + 5) > 0.9


def test_warm_start_from_one_scheme_to_the_other() -> None:
    """Three classes are three problems either way, with other rows and signs."""
    X, y = make_classification(150, 8, n_informative=5, n_classes=3, random_state=0)
    model = SVMClassifier(warm_start=True, tol=LAST_DIGITS).fit(X, y)
    warm = model.set_params(multi_class="ovo").fit(X, y).decision_function(X)
    cold = SVMClassifier(multi_class="ovo", tol=LAST_DIGITS).fit(X, y).decision_function(X)
    np.testing.assert_allclose(warm, cold, atol=SAME_DECISION)
