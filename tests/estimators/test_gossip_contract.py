"""GossipClassifier keeps scikit-learn's contract, without exceptions."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import GossipClassifier
from widemargin.gossip import Consensus, Gadget, NetworkFaults, Tracking

CHECKED = [
    GossipClassifier(),
    GossipClassifier(loss="odm", topology="complete", solver=Consensus(epochs=2)),
    GossipClassifier(solver="gadget"),
    GossipClassifier(loss="squared_hinge", solver=Gadget(batch_size=None), exchanges=5),
    GossipClassifier(solver="tracking"),
    GossipClassifier(loss="odm", solver=Tracking(), faults=NetworkFaults(loss=0.2)),
    GossipClassifier(asynchronous=True, partners="one", faults=NetworkFaults(delay=2)),
]


# The checks have few rows and rounds; that the fit says so is tested elsewhere.
@pytest.mark.filterwarnings("ignore:GossipClassifier did not converge", "ignore:Classes are spread")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


def test_every_parameter_survives_a_clone() -> None:
    changed = {
        "n_sites": 4,
        "topology": ("grid", {"columns": 2}),
        "loss": "odm",
        "C": 3.0,
        "holdout": 0.3,
        "lam": 2.0,
        "kernel": "rbf",
        "n_components": 64,
        "gamma": 0.5,
        "degree": 2,
        "coef0": 1.0,
        "upsilon": 0.3,
        "theta": 0.1,
        "fit_intercept": False,
        "intercept_scaling": 2.0,
        "solver": "gadget",
        "partners": "one",
        "exchanges": 3,
        "weights": "random_walk",
        "asynchronous": True,
        "faults": NetworkFaults(loss=0.2),
        "stopping": "norm",
        "epsilon": 1e-2,
        "quiet": 5,
        "tol": 1e-4,
        "max_iter": 77,
        "max_time": 12.0,
        "class_weight": "balanced",
        "random_state": 3,
        "n_jobs": 1,
        "memory_limit": "10MB",
        "verbose": 1,
    }
    defaults = GossipClassifier().get_params()
    assert set(changed) == set(defaults)  # a new parameter must be added here
    assert clone(GossipClassifier(**changed)).get_params() == changed
    assert all(defaults[name] != value for name, value in changed.items())


def test_copies_predict_the_same(iris: tuple) -> None:
    X, y = iris
    model = GossipClassifier(4, solver=Consensus(epochs=2), tol=1e-2, random_state=0).fit(X, y)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))
        assert copied.topology_.n_sites == 4


def test_the_tools_around_a_classifier(iris: tuple) -> None:
    X, y = iris
    model = GossipClassifier(3, "complete", C=0.1, tol=1e-2, random_state=0)
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).mean() > 0.8
    grid = {"solver__epochs": [1, 3], "C": [0.1, 1.0]}
    search = GridSearchCV(clone(model).set_params(solver=Consensus()), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert set(search.cv_results_["param_solver__epochs"].tolist()) == {1, 3}
    search.fit(X, y, sites=np.arange(150) % 3)  # of which every fold gets its rows'
    assert search.best_score_ > 0.8


def test_a_solver_that_was_passed_is_left_alone(iris: tuple) -> None:
    X, y = iris
    solver = Gadget(batch_size=7)
    model = GossipClassifier(3, solver=solver, max_iter=20, stopping="never", random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y == "setosa")
    assert model.solver is solver
    assert vars(solver) == vars(Gadget(batch_size=7))
    assert model.solver_ == "gadget"


def test_names_of_columns_are_kept_and_compared(iris: tuple) -> None:
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = GossipClassifier(3, tol=1e-2).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    for method in (model.predict, lambda X: model.score_sites(X, y)):
        with pytest.raises(ValueError, match="feature names"):
            method(frame[["b", "a", "c", "d"]])


def test_an_unfitted_one_says_so(iris: tuple) -> None:
    with pytest.raises(NotFittedError):
        GossipClassifier().predict(iris[0])
    with pytest.raises(NotFittedError):
        GossipClassifier().score_sites(*iris)
