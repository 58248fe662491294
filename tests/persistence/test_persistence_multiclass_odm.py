"""Model files of MulticlassODMClassifier."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from test_persistence import assert_same_model, edited, refuse, set_array, set_fitted, set_param

from widemargin import MulticlassODMClassifier, load_model
from widemargin.persistence import dumps, loads

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MulticlassODMClassifier(C=2.0, class_weight={"setosa": 2.0}), NAMES[Y]),
        (MulticlassODMClassifier(fit_intercept=False, lam=100.0, theta=0.0), Y),
        (MulticlassODMClassifier(solver="proximal"), Y > 0),
        (MulticlassODMClassifier(calibrate="sigmoid"), Y),
    ],
    ids=["names", "lam", "two classes", "calibrated"],
)
def test_a_loaded_model_is_the_saved_one(model, y, tmp_path):
    fitted = model.fit(X, y)
    fitted.save(tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    assert_same_model(loaded, fitted, X)
    assert loaded.predict_top_k(X, 2).tolist() == fitted.predict_top_k(X, 2).tolist()
    assert (loaded.n_rounds_, loaded.objective_) == (fitted.n_rounds_, fitted.objective_)
    assert loaded.objectives_.tolist() == fitted.objectives_.tolist()


def test_an_interrupted_model_can_be_saved():
    model = MulticlassODMClassifier().fit(X, Y)
    model.relative_gap_ = model.dual_gap_ = model.objective_ = np.nan
    model.objectives_, model.converged_ = np.zeros(0), False
    assert np.isnan(loads(dumps(model)).objective_)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_array("coef_", lambda a: a[:, :3].copy()), "`coef_` must be of shape"),
        (set_fitted("density_", 1.5), "`density_` must be a number from 0 to 1"),
        (set_fitted("n_rounds_", -1), "`n_rounds_` must be a number of rounds"),
        (set_fitted("objective_", "low"), "`objective_` must be a number"),
        (set_array("objectives_", lambda a: a.astype(np.int64)), "`objectives_` must be an array"),
        (set_param("upsilon", 2.0), "'upsilon' parameter"),
        (lambda header, arrays: header["fitted"].pop("n_rounds_"), "`n_rounds_` is missing"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(edit, message):
    refuse(edited(MulticlassODMClassifier().fit(X, Y), edit), message)
