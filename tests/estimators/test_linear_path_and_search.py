"""Paths of C and searches of the linear classifiers."""

import numpy as np
import pytest
from linear_models import LOSSES, PAIRS, noisy_classes
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from widemargin import (
    LinearODMClassifier,
    LinearODMClassifierCV,
    LinearSVMClassifier,
    LinearSVMClassifierCV,
)

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
CS = [1.0, 0.01, 10.0, 0.1]
kinds = pytest.mark.parametrize("kind", [LinearODMClassifierCV, LinearSVMClassifierCV])


def settings_of(solver: str) -> dict:
    return {"solver": solver, "random_state": 0, "max_iter": 100_000}


def objectives(model: object) -> np.ndarray:
    problem = model.history_["problem"]
    last = np.append(np.flatnonzero(np.diff(problem)), problem.size - 1)
    return model.history_["primal"][last]


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_models_of_a_path_are_those_of_fits(solver: str, loss: str) -> None:
    X, y = noisy_classes(3, 1000)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    weights[:50] = 0.0
    model = clone(LOSSES[loss]).set_params(**settings_of(solver), class_weight="balanced")
    path = model.fit_path(X, y, CS, weights)
    assert [each.C for each in path] == CS
    assert not hasattr(model, "coef_")
    for each in path:
        alone = clone(each).fit(X, y, weights)
        assert each.converged_
        np.testing.assert_allclose(objectives(each), objectives(alone), rtol=2 * model.tol)
        assert set(vars(each)) == set(vars(alone))


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_the_neighbour_saves_work(solver: str, loss: str) -> None:
    X, y = noisy_classes(n_rows=3000)
    model = clone(LOSSES[loss]).set_params(**settings_of(solver))
    Cs = np.geomspace(0.01, 1, 7)
    path = model.fit_path(X, y, Cs)
    alone = [clone(each).fit(X, y) for each in path]
    work = [
        sum(each.history_["gradient_evaluations"][-1] for each in models[1:])
        for models in (path, alone)
    ]
    assert work[0] < 0.9 * work[1]


def test_a_path_over_C_refuses_lam() -> None:
    with pytest.raises(ValueError, match="A path is over C, which `lam` replaces"):
        LinearODMClassifier(lam=1.0).fit_path(*noisy_classes(), CS)


@kinds
def test_scores_are_those_of_a_grid_search(kind: type) -> None:
    X, y = noisy_classes(3)
    splits = StratifiedKFold(3)
    ours = kind(Cs=[0.01, 1.0], cv=splits).fit(X, y)
    theirs = GridSearchCV(kind._searched(), {"C": [0.01, 1.0]}, cv=splits).fit(X, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01
    )
    assert theirs.best_params_["C"] == ours.C_
    assert ours.scores_.shape == (1, 2, 3)
    best = ours.best_estimator_
    assert type(best) is kind._searched
    assert best.C == ours.C_
    np.testing.assert_array_equal(best.coef_, kind._searched(C=ours.C_).fit(X, y).coef_)
    np.testing.assert_array_equal(ours.predict(X), best.predict(X))


def test_upsilon_and_theta_are_searched_for() -> None:
    X, y = noisy_classes()
    search = LinearODMClassifierCV(Cs=[0.1, 1.0], upsilons=[1.0, 0.1], thetas=[0.0, 0.4], cv=3)
    search.fit(X, y)
    pairs = [(each["upsilon"], each["theta"]) for each in search.cv_results_["params"][::2]]
    assert pairs == [(0.1, 0.0), (0.1, 0.4), (1.0, 0.0), (1.0, 0.4)]
    assert search.scores_.shape == (4, 2, 3)
    setting, C, fold = 2, 1, 0
    train, test = list(StratifiedKFold(3).split(X, y))[fold]
    alone = LinearODMClassifier(C=1.0, upsilon=1.0, theta=0.0).fit(X[train], y[train])
    assert search.scores_[setting, C, fold] == pytest.approx(
        alone.score(X[test], y[test]), abs=0.01
    )
    assert (search.best_params_["upsilon"], search.best_params_["theta"]) == (
        search.upsilon_,
        search.theta_,
    )
    assert search.best_estimator_.theta == search.theta_
    assert not hasattr(search.best_estimator_, "theta_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"upsilons": [0.5, 0.0]}, r"`upsilons` must be one or more numbers in \(0, 1\]; got"),
        ({"thetas": [0.5, 1.0]}, r"`thetas` must be one or more numbers in \[0, 1\); got"),
        ({"thetas": []}, "`thetas` must be"),
        ({"Cs": [0.0, 1.0]}, "`Cs` must be a list of one or more positive"),
    ],
)
def test_wrong_grids_are_named(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearODMClassifierCV(**settings).fit(*noisy_classes())


def test_without_refit_there_is_no_model() -> None:
    search = LinearSVMClassifierCV(Cs=2, refit=False).fit(*noisy_classes())
    assert not hasattr(search, "coef_")
    assert search.best_score_ > 0.5


def test_a_path_keeps_validation_rows_out() -> None:
    X, y = noisy_classes(n_rows=1000)
    path = LinearSVMClassifier(validation_fraction=0.2, random_state=0).fit_path(X, y, [0.1, 1.0])
    assert all("validation_score" in each.history_ for each in path)
