"""Graphs of calibrated classifiers have their probabilities."""

import numpy as np
import pytest
from onnx_graphs import run_graph
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import (
    Clustered,
    LinearODMClassifier,
    LinearSVMClassifierCV,
    MulticlassSVMClassifier,
    ODMClassifier,
    ODMClassifierCV,
    SVMClassifier,
    to_onnx,
)

QUERIES = 2.0 * np.random.default_rng(0).normal(size=(500, 5))
MODELS = [
    ODMClassifier(multi_class="ovr"),
    SVMClassifier(multi_class="ovo"),
    SVMClassifier(strategy=Clustered(levels=1, stop_level=1), random_state=0),
    ODMClassifierCV(Cs=2, gammas=1, cv=2),
    LinearODMClassifier(),
    LinearSVMClassifierCV(Cs=2, cv=2),
    MulticlassSVMClassifier("ww"),
]


def labelled(n_classes):
    return make_classification(
        250, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=0
    )


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_probabilities(model, n_classes, method):
    X, y = labelled(n_classes)
    model = make_pipeline(StandardScaler(), model.set_params(calibrate=method)).fit(X, y)
    for dtype in ("float32", "float64"):
        queries = QUERIES.astype(dtype)
        outputs = run_graph(to_onnx(model, dtype=dtype), queries)
        found = outputs["probabilities"]
        assert found.dtype == dtype
        # In float64, as the graph does it: steep steps multiply what a scaler rounds in float32.
        wanted = model.predict_proba(queries.astype(np.float64))
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
        # Strictly the largest, also after rounding to float32.
        predicted = model.predict(queries)
        assert outputs["label"].tolist() == predicted.tolist()
        assert model.classes_[found.argmax(axis=1)].tolist() == predicted.tolist()
        ranked = np.sort(found, axis=1)
        assert (ranked[:, -1] > ranked[:, -2]).all()


def test_many_pairs():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 12
    X = rng.normal(size=(12, 4))[y] + 0.5 * rng.normal(size=(300, 4))
    model = SVMClassifier(multi_class="ovo", calibrate="sigmoid").fit(X, y)
    outputs = run_graph(to_onnx(model, dtype="float64"), X)
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(X), atol=1e-9)


def test_without_calibration():
    model = ODMClassifier().fit(*labelled(2))
    assert [output.name for output in to_onnx(model).graph.output] == ["label", "decision"]
    model.calibrate = "sigmoid"
    with pytest.raises(ValueError, match="fitted without it"):
        to_onnx(model)
