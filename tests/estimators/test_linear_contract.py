"""The linear classifiers keep scikit-learn's contract."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from linear_models import LOSSES
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import (
    LinearODMClassifier,
    LinearODMClassifierCV,
    LinearSVMClassifier,
    LinearSVMClassifierCV,
)

CLASSES = (LinearODMClassifier, LinearSVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)

CHECKED = [
    LinearODMClassifier(),
    LinearODMClassifier(warm_start=True, upsilon=1.0, theta=0.0),
    LinearSVMClassifier(),
    LinearSVMClassifier(loss="hinge", intercept_scaling=10.0),
    LinearODMClassifierCV(Cs=[0.1, 1.0], upsilons=[0.5, 1.0]),
    LinearSVMClassifierCV(Cs=[0.1, 1.0]),
]
DRAWS_ROWS = LinearODMClassifier(solver="dual")
WITHIN_TOL_ONLY = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are visited in another order"
    for kind in ("dense", "sparse")
}


def expected_failures(estimator: object) -> dict[str, str]:
    return WITHIN_TOL_ONLY if estimator is DRAWS_ROWS else {}


@parametrize_with_checks([*CHECKED, DRAWS_ROWS], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@classes
def test_every_parameter_survives_a_clone(kind: type) -> None:
    changed = {
        "C": 3.0,
        "fit_intercept": False,
        "intercept_scaling": 2.0,
        "solver": "dual",
        "n_parts": 4,
        "solver_options": {"n_strata": 3},
        "batch_size": None,
        "calibrate": "isotonic",
        "tol": 1e-4,
        "max_iter": 77,
        "max_time": 12.0,
        "class_weight": "balanced",
        "random_state": 3,
        "n_jobs": 1,
        "memory_limit": "10MB",
        "engine": "spark",
        "warm_start": True,
        "validation_fraction": 0.2,
        "verbose": 1,
    }
    changed |= (
        {"lam": 2.0, "upsilon": 0.3, "theta": 0.1}
        if kind is LinearODMClassifier
        else {"loss": "hinge"}
    )
    assert set(changed) == set(kind().get_params())  # a new parameter must be added here
    assert clone(kind(**changed)).get_params() == changed
    defaults = kind().get_params()
    assert all(defaults[name] != value for name, value in changed.items())


@pytest.mark.parametrize("loss", LOSSES)
def test_copies_predict_the_same(loss: str, iris: tuple) -> None:
    X, y = iris
    model = clone(LOSSES[loss]).fit(X, y)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))


@classes
def test_the_tools_around_a_classifier(kind: type, iris: tuple) -> None:
    X, y = iris
    assert cross_val_score(make_pipeline(StandardScaler(), kind()), X, y).mean() > 0.8
    search = GridSearchCV(kind(), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert CalibratedClassifierCV(kind(), cv=3).fit(X, y).predict_proba(X).shape == (150, 3)


@classes
def test_names_of_columns_are_kept_and_compared(kind: type, iris: tuple) -> None:
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = kind().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


@classes
def test_an_unfitted_one_says_so(kind: type, iris: tuple) -> None:
    with pytest.raises(NotFittedError):
        kind().predict(iris[0])
