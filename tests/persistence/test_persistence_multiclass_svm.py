"""Model files of MulticlassSVMClassifier."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from test_persistence import (
    assert_same_model,
    edited,
    refuse,
    set_array,
    set_fitted,
    set_param,
    with_entry,
)

from widemargin import MulticlassSVMClassifier, load_model
from widemargin.engines import LocalEngine
from widemargin.persistence import dumps, loads

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def models():
    yield MulticlassSVMClassifier("llw", C=2.0, class_weight={"setosa": 2.0}).fit(X, NAMES[Y])
    yield MulticlassSVMClassifier("cs", fit_intercept=False).fit(X.astype(np.float32), Y)
    yield MulticlassSVMClassifier("ovr").fit(X, Y > 0)
    yield MulticlassSVMClassifier("ww").fit(X * [1, 0, 0, 0], Y).sparsify()


@pytest.mark.filterwarnings("ignore:Feature 0 carries")
@pytest.mark.parametrize("fitted", list(models()), ids=lambda model: model.formulation)
def test_a_loaded_model_is_the_saved_one(fitted, tmp_path):
    fitted.save(tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    assert_same_model(loaded, fitted, X)
    assert loaded.predict_top_k(X, 2).tolist() == fitted.predict_top_k(X, 2).tolist()


def test_places_and_multipliers_are_not_kept():
    model = MulticlassSVMClassifier(warm_start=True, engine=LocalEngine(2)).fit(X, Y)
    loaded = loads(dumps(model))
    assert loaded.engine == "local"
    assert not hasattr(loaded, "_duals")
    assert loaded.fit(X, Y).n_iter_ > 0


def test_an_interrupted_model_can_be_saved():
    model = MulticlassSVMClassifier().fit(X, Y)
    model.relative_gap_ = model.dual_gap_ = np.nan
    model.converged_ = False
    assert np.isnan(loads(dumps(model)).relative_gap_)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_array("coef_", lambda a: a[:, :3].copy()), "`coef_` must be of shape"),
        (set_array("coef_", with_entry(np.nan)), "`coef_` must be finite"),
        (set_array("coef_", lambda a: a.astype(np.float32)), "`coef_` must be of type float64"),
        (set_array("intercept_", lambda a: a[:2].copy()), "`intercept_` must be of shape"),
        (set_fitted("density_", 1.5), "`density_` must be a number from 0 to 1"),
        (set_fitted("density_", {"$float": "nan"}), "`density_` must be a number from 0 to 1"),
        (set_fitted("n_features_in_", 0), "`n_features_in_` must be a positive integer"),
        (set_fitted("solver_", 3), "`solver_` must be of type str"),
        (set_fitted("_duals", 3), "`_duals` is no fitted attribute"),
        (set_param("formulation", "ovo"), "'formulation' parameter"),
        (lambda header, arrays: header["fitted"].pop("n_iter_"), "`n_iter_` is missing"),
        (lambda header, arrays: header["fitted"].pop("density_"), "`density_` is missing"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(edit, message):
    refuse(edited(MulticlassSVMClassifier().fit(X, Y), edit), message)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_array("coef_.data", with_entry(np.inf)), "`coef_` must be finite"),
        (set_array("coef_.data", lambda a: a.astype(np.int64)), "`coef_` must be an array of"),
        (set_array("coef_.indices", with_entry(9)), "beyond its last column"),
        (lambda header, _: header["fitted"]["coef_"]["$csr"].update(shape=[3, 5]), "of shape"),
    ],
)
def test_sparse_weights_that_do_not_fit_are_refused(edit, message):
    model = MulticlassSVMClassifier().fit(sparse.csr_matrix(X), Y).sparsify()
    refuse(edited(model, edit), message)
