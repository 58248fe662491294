"""AutoClassifier is exported as its preprocessor and its model."""

import numpy as np
import pytest
from onnx_graphs import run_graph
from sklearn.datasets import load_breast_cancer, make_classification

pytest.importorskip("widemargin.estimators.auto")
pandas = pytest.importorskip("pandas")

from widemargin import AutoClassifier, to_onnx  # noqa: E402


def test_a_table():
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "x": rng.normal(size=300),
            "colour": np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, 300)],
        }
    )
    y = np.where(table["x"] + (table["colour"] == "red") > 0.3, "yes", "no")
    model = AutoClassifier(max_time=3.0, random_state=0).fit(table, y)
    inputs = {
        "x": table["x"].to_numpy(dtype=np.float64)[:, None],
        "colour": table["colour"].to_numpy(dtype=object)[:, None],
    }
    outputs = run_graph(to_onnx(model, dtype="float64"), inputs)
    # The library evaluates kernels in single precision, the graph in double.
    np.testing.assert_allclose(outputs["decision"], model.decision_function(table), atol=1e-4)
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(table), atol=1e-4)
    assert outputs["label"].tolist() == model.predict(table).tolist()


def test_weights_of_features_are_exported():
    X, y = make_classification(250, 8, n_informative=3, random_state=0)
    model = AutoClassifier(cv=2, families=["SVM, laplacian, weighted"], random_state=0).fit(X, y)
    assert model.feature_weights_ is not None
    outputs = run_graph(to_onnx(model, dtype="float64"), X)
    np.testing.assert_allclose(outputs["decision"], model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("family", ["linear SVM", "SVM, rbf", "SVM, rbf, weighted"])
def test_features_are_those_of_the_library_to_the_last_digit(family):
    X, y = load_breast_cancer(return_X_y=True)
    model = AutoClassifier(cv=2, families=[family], random_state=0).fit(X, y)
    # The same features in double: so the library evaluates its kernel in double, as the graph does.
    features = model._features(X).astype(np.float64)
    wanted = model.model_.decision_function(features)
    outputs = run_graph(to_onnx(model, dtype="float64"), X)
    np.testing.assert_allclose(outputs["decision"], wanted, rtol=1e-11, atol=1e-11)
