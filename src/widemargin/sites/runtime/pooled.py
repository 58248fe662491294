"""What sites would have learned had they pooled their rows: the mark that their models are held to.

Only where all rows are at hand: demonstrations, tests and the soak run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...estimators import LinearSVMClassifier

__all__ = ["PooledProblem"]

# Far below the percent that models are held to.
TOL = 1e-5


@dataclass(frozen=True)
class PooledProblem:
    r"""All rows of a network, with :math:`\tfrac\lambda2 |w|^2` plus the mean hinge loss.

    Attributes
    ----------
    X, y : arrays
        Rows and labels of all sites.
    lam : float
        λ.
    """

    X: Any
    y: Any
    lam: float

    def solved(self) -> Any:
        """Return the model of all rows."""
        return self._solved_on(slice(None))

    def solved_alone(self, rows: Any) -> Any:
        """Return the model that a site with these rows would have alone, with the same λ."""
        return self._solved_on(rows)

    def objective(self, model: Any) -> float:
        """Return λ/2 |w|² plus the mean loss of a model; the intercept is penalised."""
        label = np.where(self.y == model.classes_[1], 1.0, -1.0)
        decision = self.X @ model.coef_[0] + model.intercept_[0]
        length = float(model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2)
        return 0.5 * self.lam * length + float(np.maximum(0.0, 1.0 - label * decision).mean())

    def excess(self, model: Any, optimum: Any) -> float:
        """Return how far a model's objective is above the optimum, as a share of that."""
        least = self.objective(optimum)
        return (self.objective(model) - least) / least

    def _solved_on(self, rows: Any) -> Any:
        X, y = self.X[rows], self.y[rows]
        C = 1.0 / (self.lam * len(y))
        model = LinearSVMClassifier(loss="hinge", C=C, tol=TOL, random_state=0, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)  # or it would be no optimum
            return model.fit(X, y)
