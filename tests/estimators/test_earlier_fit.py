"""A fit that fails leaves an earlier one as it was."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from toy_data import circles

from widemargin import (
    LinearODMClassifier,
    LinearODMClassifierCV,
    LinearSVMClassifier,
    ODMClassifier,
    SVMClassifierCV,
)

MODELS = [
    LinearODMClassifier(),
    LinearSVMClassifier(),
    ODMClassifier(),
    LinearODMClassifierCV(Cs=[1.0], cv=2),
    SVMClassifierCV(Cs=[1.0], cv=2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_failed_fit_leaves_the_earlier_one(model: BaseEstimator) -> None:
    X, y = circles(60)
    wider = np.column_stack([X, X])
    expected = model.fit(X, y).decision_function(X)
    for labels in (np.linspace(0, 1, len(y)), np.zeros(len(y)), y[:-1]):
        with pytest.raises(ValueError):  # noqa: PT011 (each of them for its own reason)
            model.fit(wider, labels)
        assert model.n_features_in_ == X.shape[1]
        np.testing.assert_array_equal(model.decision_function(X), expected)


def test_names_of_columns_stay_too() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = circles(60)
    model = LinearODMClassifier().fit(pandas.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(X, np.zeros(len(y)))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="not in `classes`"):
        model.partial_fit(X[:, :1], y + 5, classes=[0, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_a_first_fit_that_fails_leaves_nothing() -> None:
    X, y = circles(60)
    model = LinearODMClassifier()
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(X, np.zeros(len(y)))
    assert not hasattr(model, "n_features_in_")
