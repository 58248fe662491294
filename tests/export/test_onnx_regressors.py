"""Graphs of regressors predict what the regressors predict."""

import json

import numpy as np
import pytest
from onnx_graphs import run_graph
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from widemargin import (
    LinearODMRegressor,
    LinearQuantileSVMRegressor,
    LinearSVMRegressor,
    ODMRegressor,
    QuantileSVMRegressor,
    SVMRegressor,
    to_onnx,
)

KINDS = [
    LinearODMRegressor,
    LinearQuantileSVMRegressor,
    LinearSVMRegressor,
    ODMRegressor,
    QuantileSVMRegressor,
    SVMRegressor,
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_graphs_predict_the_same(kind: type, dtype: str) -> None:
    X, y = make_regression(200, 5, noise=2.0, random_state=0)
    X, y = X.astype(dtype), y + 1000.0
    model = make_pipeline(StandardScaler(), kind()).fit(X, y)
    proto = to_onnx(model, dtype=dtype)
    outputs = run_graph(proto, X)
    assert list(outputs) == ["prediction"]
    assert outputs["prediction"].shape == (200,)
    np.testing.assert_allclose(outputs["prediction"], model.predict(X), rtol=1e-5)
    known = {each.key: json.loads(each.value) for each in proto.metadata_props}
    assert known == {"estimator": kind.__name__}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_mean=False)])
def test_targets_are_scaled_back(kind: type, scaler: StandardScaler) -> None:
    X, y = make_regression(200, 5, noise=2.0, random_state=0)
    scaled = TransformedTargetRegressor(kind(), transformer=scaler)
    around = TransformedTargetRegressor(scaled, transformer=StandardScaler(with_std=False))
    for model in (make_pipeline(StandardScaler(), scaled), around):
        model.fit(X, 100 * y + 1e4)
        found = run_graph(to_onnx(model, dtype="float64"), X)["prediction"]
        np.testing.assert_allclose(found, model.predict(X), rtol=1e-9)


def test_other_transformers_of_targets_are_refused() -> None:
    X, y = make_regression(50, 5, random_state=0)
    model = TransformedTargetRegressor(LinearSVMRegressor(), transformer=MinMaxScaler()).fit(X, y)
    with pytest.raises(ValueError, match=r"is a StandardScaler; got MinMax.* Export its `regress"):
        to_onnx(model)


def test_steps_that_do_not_fit_are_refused() -> None:
    X, y = make_regression(50, 5, random_state=0)
    scaler = StandardScaler().fit(X[:, :4])
    model = make_pipeline(scaler, LinearSVMRegressor().fit(X, y))
    with pytest.raises(ValueError, match=r"The regressor takes 5 numbers per row; .* give 4"):
        to_onnx(model)
