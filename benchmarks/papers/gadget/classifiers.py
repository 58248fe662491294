"""Other classifiers at every site, of scikit-learn; nothing is sent.

Settings are those that the paper names: penalised linear regression of the labels with the sign as
prediction (glmnet, α = 0.8 for the elastic net), ten trees, AdaBoost on stumps, and a perceptron
with ten hidden sigmoid units and a learning rate of 0.001 with decay. What it does not name is
chosen here: penalties by five-fold cross-validation, 50 stumps, 100 epochs in batches of 200 rows
with momentum, and a rate that falls to a fifth when the loss stalls. A perceptron trained by Adam
has the same units.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNetCV, LassoCV, RidgeCV
from sklearn.neural_network import MLPClassifier

from .problem import DividedProblem, Outcome, Stopwatch

TREES, STUMPS, HIDDEN, EPOCHS = 10, 50, 10, 100
FOLDS, PENALTIES, ELASTIC = 5, 20, 0.8
RIDGE_PENALTIES = np.logspace(-2, 5, 15)
SMALLEST_PENALTY = 1e-3  # over the largest, as in glmnet


def _perceptron(seed: int, **settings: Any) -> Any:
    kept = {"hidden_layer_sizes": (HIDDEN,), "activation": "logistic", "max_iter": EPOCHS}
    return MLPClassifier(**kept, learning_rate_init=1e-3, random_state=seed, **settings)


PATH = {"cv": FOLDS, "alphas": PENALTIES, "eps": SMALLEST_PENALTY}
MODELS: dict[str, Callable[[int], Any]] = {
    "lasso": lambda seed: LassoCV(**PATH),
    "ridge": lambda seed: RidgeCV(RIDGE_PENALTIES),
    "elastic_net": lambda seed: ElasticNetCV(l1_ratio=ELASTIC, **PATH),
    "forest": lambda seed: RandomForestClassifier(TREES, random_state=seed),
    "boosting": lambda seed: AdaBoostClassifier(n_estimators=STUMPS, random_state=seed),
    "perceptron": lambda seed: _perceptron(seed, solver="sgd", learning_rate="adaptive"),
    "perceptron_adam": lambda seed: _perceptron(seed, solver="adam"),
}


def classifiers(problem: DividedProblem, model: str, *, seed: int = 0) -> Outcome:
    """Train a model at every site; a prediction that is a number counts by its sign."""
    X, X_test = problem.X[:, :-1], problem.X_test[:, :-1]  # they have intercepts of their own
    clock, found = Stopwatch(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for rows in problem.rows:
            found.append(MODELS[model](seed).fit(X[rows], problem.y[rows]))
    seconds = clock.seconds
    decisions = np.stack([each.predict(X_test) for each in found], axis=1)
    return Outcome(decisions, None, 0, 0, 0, seconds, True)
