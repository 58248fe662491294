"""Linear regressors but for the fit: parameters and prediction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core.arrays import Array
from ..core.parameters import with_parameters
from ..core.resources import thread_count
from ..linear.model import decisions_of
from .linear_model import LinearFitParameters, LinearSolverParameters
from .regression import Regressor


@with_parameters
class LinearRegressionParameters(LinearSolverParameters):
    """Parameters that a regressor and the search for its ``C`` share.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Add a constant feature, whose weight gives the intercept. It is penalised like the other
        weights, as in LIBLINEAR, but as a distance from the middle of the targets and not from
        zero: their weighted mean, or quantile. Adding a constant to all targets adds it to all
        predictions.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values penalise the intercept less.

    Attributes
    ----------
    intercept_ : float
        Added to the predictions; zero without ``fit_intercept``.
    """

    # Parameters of scikit-learn's LinearSVR and QuantileRegressor.
    _elsewhere: ClassVar[dict[str, str]] = {
        "dual": "pass solver='dual' instead, or leave the choice to solver='auto'.",
        "alpha": "pass `C` instead, the weight of the loss; the penalty is of squared weights.",
    }


@with_parameters
class LinearRegressorParameters(LinearFitParameters, LinearRegressionParameters):
    """Parameters and fitted attributes of a regressor.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights.
    """


class LinearRegressorPredictor(Regressor):
    """A regressor that multiplies rows with weights."""

    _fitted = "coef_"

    coef_: Any
    intercept_: float

    def _predictions(self, X: Any) -> Array:
        coef = np.atleast_2d(self.coef_)
        return decisions_of(X, coef, self.intercept_, thread_count(self.n_jobs))[:, 0]
