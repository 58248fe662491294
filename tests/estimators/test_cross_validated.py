"""Searches over C and gamma: the scores of a grid search, on folds that were never trained on."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tolerances import LAST_DIGITS
from widemargin import (
    MarginDistributionDisplay,
    ODMClassifier,
    ODMClassifierCV,
    SVMClassifier,
    SVMClassifierCV,
    load_model,
)
from widemargin.estimators import parameter_search, shared_search
from widemargin.estimators.search_grid import best_row, results_table

PAIRS = [(ODMClassifierCV, ODMClassifier), (SVMClassifierCV, SVMClassifier)]
pairs = pytest.mark.parametrize(("kind", "classifier"), PAIRS)
kinds = pytest.mark.parametrize("kind", [ODMClassifierCV, SVMClassifierCV])
GRID = {"Cs": [0.5, 8.0], "gammas": [0.02, 0.3]}


@parametrize_with_checks(
    [
        ODMClassifierCV(Cs=[1.0, 10.0], gammas=1, cv=2),
        SVMClassifierCV(Cs=[1.0], gammas=1),
    ]
)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def many() -> tuple[np.ndarray, np.ndarray]:
    """Enough rows to share blocks, some of them twice."""
    X, y = make_classification(2400, 8, n_informative=5, flip_y=0.1, random_state=0)
    X, y = np.vstack([X, X[:300]]), np.append(y, y[:300])
    return X.astype(np.float32), np.where(y, "yes", "no")


def by_pair(results: dict) -> dict[tuple, np.ndarray]:
    """Scores of the folds by C and gamma."""
    folds = sorted(name for name in results if name.startswith("split"))
    return {
        tuple(sorted(params.items())): np.array([results[fold][k] for fold in folds])
        for k, params in enumerate(results["params"])
    }


def assert_scores_of_a_grid_search(model, classifier, X, y, rows_per_fold, **fit_params):
    """Equal but for rows whose decision is within ``tol`` of zero."""
    grid = {"C": list(model.Cs_)} | ({} if model.gammas_ is None else {"gamma": model.gammas_})
    search = GridSearchCV(classifier, grid, cv=model.cv, scoring=model.scoring)
    expected = by_pair(search.fit(X, y, **fit_params).cv_results_)
    found = by_pair(model.cv_results_)
    assert found.keys() == expected.keys()
    for pair, scores in found.items():
        np.testing.assert_allclose(scores, expected[pair], atol=3.01 / rows_per_fold)
    assert search.best_score_ - model.best_score_ <= 3 / rows_per_fold


@pairs
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_small_sets(kind: type, classifier: type, multi_class: str, iris: tuple) -> None:
    X, y = iris
    model = kind(**GRID, cv=5, multi_class=multi_class, tol=LAST_DIGITS).fit(X, y)
    alike = classifier(multi_class=multi_class, tol=LAST_DIGITS)
    # Solved to the last digit, so no row may differ.
    assert_scores_of_a_grid_search(model, alike, X, y, rows_per_fold=1e9)
    assert model.scores_.shape == (2, 2, 5)


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


@pairs
def test_folds_that_share_blocks(kind: type, classifier: type, many: tuple, sharing: list) -> None:
    X, y = many
    model = kind(**GRID, cv=StratifiedKFold(3, shuffle=True, random_state=1), tol=1e-4).fit(X, y)
    assert len(sharing) == 2  # once for each gamma
    assert_scores_of_a_grid_search(model, classifier(tol=1e-4), X, y, rows_per_fold=900)
    assert model.relative_gap_ <= model.tol


@pairs
def test_several_classes_share_blocks(kind: type, classifier: type, sharing: list) -> None:
    X, y = make_classification(1800, 8, n_informative=6, n_classes=3, random_state=0)
    settings = {"class_weight": "balanced", "tol": 1e-4, "multi_class": "ovr"}
    model = kind(Cs=[0.5, 4.0], gammas=[0.05], cv=3, **settings).fit(X, y)
    alike = classifier(**settings)
    assert_scores_of_a_grid_search(model, alike, X, y, rows_per_fold=600)
    assert sharing


@pairs
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_shared_blocks_with_weights(kind, classifier, fit_intercept, many, sharing) -> None:
    """A row of weight two is the row twice, and one of weight zero is not there."""
    X, y = many
    random = np.random.default_rng(0)
    weight = random.integers(0, 3, len(y)).astype(float)
    split = np.arange(len(y)) % 2
    folds = [(np.flatnonzero(split != k), np.flatnonzero(split == k)) for k in (0, 1)]
    common = {"Cs": [1.0], "gammas": [0.1], "fit_intercept": fit_intercept, "tol": 1e-4}
    common |= {"memory_limit": "3MB", "random_state": 0}  # blocks of a few hundred rows
    weighted = kind(cv=folds, **common).fit(X, y, weight)
    order = np.repeat(np.arange(len(y)), weight.astype(int))
    again = split[order]
    folds = [(np.flatnonzero(again != k), np.flatnonzero(again == k)) for k in (0, 1)]
    repeated = kind(cv=folds, **common).fit(X[order], y[order])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, atol=2.01 / 1350)
    assert len(sharing) == 2


@kinds
@pytest.mark.parametrize(
    "scoring", ["roc_auc", make_scorer(roc_auc_score, response_method="decision_function")]
)
def test_other_scores_on_shared_blocks(kind, scoring, many, sharing) -> None:
    X, y = many[0], (many[1] == "yes").astype(int)
    model = kind(Cs=[1.0], gammas=[0.1], cv=2, scoring=scoring).fit(X, y)
    for k, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        alone = model._searched(C=1.0, gamma=0.1).fit(X[train], y[train])
        expected = roc_auc_score(y[test], alone.decision_function(X[test]))
        assert model.scores_[0, 0, k] == pytest.approx(expected, abs=2e-3)
    assert sharing


@kinds
def test_function_as_score_sees_real_models(kind: type, cancer: tuple) -> None:
    def fewest_vectors(model, X, y) -> float:
        assert type(model) is kind._searched
        return -float(model.n_support_.sum())

    model = kind(**GRID, scoring=fewest_vectors, cv=3).fit(*cancer)
    assert model.best_score_ < 0


@kinds
def test_results_are_the_same_for_any_number_of_threads(kind, many, sharing) -> None:
    one, two = (
        kind(Cs=[2.0], gammas=[0.1], cv=3, n_jobs=n, random_state=0).fit(*many) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


# Choice


def table(mean: list[float], Cs: list[float], gammas: list[float]) -> dict:
    scores = np.array(mean).reshape(len(gammas), len(Cs), 1)
    zero = np.zeros_like(scores)
    return results_table(np.array(Cs), [{"gamma": g} for g in gammas], scores, zero, zero)


def test_of_equal_scores_the_smallest_C_then_the_smallest_gamma() -> None:
    results = table([0.5, 0.9, 0.9, 0.9, 0.9, 0.2], [1.0, 2.0, 4.0], [0.1, 0.3])
    assert results["params"][best_row(results)] == {"C": 1.0, "gamma": 0.3}
    results = table([0.9, 0.9, 0.9, 0.9], [1.0, 2.0], [0.1, 0.3])
    assert results["params"][best_row(results)] == {"C": 1.0, "gamma": 0.1}
    np.testing.assert_array_equal(results["rank_test_score"], 1)
    results = table([0.8, 0.9 - 1e-15, 0.9, 0.1], [1.0, 2.0], [0.1, 0.3])
    assert results["params"][best_row(results)] == {"C": 1.0, "gamma": 0.3}
    np.testing.assert_array_equal(results["rank_test_score"], [3, 1, 1, 4])


@kinds
def test_results_look_like_those_of_a_grid_search(kind: type, cancer: tuple) -> None:
    model = kind(**GRID, cv=3).fit(*cancer)
    results = model.cv_results_
    assert {len(column) for column in results.values()} == {4}
    search = GridSearchCV(kind._searched(), {"C": [1.0], "gamma": [0.1]}, cv=3).fit(*cancer)
    assert set(search.cv_results_) == set(results)
    np.testing.assert_allclose(results["mean_test_score"], model.scores_.reshape(4, 3).mean(1))
    assert model.best_params_ == {"C": model.C_, "gamma": model.gamma_}
    assert model.best_score_ == results["mean_test_score"].max()
    assert np.all(results["mean_fit_time"] > 0)


@kinds
def test_grids_of_numbers(kind: type, cancer: tuple) -> None:
    X, y = cancer
    model = kind(Cs=3, gammas=3, cv=2).fit(X, y)
    np.testing.assert_allclose(model.Cs_, [1e-2, 10**0.5, 1e3])
    scale = kind._searched().fit(X, y).gamma_
    np.testing.assert_allclose(model.gammas_, scale * np.array([0.25, 1.0, 4.0]))
    model = kind(Cs=1, gammas=["scale", 0.5, 0.5], cv=2).fit(X, y)
    np.testing.assert_allclose(model.gammas_, sorted([scale, 0.5]))
    assert len(kind(Cs=1, cv=2).fit(X[:60], y[:60]).gammas_) == 5


# Models


@pairs
def test_model_is_that_of_the_best_pair(kind: type, classifier: type, cancer: tuple) -> None:
    X, y = cancer
    weight = np.where(y == 1, 2.0, 1.0)
    model = kind(**GRID, fit_intercept=True, random_state=0).fit(X, y, weight)
    alone = classifier(
        C=model.C_, gamma=model.gamma_, fit_intercept=True, random_state=0, strategy="exact"
    ).fit(X, y, weight)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    assert model.n_iter_ == alone.n_iter_
    assert set(vars(alone)) - set(alone.get_params()) <= set(vars(model))
    best = model.best_estimator_
    assert type(best) is classifier
    assert best.get_params() == alone.get_params()
    assert set(vars(best)) == set(vars(alone))
    np.testing.assert_array_equal(best.predict(X), model.predict(X))
    assert model.compress(300).score(X, y) > 0.95


@kinds
def test_without_a_refit(kind: type, cancer: tuple) -> None:
    model = kind(**GRID, refit=False).fit(*cancer)
    assert model.best_score_ > 0.9
    assert model.gamma_ in GRID["gammas"]
    with pytest.raises(NotFittedError):
        model.predict(cancer[0])
    assert not hasattr(model, "best_estimator_")


@kinds
def test_files_pickles_and_pictures(kind: type, cancer: tuple, tmp_path: object) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = cancer
    model = kind(**GRID, cv=StratifiedKFold(3), scoring="balanced_accuracy").fit(X, y)
    model.save(tmp_path / "search.wm")
    loaded = load_model(tmp_path / "search.wm")
    for copied in (loaded, pickle.loads(pickle.dumps(model))):
        assert type(copied) is kind
        np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(copied.scores_, model.scores_)
        assert copied.best_params_ == model.best_params_
        np.testing.assert_array_equal(
            copied.best_estimator_.dual_coef_, model.best_estimator_.dual_coef_
        )
    assert loaded.cv is None  # a splitter is code
    assert loaded.scoring == "balanced_accuracy"
    MarginDistributionDisplay.from_estimator(model, X, y)


# Data


@kinds
def test_groups(kind: type, cancer: tuple) -> None:
    X, y = cancer
    groups = np.arange(len(y)) // 10
    model = kind(**GRID, cv=GroupKFold(3)).fit(X, y, groups=groups)
    for k, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        alone = model._searched(C=model.C_, gamma=model.gamma_).fit(X[train], y[train])
        assert model.cv_results_[f"split{k}_test_score"][model.best_index_] == alone.score(
            X[test], y[test]
        )
    with pytest.raises(ValueError, match="groups"):
        kind(**GRID, cv=GroupKFold(3)).fit(X, y)


@pairs
@pytest.mark.parametrize("kernel", ["linear", "precomputed", "function"])
def test_kernels_without_gamma(kind: type, classifier: type, kernel: str, cancer: tuple) -> None:
    X, y = cancer
    data = X @ X.T if kernel == "precomputed" else X
    name = (lambda a, b: a @ b.T) if kernel == "function" else kernel
    model = kind(name, Cs=[0.01, 1.0], cv=3).fit(data, y)
    assert model.gammas_ is None
    assert model.gamma_ == model.best_estimator_.gamma_
    assert_scores_of_a_grid_search(model, classifier(name), data, y, rows_per_fold=190)
    with pytest.raises(ValueError, match="`gammas` must be None where the kernel has no gamma"):
        kind(name, gammas=[0.1]).fit(data, y)


@kinds
def test_in_a_pipeline_and_cloned(kind: type, cancer: tuple) -> None:
    model = make_pipeline(StandardScaler(), clone(kind(**GRID, cv=3))).fit(*cancer)
    assert model.score(*cancer) > 0.95


@kinds
def test_rare_class_gets_fewer_folds(kind: type) -> None:
    X, y = make_classification(60, 4, random_state=0)
    y = np.where(np.arange(60) < 3, 2, y)
    assert kind(Cs=2, gammas=1).fit(X, y).scores_.shape[-1] == 3


# Errors


@kinds
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Cs": 0}, "`Cs` must be at least one value"),
        ({"Cs": []}, "`Cs` must be a list of one or more positive finite numbers"),
        ({"Cs": [1.0, -1.0]}, "`Cs` must be a list"),
        ({"gammas": 0}, "`gammas` must be at least one value"),
        ({"gammas": [0.0]}, "`gammas` must be a list"),
        ({"gammas": ["wide"]}, "`gammas` must be a list"),
        ({"scoring": "nonsense"}, "'scoring' parameter"),
        ({"refit": "yes"}, "'refit' parameter"),
        ({"decision_function_shape": "ovo", "multi_class": "ovr"}, "needs pairwise problems"),
    ],
)
def test_bad_parameters_are_named(kind: type, change: dict, message: str, cancer: tuple) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**change).fit(*cancer)


@kinds
def test_folds_that_cannot_be_used_are_named(kind: type) -> None:
    X, y = make_classification(40, 4, random_state=0)
    order = np.argsort(y)
    halves = [(order[:15], order[15:]), (order[15:], order[:15])]
    with pytest.raises(ValueError, match="fold 0 has 15 training rows of fewer than two"):
        kind(cv=halves).fit(X, y)
    weight = np.ones(40)
    weight[:20] = 0
    halves = [(np.arange(40), np.arange(20))]
    with pytest.raises(ValueError, match="fold 0 has none"):
        kind(cv=halves).fit(X, y, weight)


@kinds
def test_what_did_not_converge_is_said(kind, many, sharing, capsys) -> None:
    X, y = many
    model = kind(Cs=[100.0], gammas=[1.0], cv=3, max_iter=1, tol=1e-6, refit=False, verbose=1)
    with pytest.warns(ConvergenceWarning, match="3 of 3 problems of the search"):
        model.fit(X, y)
    assert f"[{kind.__name__}] C=100, gamma=1: score 0." in capsys.readouterr().out
    model.set_params(max_iter=10_000, max_time=1e-6)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model.fit(X, y)


@kinds
def test_compressing_to_rows_is_that_of_the_best(kind: type, cancer: tuple) -> None:
    X, y = cancer
    search = kind(Cs=[1.0], gammas=[0.1], cv=2).fit(X, y)
    small, alone = search.compress(20, X, y), search.best_estimator_.compress(20, X, y)
    assert small.compression_["n_rows"] == len(y)
    np.testing.assert_array_equal(small.decision_function(X), alone.decision_function(X))
