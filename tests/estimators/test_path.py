"""Paths of C: every model is the one a fit of its own would give, for less work."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from toy_data import circles

from tolerances import LAST_DIGITS
from widemargin import Clustered, ODMClassifier, SVMClassifier, load_model
from widemargin.estimators.kernel_machine import KernelMachine

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
classes = pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])
CS = [4.0, 0.5, 32.0]


def objective(model: KernelMachine) -> float:
    """Primal objective summed over the binary problems, as the fit certified it."""
    problem = model.history_["problem"]
    last = [np.flatnonzero(problem == k)[-1] for k in np.unique(problem)]
    return float(model.history_["primal"][last].sum())


@pytest.mark.parametrize("n_rows", [300, 1500])
def test_models_are_those_of_fits(model: KernelMachine, n_rows: int) -> None:
    X, y = circles(n_rows)
    path = model.fit_path(X, y, CS)
    assert [each.C for each in path] == CS
    assert not hasattr(model, "dual_coef_")
    for each in path:
        alone = clone(each).fit(X, y)
        assert each.converged_
        assert each.relative_gap_ <= model.tol
        assert objective(each) == pytest.approx(objective(alone), rel=2 * model.tol)
        assert set(vars(each)) == set(vars(alone))
        assert each.solver_ == alone.solver_


@classes
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_classes_weights_and_intercept(kind: type, multi_class: str, kernel: str) -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    weights[:9] = 0.0
    data = X @ X.T if kernel == "precomputed" else X
    model = kind(kernel, multi_class=multi_class, class_weight="balanced", fit_intercept=True)
    model.set_params(tol=LAST_DIGITS)
    for each in model.fit_path(data, y, CS, sample_weight=weights):
        alone = clone(each).fit(data, y, weights)
        assert objective(each) == pytest.approx(objective(alone), rel=2 * model.tol)
        np.testing.assert_allclose(
            each.decision_function(data), alone.decision_function(data), atol=1e-5
        )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "odm"])
def test_the_neighbour_saves_work(loss: str) -> None:
    X, y = make_classification(3000, 10, n_informative=6, flip_y=0.1, random_state=0)
    common = {"solver": "coordinate", "random_state": 0, "gamma": 0.02}
    model = ODMClassifier(**common) if loss == "odm" else SVMClassifier(loss=loss, **common)
    path = model.fit_path(X, y, [1.0, 2.0, 4.0])
    alone = [clone(each).fit(X, y) for each in path]
    assert path[0].n_iter_ == alone[0].n_iter_  # nothing to start from
    for warm, cold in zip(path[1:], alone[1:], strict=True):
        assert warm.n_iter_ < 0.8 * cold.n_iter_
        assert warm.history_["passes"][-1] < cold.history_["passes"][-1]


@classes
def test_models_are_saved(kind: type, tmp_path: object) -> None:
    X, y = circles(80)
    for each in kind().fit_path(X, y, CS):
        each.save(tmp_path / "model.wm")
        loaded = load_model(tmp_path / "model.wm")
        np.testing.assert_array_equal(loaded.decision_function(X), each.decision_function(X))
        assert loaded.C == each.C


@classes
def test_one_value_twice_and_names_of_features(kind: type) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = circles(60)
    path = kind().fit_path(pandas.DataFrame(X, columns=["a", "b"]), y, [1.0, 1.0])
    for each in path:
        check_is_fitted(each)
        assert list(each.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(
        path[0].decision_function(pandas.DataFrame(X, columns=["a", "b"])),
        path[1].decision_function(pandas.DataFrame(X, columns=["a", "b"])),
        atol=1e-6,
    )


@classes
@pytest.mark.parametrize("Cs", [[], [0.0], [1.0, -2.0], [np.inf], [np.nan], [[1.0]], 3.0, ["a"]])
def test_bad_values_are_named(kind: type, Cs: object) -> None:
    X, y = circles(20)
    with pytest.raises(ValueError, match="`Cs` must be a list of one or more positive finite"):
        kind().fit_path(X, y, Cs)


def test_lam_is_refused() -> None:
    X, y = circles(20)
    with pytest.raises(ValueError, match=r"A path is over C.*lam=3.0. Set lam=None"):
        ODMClassifier(lam=3.0).fit_path(X, y, [1.0])


@classes
def test_divided_strategies_are_refused(kind: type) -> None:
    X, y = circles(40)
    for strategy in ("sodm", Clustered(levels=1, fan_in=2)):
        with pytest.raises(ValueError, match=r"divides these 40 rows\. Set strategy='exact'"):
            kind(strategy=strategy).fit_path(X, y, [1.0])
    many = np.zeros((100_001, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="divides these 100001 rows"):
        kind().fit_path(many, np.arange(100_001) % 2, [1.0])


@classes
def test_limits_are_for_each_model(kind: type, capsys: pytest.CaptureFixture) -> None:
    X, y = make_classification(2500, 20, flip_y=0.4, random_state=0)
    model = kind(max_time=0.001, tol=1e-12, verbose=1, solver="coordinate")
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        path = model.fit_path(X, y, [1.0, 2.0])
    assert not any(each.converged_ for each in path)
    assert f"[{kind.__name__}] C=2" in capsys.readouterr().out


@classes
def test_settings_of_divided_fits_are_not_ignored(kind: type, tmp_path: object) -> None:
    X, y = circles(40)
    with pytest.warns(UserWarning, match="`checkpoint` is for a training set that is divided"):
        kind(checkpoint=tmp_path).fit_path(X, y, [1.0])
