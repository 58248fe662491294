"""shapley_values: models, pipelines, names, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from reference.shapley import game_with_background, shapley
from widemargin import (
    AutoClassifier,
    Clustered,
    LinearSVMClassifier,
    ODMClassifier,
    ODMRegressor,
    Stratified,
    SVMClassifier,
    SVMRegressor,
    load_model,
)
from widemargin.inspection import shapley_values


@pytest.fixture(scope="module")
def two_classes():
    return make_classification(160, 8, n_informative=5, random_state=0)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def check_sums(found, decision, atol=1e-10):
    total = found.base_values + found.values.sum(axis=1)
    assert np.allclose(total, decision, rtol=0, atol=atol)
    assert np.abs(found.values).max() > 0.01


@pytest.mark.parametrize("against", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        SVMClassifier(),
        SVMClassifier("laplacian", C=3.0),
        ODMClassifier(fit_intercept=True),
        ODMClassifier(strategy=Stratified(levels=1, fan_in=2, stop_level=1)),
    ],
    ids=["svm", "laplacian", "odm", "mean of parts"],
)
def test_values_sum_to_the_decision(model, against, two_classes):
    X, y = two_classes
    model.fit(X, y)
    background = X[::40] if against else None
    found = shapley_values(model, X[:9], background=background)
    assert found.values.shape == (9, 8)
    assert found.output_names is None
    check_sums(found, model.decision_function(X[:9]))
    base = model.decision_function(X[::40]).mean()
    if not against:
        base = model.dual_coef_.sum() + model.intercept_[0]
    assert np.allclose(found.base_values, base)


def test_a_background_gives_the_interventional_values(two_classes):
    X, y = two_classes
    model = make_pipeline(StandardScaler(), SVMClassifier()).fit(X, y)
    found = shapley_values(model, X[:2], background=X[100:110])
    for i in range(2):
        expected = shapley(game_with_background(model.decision_function, X[i], X[100:110]), 8)
        assert np.allclose(found.values[i], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "ww", "cs"])
def test_several_classes_have_several_outputs(scheme, iris):
    X, y = iris
    names = np.array(["ash", "birch", "cedar"])
    shape = "ovo" if scheme == "ovo" else "ovr"
    model = SVMClassifier(multi_class=scheme, decision_function_shape=shape).fit(X, names[y])
    found = shapley_values(model, X[::30])
    assert found.values.shape == (5, 4, 3)
    assert found.base_values.shape == (5, 3)
    check_sums(found, model.decision_function(X[::30]))
    pairs = ["ash or birch", "ash or cedar", "birch or cedar"]
    assert found.output_names == (pairs if scheme == "ovo" else names.tolist())


@pytest.mark.parametrize("against", [False, True])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_the_machine_of_the_rows_cluster_is_explained(scheme, against, iris):
    X, y = iris
    model = ODMClassifier(
        strategy=Clustered(levels=1, fan_in=3, stop_level=1),
        multi_class=scheme,
        decision_function_shape=scheme,
        fit_intercept=True,
    ).fit(X, y)
    assert model.routing_ is not None
    found = shapley_values(model, X[::7], background=X[::15] if against else None)
    check_sums(found, model.decision_function(X[::7]))


@pytest.mark.parametrize("against", [False, True])
@pytest.mark.parametrize("strategy", ["exact", Clustered(levels=1, fan_in=3, stop_level=1)])
@pytest.mark.parametrize("kind", [SVMRegressor, ODMRegressor])
def test_regressors_are_explained_in_units_of_the_target(kind, strategy, against, two_classes):
    X = two_classes[0]
    y = 100.0 + 20.0 * X[:, 0] + 10.0 * X[:, 1] * X[:, 2]
    model = kind(C=10.0, gamma=0.1, strategy=strategy).fit(X, y)
    found = shapley_values(model, X[:9], background=X[::40] if against else None)
    assert found.values.shape == (9, 8)
    check_sums(found, model.predict(X[:9]), atol=1e-9)


def test_compressed_models_and_files(two_classes, tmp_path):
    X, y = two_classes
    model = SVMClassifier().fit(X, y).compress(30)
    found = shapley_values(model, X[:5])
    check_sums(found, model.decision_function(X[:5]))
    model.save(tmp_path / "model.wm")
    again = shapley_values(load_model(tmp_path / "model.wm"), X[:5])
    assert np.array_equal(again.values, found.values)


def test_sparse_single_precision_and_threads(two_classes):
    X, y = two_classes
    X = X.astype(np.float32)
    X[np.abs(X) < 0.6] = 0.0
    dense = SVMClassifier(gamma=0.1, tol=1e-6).fit(X, y)
    found = shapley_values(dense, X[:6], background=X[::30])
    check_sums(found, dense.decision_function(X[:6]), atol=1e-4)
    exact = dense.fit(X.astype(np.float64), y)
    wide = shapley_values(exact, X[:6].astype(np.float64), background=X[::30].astype(np.float64))
    assert np.allclose(found.values, wide.values, rtol=0, atol=1e-2)
    one = shapley_values(exact.set_params(n_jobs=1), X[:6]).values
    assert np.array_equal(shapley_values(exact.set_params(n_jobs=2), X[:6]).values, one)
    sparse = shapley_values(exact, sp.csr_matrix(X[:6]))
    assert np.allclose(sparse.values, one, rtol=0, atol=1e-12)
    assert sp.issparse(sparse.data)


def test_pipelines_searches_and_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y == 2
    pipeline = make_pipeline(StandardScaler(), SVMClassifier())
    search = GridSearchCV(pipeline, {"svmclassifier__C": [1.0, 4.0]}, cv=2).fit(X, y)
    found = shapley_values(search, X[:4])
    assert found.feature_names == X.columns.tolist()
    check_sums(found, search.decision_function(X[:4]))
    inner = search.best_estimator_[-1]
    assert np.array_equal(found.data, search.best_estimator_[:-1].transform(X[:4]))
    check_sums(shapley_values(inner, found.data), search.decision_function(X[:4]))
    assert shapley_values(inner, found.data).feature_names == ["x0", "x1", "x2", "x3"]
    assert shapley_values(SVMClassifier().fit(X, y), X[:4]).feature_names == X.columns.tolist()
    nameless = make_pipeline(FunctionTransformer(np.log1p), SVMClassifier()).fit(X.to_numpy(), y)
    assert shapley_values(nameless, X.to_numpy()[:4]).feature_names[3] == "x3"


def test_automatic_models():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = AutoClassifier(families=["SVM, rbf"], random_state=0).fit(X, y == 1)
    found = shapley_values(model, X[:4])
    check_sums(found, model.decision_function(X[:4]), atol=1e-4)
    assert found.feature_names == model.preprocessor_.get_feature_names_out().tolist()


@pytest.mark.parametrize("kernel", ["linear", "poly", lambda X, Y: X @ Y.T])
def test_other_kernels_are_refused(kernel, two_classes):
    model = SVMClassifier(kernel).fit(*two_classes)
    with pytest.raises(ValueError, match="'rbf' and 'laplacian'"):
        shapley_values(model, two_classes[0])


def test_other_models_are_refused(two_classes):
    X, y = two_classes
    with pytest.raises(TypeError, match="machines of this library, such as SVMClassifier; got SVC"):
        shapley_values(SVC().fit(X, y), X)
    with pytest.raises(TypeError, match="coef_"):
        shapley_values(make_pipeline(StandardScaler(), LinearSVMClassifier()).fit(X, y), X)
    scaled = TransformedTargetRegressor(SVMRegressor(), transformer=StandardScaler()).fit(X, y)
    with pytest.raises(
        TypeError, match=r"got TransformedTargetRegressor\. Explain its `regressor_`"
    ):
        shapley_values(scaled, X)
    assert shapley_values(scaled.regressor_, X[:2]).values.shape == (2, X.shape[1])
    with pytest.raises(NotFittedError):
        shapley_values(SVMClassifier(), X)


def test_other_rows_are_refused(two_classes):
    X, y = two_classes
    model = SVMClassifier().fit(X, y)
    with pytest.raises(ValueError, match="7 features"):
        shapley_values(model, X[:, :7])
    background = (
        r"^`background` must be a table of one or more rows with the columns of the training"
    )
    for wrong, got in (
        (X[:, :7], r"got ndarray of shape \(\d+, 7\)\. .*7 features"),
        (X[:0], r"got ndarray of shape \(0, \d+\)\. .*minimum of 1"),
        (X[0], r"got ndarray of shape \(\d+,\)\. .*Expected 2D array"),
        (10, r"got 10\. Expected 2D array"),
    ):
        with pytest.raises(ValueError, match=f"(?s){background}.*{got}"):
            shapley_values(model, X, background=wrong)
