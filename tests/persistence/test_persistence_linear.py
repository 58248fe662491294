"""Model files of the linear classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from test_persistence import (
    assert_same_model,
    assert_same_value,
    edited,
    refuse,
    set_array,
    set_fitted,
    set_param,
    with_entry,
)

from widemargin import (
    LinearODMClassifier,
    LinearODMClassifierCV,
    LinearSVMClassifier,
    LinearSVMClassifierCV,
    load_model,
)
from widemargin.persistence import dumps, loads

X, Y = load_iris(return_X_y=True)


def models():
    yield LinearODMClassifier(lam=3.0, validation_fraction=0.2, random_state=1).fit(X, Y)
    yield LinearSVMClassifier(loss="hinge", fit_intercept=False).fit(X, Y > 0)
    yield LinearSVMClassifier().partial_fit(X, Y, classes=[0, 1, 2])
    yield LinearODMClassifierCV(Cs=[0.1, 1.0], upsilons=[0.5, 1.0], cv=2).fit(X, Y)
    yield LinearSVMClassifierCV(Cs=[0.1, 1.0], cv=2).fit(X, Y > 0)


@pytest.mark.parametrize("fitted", list(models()), ids=lambda model: type(model).__name__)
def test_a_loaded_model_is_the_saved_one(fitted, tmp_path):
    fitted.save(tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    assert_same_model(loaded, fitted, X)
    for name, value in vars(fitted).items():
        assert_same_value(getattr(loaded, name), value)


def test_learning_goes_on_where_it_was_saved():
    model = LinearODMClassifier().partial_fit(X[::2], Y[::2], classes=[0, 1, 2])
    loaded = loads(dumps(model))
    for each in (model, loaded):
        each.partial_fit(X[1::2], Y[1::2])
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.n_samples_seen_ == len(Y)


def test_a_warm_start_goes_on_from_a_file():
    model = LinearODMClassifier(warm_start=True).fit(X, Y)
    assert loads(dumps(model)).fit(X, Y).n_iter_ == 0


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_array("coef_", lambda a: a[:, :3].copy()), "`coef_` must be of shape"),
        (set_array("coef_", with_entry(np.nan)), "`coef_` must be finite"),
        (set_array("coef_", lambda a: a.astype(np.float32)), "`coef_` must be an array of float64"),
        (set_array("intercept_", lambda a: a[:2].copy()), "`intercept_` must be of shape"),
        (set_array("curvature_", lambda a: a[:, 1:].copy()), "`curvature_` must be of shape"),
        (set_fitted("n_samples_seen_", -1), "`n_samples_seen_` must be a number of rows"),
        (set_fitted("n_features_in_", 0), "`n_features_in_` must be a positive integer"),
        (set_fitted("solver_", 3), "`solver_` must be of type str"),
        (set_param("theta", 1.5), "'theta' parameter"),
        (lambda header, arrays: header["fitted"].pop("n_iter_"), "`n_iter_` is missing"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(edit, message):
    model = LinearODMClassifier().partial_fit(X, Y, classes=[0, 1, 2])
    refuse(edited(model, edit), message)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_array("scores_", lambda a: a[:, :1].copy()), "`scores_` must be numbers of shape"),
        (set_fitted("theta_", 2.0), "`theta_` must be a float in the range"),
        (set_fitted("best_params_", {"C": 1.0, "gamma": 1.0}), "parameters of the search"),
        (set_fitted("best_index_", 9), "`best_index_` must be a row"),
    ],
)
def test_searches_that_do_not_fit_together_are_refused(edit, message):
    refuse(edited(LinearODMClassifierCV(Cs=[0.1, 1.0], cv=2).fit(X, Y), edit), message)
