"""Models and settings that the tests of the classifiers share."""

import warnings
from collections.abc import Iterator

import pytest
from sklearn.base import clone

from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators.kernel_machine import KernelMachine

# Every solver on every loss it supports.
MODELS = {
    "odm-newton": ODMClassifier(solver="newton"),
    "odm-coordinate": ODMClassifier(solver="coordinate"),
    "hinge": SVMClassifier(),
    "squared-newton": SVMClassifier(loss="squared_hinge", solver="newton"),
    "squared-coordinate": SVMClassifier(loss="squared_hinge", solver="coordinate"),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> KernelMachine:
    return clone(MODELS[request.param])


@pytest.fixture
def warnings_are_errors() -> Iterator[None]:
    """What works, works quietly; tests that expect a warning ask for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
