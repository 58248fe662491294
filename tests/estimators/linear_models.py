"""The linear classifiers, every solver on every loss it minimises."""

import numpy as np
from sklearn.datasets import make_classification

from widemargin import LinearODMClassifier, LinearSVMClassifier
from widemargin.estimators.linear import LinearMachine
from widemargin.linear.solvers import SOLVERS

LOSSES = {
    "odm": LinearODMClassifier(),
    "squared_hinge": LinearSVMClassifier(),
    "hinge": LinearSVMClassifier(loss="hinge"),
}
# Solver and loss, where the table of solvers has a function for them. Pegasos, whose steps shrink,
# comes near an optimum only; it has tests of its own.
PAIRS = [
    (name, loss)
    for name, functions in SOLVERS.items()
    for loss in LOSSES
    if functions[1 if loss == "hinge" else 0] is not None and name != "pegasos"
]


def noisy_classes(n_classes: int = 2, n_rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ten features whose classes overlap."""
    return make_classification(
        n_rows, 10, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=n_classes
    )


def primal(model: LinearMachine, X: np.ndarray, y: np.ndarray) -> float:
    """Objective of a fitted binary model, from its attributes."""
    margin = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    w = np.append(model.coef_, model.intercept_ / model.intercept_scaling)
    loss = model._loss().terms(np.full(len(y), float(model.C)))
    return 0.5 * float(w @ w) + float(loss.primal(margin).sum())
