"""MulticlassSVMClassifier keeps scikit-learn's contract, without exceptions."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import MulticlassSVMClassifier
from widemargin.engines import LocalEngine
from widemargin.multiclass.problem import FORMULATIONS

CHECKED = [
    *(MulticlassSVMClassifier(formulation) for formulation in FORMULATIONS),
    MulticlassSVMClassifier("cs", warm_start=True),
    MulticlassSVMClassifier(class_weight="balanced", intercept_scaling=10.0),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


def test_every_parameter_survives_a_clone() -> None:
    changed = {
        "formulation": "llw",
        "C": 3.0,
        "fit_intercept": False,
        "intercept_scaling": 2.0,
        "solver": "dual",
        "calibrate": "isotonic",
        "tol": 1e-4,
        "max_iter": 77,
        "max_time": 12.0,
        "class_weight": "balanced",
        "random_state": 3,
        "n_jobs": 1,
        "memory_limit": "10MB",
        "engine": None,
        "warm_start": True,
        "verbose": 1,
    }
    defaults = MulticlassSVMClassifier().get_params()
    assert set(changed) == set(defaults)  # a new parameter must be added here
    assert clone(MulticlassSVMClassifier(**changed)).get_params() == changed
    assert all(defaults[name] != value for name, value in changed.items())


def test_copies_predict_the_same_and_go_on_from_there(iris: tuple) -> None:
    X, y = iris
    model = MulticlassSVMClassifier(warm_start=True, engine=LocalEngine(2)).fit(X, y)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))
        assert copied.fit(X, y).n_iter_ == 0


def test_the_tools_around_a_classifier(iris: tuple) -> None:
    X, y = iris
    model = MulticlassSVMClassifier()
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y).mean() > 0.9
    search = GridSearchCV(model, {"formulation": FORMULATIONS, "C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert CalibratedClassifierCV(model, cv=3).fit(X, y).predict_proba(X).shape == (150, 3)


def test_names_of_columns_are_kept_and_compared(iris: tuple) -> None:
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = MulticlassSVMClassifier().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict_top_k(frame[["b", "a", "c", "d"]], 2)


@pytest.mark.parametrize("method", ["predict", "decision_function", "densify", "sparsify"])
def test_an_unfitted_one_says_so(method: str, iris: tuple) -> None:
    arguments = (iris[0],) if method in ("predict", "decision_function") else ()
    with pytest.raises(NotFittedError):
        getattr(MulticlassSVMClassifier(), method)(*arguments)
    with pytest.raises(NotFittedError):
        MulticlassSVMClassifier().predict_top_k(iris[0], 1)
