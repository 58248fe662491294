"""One-vs-rest problems that share blocks have the solutions that they have one by one."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators import kernel_machine
from widemargin.kernel import shared_fit

N_ROWS = 2600
KINDS = [(SVMClassifier, {}), (SVMClassifier, {"loss": "squared_hinge"}), (ODMClassifier, {})]
kinds = pytest.mark.parametrize(("kind", "settings"), KINDS)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        N_ROWS, 12, n_informative=8, n_classes=4, class_sep=1.5, flip_y=0.05, random_state=0
    )
    return X, y


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the fits that solved their problems together."""
    found: list[str] = []
    together = shared_fit.SharedFit._solve_together
    monkeypatch.setattr(
        shared_fit.SharedFit,
        "_solve_together",
        lambda fit: found.append(fit.name) or together(fit),
    )
    return found


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_machine, "can_share_blocks", lambda *_: False)


@kinds
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_solution_as_one_by_one(kind, settings, dtype, rows, calls, monkeypatch) -> None:
    X, y = rows[0].astype(dtype), rows[1]
    model = kind(C=5.0, gamma=0.05, multi_class="ovr", tol=1e-4, **settings)
    together = model.fit(X, y).decision_function(X)
    assert calls
    assert model.relative_gap_ <= 1e-4
    assert model.converged_
    history = model.history_
    assert set(history["problem"]) == {0, 1, 2, 3}
    dual = history["dual"][-4:]
    alone(monkeypatch)
    one_by_one = kind(C=5.0, gamma=0.05, multi_class="ovr", tol=1e-4, **settings).fit(X, y)
    assert len(calls) == 1
    last = [np.flatnonzero(one_by_one.history_["problem"] == k)[-1] for k in range(4)]
    np.testing.assert_allclose(dual, one_by_one.history_["dual"][last], rtol=2e-4)
    np.testing.assert_allclose(together, one_by_one.decision_function(X), atol=0.05)


@kinds
def test_threads_change_nothing(kind, settings, rows, calls) -> None:
    X, y = rows
    coef = []
    for n_jobs in (1, 2):
        model = kind(
            C=5.0, gamma=0.05, multi_class="ovr", n_jobs=n_jobs, memory_limit="8MiB", **settings
        )
        coef.append(model.fit(X.astype(np.float32), y).dual_coef_)
    assert len(calls) == 2
    np.testing.assert_array_equal(*coef)


def test_limits(rows, calls) -> None:
    X, y = rows
    with pytest.warns(UserWarning, match="max_iter"):
        model = SVMClassifier(C=5.0, gamma=0.05, multi_class="ovr", max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    with pytest.warns(UserWarning, match="max_time"):
        model = SVMClassifier(C=5.0, gamma=0.05, multi_class="ovr", max_time=1e-6).fit(X, y)
    assert not model.converged_
    assert len(calls) == 2


def test_float32_goes_on_in_float64_where_it_must(rows, calls) -> None:
    X, y = rows
    model = SVMClassifier(C=5.0, gamma=0.05, multi_class="ovr", tol=1e-9).fit(
        X[:2100].astype(np.float32), y[:2100]
    )
    assert calls
    assert model.relative_gap_ <= 1e-9


def test_paths_and_warm_starts(rows, calls) -> None:
    X, y = rows
    model = ODMClassifier(gamma=0.05, multi_class="ovr", warm_start=True)
    for path in model.fit_path(X, y, [0.5, 5.0]):
        assert path.relative_gap_ <= path.tol
    model.set_params(C=5.0).fit(X, y)
    first = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < first
    assert len(calls) == 4


def test_many_copies_are_merged_instead(rows, calls) -> None:
    X, y = rows
    SVMClassifier(C=5.0, gamma=0.05, multi_class="ovr").fit(
        np.vstack([X, X[:300]]), np.concatenate([y, y[:300]])
    )
    assert not calls
