"""The contestants: ours, a grid search over SVC, and LightGBM; each with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.race.processes import THREADS

# The grid: powers of ten of C, and multiples of what gamma="scale" stands for after scaling.
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
GAMMA_FACTORS = (0.0625, 0.25, 1.0, 4.0)
FOLDS = 5


@dataclass(frozen=True)
class Contestant:
    """A way to get a classifier; ``make(X)`` returns one that is not fitted."""

    title: str
    package: str
    make: Callable[[np.ndarray], Any]


def _auto(X: np.ndarray) -> Any:
    from widemargin import AutoClassifier

    return AutoClassifier(random_state=0)


def _grid(X: np.ndarray) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    varying = int(np.count_nonzero(X.std(axis=0)))
    gammas = [factor / max(varying, 1) for factor in GAMMA_FACTORS]
    grid = {"svc__C": list(CS), "svc__gamma": gammas}
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=FOLDS, n_jobs=THREADS)


def _lightgbm(X: np.ndarray) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, n_jobs=THREADS, random_state=0)


CONTESTANTS = {
    "auto": Contestant("AutoClassifier", "widemargin", _auto),
    "grid": Contestant("GridSearchCV(SVC)", "scikit-learn", _grid),
    "lightgbm": Contestant("LightGBM", "lightgbm", _lightgbm),
}
