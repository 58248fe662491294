"""Searches for the parameters of regressors: the scores of a grid search, on shared folds."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from tolerances import LAST_DIGITS
from widemargin import (
    LinearODMRegressor,
    LinearODMRegressorCV,
    LinearSVMRegressor,
    LinearSVMRegressorCV,
    ODMRegressor,
    ODMRegressorCV,
    SearchDisplay,
    SVMRegressor,
    SVMRegressorCV,
    load_model,
    to_onnx,
)
from widemargin.estimators import parameter_search, shared_search

KERNEL = [(SVMRegressorCV, SVMRegressor), (ODMRegressorCV, ODMRegressor)]
LINEAR = [(LinearSVMRegressorCV, LinearSVMRegressor), (LinearODMRegressorCV, LinearODMRegressor)]
kernel_kinds = pytest.mark.parametrize("kind", [kind for kind, _ in KERNEL])
every_kind = pytest.mark.parametrize("kind", [kind for kind, _ in KERNEL + LINEAR])


@parametrize_with_checks(
    [
        SVMRegressorCV(Cs=[1.0, 10.0], gammas=1, cv=2),
        ODMRegressorCV(Cs=[1.0], gammas=1),
        LinearSVMRegressorCV(Cs=[0.1, 1.0], epsilons=[0.0, 0.1]),
        LinearODMRegressorCV(Cs=[1.0], upsilons=[0.5, 1.0]),
    ]
)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def curve(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_friedman1(n, 6, noise=1.0, random_state=seed)
    return X, y + 100.0  # far from zero, so that each fold's middle matters


@pytest.fixture(scope="module")
def few() -> tuple[np.ndarray, np.ndarray]:
    return curve(150)


@pytest.fixture(scope="module")
def many() -> tuple[np.ndarray, np.ndarray]:
    """Enough rows to share blocks, some of them twice."""
    X, y = curve(1500)
    return np.vstack([X, X[:200]]), np.append(y, y[:200])


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> list:
    """Let folds of few rows share blocks; note when they do."""
    together = parameter_search.scores_on_shared_blocks
    calls: list = []
    monkeypatch.setattr(shared_search, "ALONE_ROWS", 500)
    monkeypatch.setattr(
        parameter_search, "scores_on_shared_blocks", lambda *a: calls.append(a) or together(*a)
    )
    return calls


def assert_scores_of_a_grid_search(model, regressor, X, y, atol: float) -> None:
    names = list(model.best_params_)
    tried = {name: sorted({row[name] for row in model.cv_results_["params"]}) for name in names}
    search = GridSearchCV(regressor, tried, cv=model.cv, scoring=model.scoring).fit(X, y)
    found, expected = (
        {
            tuple(row[name] for name in names): score
            for row, score in zip(table["params"], table["mean_test_score"], strict=True)
        }
        for table in (model.cv_results_, search.cv_results_)
    )
    assert found.keys() == expected.keys()
    for each, score in found.items():
        assert score == pytest.approx(expected[each], abs=atol)
    assert model.best_score_ == pytest.approx(search.best_score_, abs=atol)


@pytest.mark.parametrize(("kind", "regressor"), KERNEL + LINEAR)
def test_small_sets(kind: type, regressor: type, few: tuple) -> None:
    X, y = few
    width = {"gammas": [0.3, 1.0]} if issubclass(kind, parameter_search.KernelSearch) else {}
    band = {"epsilons": [0.1, 1.0]} if "SVM" in kind.__name__ else {"thetas": [0.1, 1.0]}
    model = kind(Cs=[0.5, 8.0], **width, **band, cv=4, tol=LAST_DIGITS).fit(X, y)
    assert model.scores_.shape == (4 if width else 2, 2, 4)
    assert_scores_of_a_grid_search(model, regressor(tol=LAST_DIGITS), X, y, atol=1e-4)


@pytest.mark.parametrize(("kind", "regressor"), KERNEL)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_folds_that_share_blocks(kind, regressor, fit_intercept, many, sharing) -> None:
    X, y = many
    settings = {"fit_intercept": fit_intercept, "tol": 1e-5}
    folds = KFold(3, shuffle=True, random_state=1)
    model = kind(Cs=[0.5, 8.0], gammas=[0.1, 1.0], cv=folds, **settings).fit(X, y)
    assert len(sharing) == 2  # once for each gamma
    assert_scores_of_a_grid_search(model, regressor(**settings), X, y, atol=2e-3)
    assert model.relative_gap_ <= model.tol


def test_the_squared_loss_shares_blocks(many: tuple, sharing: list) -> None:
    X, y = many
    loss = {"loss": "squared_epsilon_insensitive", "tol": 1e-5}
    model = SVMRegressorCV(Cs=[0.5], gammas=[0.3], epsilons=[0.0, 2.0], cv=3, **loss).fit(X, y)
    assert len(sharing) == 2  # once for each epsilon
    assert_scores_of_a_grid_search(model, SVMRegressor(**loss), X, y, atol=2e-3)


@kernel_kinds
def test_shared_blocks_with_weights(kind: type, many: tuple, sharing: list) -> None:
    """A row of weight two is the row twice, and one of weight zero is not there."""
    X, y = many
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    split = np.arange(len(y)) % 2
    folds = [(np.flatnonzero(split != k), np.flatnonzero(split == k)) for k in (0, 1)]
    common = {"Cs": [1.0], "gammas": [0.3], "tol": 1e-6, "refit": False}
    weighted = kind(cv=folds, **common).fit(X, y, weight)
    order = np.repeat(np.arange(len(y)), weight.astype(int))
    again = split[order]
    folds = [(np.flatnonzero(again != k), np.flatnonzero(again == k)) for k in (0, 1)]
    repeated = kind(cv=folds, **common).fit(X[order], y[order])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, atol=1e-4)
    assert len(sharing) == 2


@kernel_kinds
def test_other_scores_on_shared_blocks(kind: type, many: tuple, sharing: list) -> None:
    X, y = many
    settings = {"scoring": "neg_mean_absolute_error", "tol": 1e-5, "cv": 2, "refit": False}
    model = kind(Cs=[1.0], gammas=[0.3], **settings).fit(X, y)
    for k, (train, test) in enumerate(KFold(2).split(X)):
        alone = kind._searched(C=1.0, gamma=0.3, tol=1e-5).fit(X[train], y[train])
        expected = -mean_absolute_error(y[test], alone.predict(X[test]))
        assert model.scores_[0, 0, k] == pytest.approx(expected, abs=5e-3)
    assert sharing


@kernel_kinds
def test_results_are_the_same_for_any_number_of_threads(kind, many, sharing) -> None:
    one, two = (kind(Cs=[2.0], gammas=[0.3], cv=3, n_jobs=n).fit(*many) for n in (1, 3))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@every_kind
def test_sparse_rows_and_a_function_as_score(kind: type, few: tuple) -> None:
    X, y = few

    def real_models_only(model, X, y) -> float:
        assert type(model) is kind._searched
        return -mean_absolute_error(y, model.predict(X))

    search = kind(Cs=[1.0, 10.0], cv=2, tol=1e-6, scoring=real_models_only)
    dense, rows = (clone(search).fit(each, y) for each in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(dense.scores_, rows.scores_, rtol=1e-4)
    assert dense.best_params_ == rows.best_params_


@every_kind
def test_the_best_is_what_the_search_predicts_with(kind: type, few: tuple, tmp_path) -> None:
    X, y = few
    search = kind(Cs=[0.01, 10.0], cv=3).fit(X, y)
    best = search.best_estimator_
    assert type(best) is kind._searched
    assert best.C == search.C_ == search.best_params_["C"]
    alone = clone(best).fit(X, y)
    np.testing.assert_allclose(best.predict(X), alone.predict(X))
    np.testing.assert_array_equal(best.predict(X), search.predict(X))
    search.save(tmp_path / "search.wm")
    loaded = load_model(tmp_path / "search.wm")
    assert type(loaded) is kind
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    np.testing.assert_array_equal(loaded.scores_, search.scores_)


@every_kind
def test_onnx_graphs_of_the_best(kind: type, few: tuple) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = few
    search = kind(Cs=[1.0], cv=2).fit(X, y)
    session = onnxruntime.InferenceSession(to_onnx(search).SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0]
    np.testing.assert_allclose(np.ravel(found), search.predict(X), rtol=1e-4)


def test_pictures_of_scores(few: tuple) -> None:
    pytest.importorskip("matplotlib")
    X, y = few
    search = SVMRegressorCV(Cs=3, gammas=2, cv=2).fit(X, y)
    display = SearchDisplay.from_estimator(search)
    assert (display.x_name, display.y_name) == ("C", "gamma")
    assert display.best_.get_xdata() == [search.C_]
    one = SearchDisplay.from_estimator(LinearSVMRegressorCV(Cs=3, cv=2).fit(X, y))
    assert one.mesh_ is None


def test_folds_are_five_and_have_two_rows(few: tuple) -> None:
    X, y = few
    assert LinearSVMRegressorCV(Cs=[1.0]).fit(X, y).scores_.shape[2] == 5
    assert LinearSVMRegressorCV(Cs=[1.0]).fit(X[:7], y[:7]).scores_.shape[2] == 3


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (SVMRegressorCV(epsilons=[0.1, -1.0]), r"`epsilons` must be one or more numbers in \[0, ∞"),
        (ODMRegressorCV(thetas=[[0.1]]), r"`thetas` must be one or more numbers in \[0, ∞\)"),
        (LinearODMRegressorCV(upsilons=[0.0]), r"`upsilons` must be one or more numbers in \(0, 1"),
        (SVMRegressorCV("linear", gammas=3), "`gammas` must be None where"),
        (LinearSVMRegressorCV(Cs=[-1.0]), "`Cs` must be"),
    ],
)
def test_values_out_of_range_are_refused(search, message: str, few: tuple) -> None:
    with pytest.raises(ValueError, match=message):
        search.fit(*few)


def test_folds_without_weight_are_refused(few: tuple) -> None:
    X, y = few
    first, second = np.arange(75), np.arange(75, 150)
    for weight, part in ((second > 0, "training"), (second < 0, "test")):
        weight = np.append(~weight, weight).astype(float)
        with pytest.raises(ValueError, match=f"needs {part} rows of positive weight in every fold"):
            LinearSVMRegressorCV(Cs=[1.0], cv=[(first, second)]).fit(X, y, weight)


@every_kind
def test_scores_of_classes_are_refused(kind):
    X, y = make_friedman1(40, random_state=0)
    for scoring in ("accuracy", "roc_auc", "mse"):
        with pytest.raises(ValueError, match=rf"'scoring'.*among.*'r2'.*Got '{scoring}'") as raised:
            kind(scoring=scoring, Cs=[1.0], cv=2).fit(X, y)
        assert "'f1'" not in str(raised.value)
    search = kind(scoring="neg_mean_absolute_error", Cs=[1.0], cv=2).fit(X, y)
    assert search.best_score_ < 0
