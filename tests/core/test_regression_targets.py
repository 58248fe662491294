"""Targets that no fit can compute with are refused, whatever form they have."""

import warnings
from typing import Any

import numpy as np
import pytest

from widemargin import (
    LinearODMRegressor,
    LinearQuantileSVMRegressor,
    LinearSVMRegressor,
    LinearSVMRegressorCV,
    ODMRegressor,
    QuantileSVMRegressor,
    SVMRegressor,
    SVMRegressorCV,
)

REGRESSORS = [
    SVMRegressor,
    ODMRegressor,
    QuantileSVMRegressor,
    SVMRegressorCV,
    LinearSVMRegressor,
    LinearODMRegressor,
    LinearQuantileSVMRegressor,
    LinearSVMRegressorCV,
]
RANDOM = np.random.default_rng(0)
X, TARGETS = RANDOM.normal(size=(40, 2)), RANDOM.normal(size=40)


def with_one(form: type, value: object) -> np.ndarray:
    y = TARGETS.astype(form)
    y[3] = value
    return y


@pytest.mark.parametrize("regressor", REGRESSORS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (with_one(object, None), "got nan in row 3. Leave such rows out"),
        (with_one(np.dtype("U30"), "nan"), "got nan in row 3. Leave such rows out"),
        (with_one(np.dtype("U30"), "inf"), "got inf in row 3. Leave such rows out"),
        (with_one(float, 1e300), r"got 1e\+300 in row 3. Divide the targets"),
    ],
)
def test_targets_that_are_no_finite_numbers(regressor: type, y: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, y)


def test_targets_of_validation_rows() -> None:
    model = SVMRegressor(strategy="sodm")
    with pytest.raises(ValueError, match="y_val must hold finite numbers"):
        model.fit(X, TARGETS, X_val=X, y_val=with_one(object, None))


@pytest.mark.parametrize("value", [None, np.nan, np.inf])
def test_targets_of_batches(value: object) -> None:
    with pytest.raises(ValueError, match=r"must hold finite numbers|NaN|infinity"):
        LinearSVMRegressor().partial_fit(X, with_one(object, value))


@pytest.mark.parametrize(
    "model", [SVMRegressor(), LinearSVMRegressor(epsilon=0.1), ODMRegressor(), LinearODMRegressor()]
)
def test_a_band_as_wide_as_the_targets_is_named(model: Any) -> None:
    with pytest.warns(UserWarning, match=r"100.0% of the targets lie within (epsilon|theta)=0.1"):
        model.fit(X, 1e-3 * TARGETS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, TARGETS)
        model.fit(X, np.full(len(X), 3.0))  # a constant is what there is to learn
