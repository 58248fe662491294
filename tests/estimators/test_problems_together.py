"""Several binary problems at the same time: the same models, records and manners as one by one."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators.kernel_machine import KernelMachine
from widemargin.kernel import problems

CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)
schemes = pytest.mark.parametrize("multi_class", ["ovr", "ovo"])


def five_classes(n_rows: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n_rows, 8, n_informative=6, n_classes=5, n_clusters_per_class=1, random_state=0
    )


@classes
@schemes
def test_as_one_by_one(kind: type, multi_class: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = five_classes()
    together = kind(multi_class=multi_class, random_state=0, n_jobs=2).fit(X, y)
    monkeypatch.setattr(problems, "FEWEST_AT_ONCE", 1000)
    alone = kind(multi_class=multi_class, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(together.dual_coef_, alone.dual_coef_)
    for column in ("problem", "iteration", "primal", "dual", "relative_gap", "passes"):
        np.testing.assert_array_equal(together.history_[column], alone.history_[column])
    for attribute in ("dual_gap_", "relative_gap_", "n_iter_", "solver_", "converged_"):
        assert getattr(together, attribute) == getattr(alone, attribute)


@classes
def test_threads_do_not_change_a_bit(kind: type) -> None:
    X, y = five_classes()
    one, two = (kind(multi_class="ovo", random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@classes
def test_time_is_for_all_of_them(kind: type) -> None:
    X, y = five_classes(6000)
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model = kind(C=1e4, tol=1e-12, max_time=0.05, n_jobs=2).fit(X, y)
    assert not model.converged_
    assert model.predict(X).shape == y.shape


def interrupted(model: KernelMachine, X: np.ndarray, y: np.ndarray, after: float) -> None:
    timer = threading.Timer(after, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()


@classes
def test_an_interrupt_leaves_the_earlier_model_if_a_class_was_not_begun(kind: type) -> None:
    X, y = five_classes(12_000)
    model = kind(n_jobs=2).fit(X[::20], y[::20])
    before = model.dual_coef_
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 0, y)
    interrupted(model.set_params(C=1e5, tol=1e-12), X, noisy, 1.0)
    assert model.dual_coef_ is before
    assert model.score(X, y) > 0.7


@classes
def test_time_is_shared_by_all_problems(kind: type) -> None:
    X, y = five_classes(12_000)
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 0, y)
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model = kind(C=1e4, tol=1e-12, max_time=2.0, n_jobs=2).fit(X, noisy)
    assert np.all(np.any(model.dual_coef_, axis=1))


def test_an_error_in_one_of_them_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise LookupError("from a problem")

    monkeypatch.setattr(problems, "solve_binary", fail)
    with pytest.raises(LookupError, match="from a problem"):
        SVMClassifier(solver="blocks", n_jobs=2).fit(*five_classes(300))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_verbose_counts_the_problems(n_jobs: int, capsys: pytest.CaptureFixture) -> None:
    SVMClassifier(n_jobs=n_jobs, verbose=1).fit(*five_classes(300))
    assert "[SVMClassifier] binary problems: 10 of 10" in capsys.readouterr().out.splitlines()
