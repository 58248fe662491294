"""Base of all fitted regressors, and the parameters of their losses."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from ..core.arrays import Array
from ..core.losses import Loss
from ..core.parameters import with_parameters
from ..core.regression_losses import (
    DeviationBand,
    EpsilonInsensitive,
    Pinball,
    SquaredEpsilonInsensitive,
)
from ..core.regression_set import (
    RegressionSet,
    TargetUnits,
    finite_targets,
    regression_set,
    weighted_quantile,
)
from ..core.rows import canonical
from ..core.sklearn_base import RegressorMixin
from .parameters import MarginLoss
from .prediction import TrainedModel

NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")
# Parameters that say up to which size residuals cost nothing, in the unit of the targets.
BANDS = ("epsilon", "theta")
# There is a warning where a larger share of the targets is this close to the middle.
WIDE_BAND = 0.98


class Regressor(RegressorMixin, TrainedModel):
    """A regressor but for its fit."""

    def predict(self, X: Any) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. float32 rows are not copied as a whole.

        Returns
        -------
        array of shape (n_samples,)
            Predicted targets.
        """
        return self._predictions(self._checked_rows(X))

    @abstractmethod
    def _predictions(self, X: Any) -> Array:
        """Predict the targets of checked rows."""

    def _checked_training_data(
        self, X: Any, y: Any, *, reset: bool = True
    ) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, reset=reset, y_numeric=True, **self._accepted())
        return canonical(X), finite_targets(y)

    def _weighed(self, X: Any, y: NDArray[Any], sample_weight: Any) -> RegressionSet:
        """Return the rows of positive weight with targets and weights."""
        return regression_set(X, y, sample_weight, pairwise=self._pairwise)

    def _training_set(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, RegressionSet]:
        """Return the checked rows, and those of positive weight with targets and weights."""
        X, y = self._checked_training_data(X, y, reset=reset)
        training = self._weighed(X, y, sample_weight)
        if reset:
            warn_of_wide_band(self, training)
        return X, training


def warn_of_wide_band(estimator: Any, training: RegressionSet) -> None:
    """Warn where residuals that cost nothing are as large as nearly all deviations of targets."""
    name = next((name for name in BANDS if hasattr(estimator, name)), None)
    if name is None:
        return
    band, targets = getattr(estimator, name), training.targets
    deviations = np.abs(targets - weighted_quantile(targets, 0.5, training.weights))
    if deviations.max() > 0 and np.mean(deviations <= band) > WIDE_BAND:
        warnings.warn(
            f"{np.mean(deviations <= band):.1%} of the targets lie within {name}={band:g} of their "
            f"median, and residuals of that size cost nothing: the model will hardly depend on the "
            f"rows. The targets' standard deviation is {targets.std():.3g}. Lower `{name}`, or "
            "scale the targets, as sklearn.compose.TransformedTargetRegressor does.",
            UserWarning,
            stacklevel=2,
        )


class ResidualLoss(MarginLoss):
    """Loss of a residual, the prediction less the target."""

    def _middle(self, targets: Array, weights: Array | None) -> float:
        """Return the middle of targets, which the intercept is measured from."""
        return float(np.average(targets, weights=weights))

    def _units(self, targets: Array, weights: Array | None, *, centred: bool) -> TargetUnits:
        """Return what targets are measured in; from their middle, if they are to be centred."""
        origin = self._middle(targets, weights) if centred else 0.0
        return TargetUnits.around(origin, targets, weights)


@with_parameters
class InsensitiveLoss(ResidualLoss):
    """Loss of support vector regression but for its ε.

    Parameters
    ----------
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        Loss of residuals beyond ε: their distance from it, or its square.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    loss: str = "epsilon_insensitive"


@with_parameters
class EpsilonInsensitiveLoss(InsensitiveLoss):
    """Loss of support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.0
        ε: residuals of at most this, in the unit of the targets, cost nothing.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [NOT_NEGATIVE],
    }

    epsilon: float = 0.0

    def _loss(self) -> Loss:
        if self.loss == "epsilon_insensitive":
            return EpsilonInsensitive(self.epsilon)
        return SquaredEpsilonInsensitive(self.epsilon)


@with_parameters
class QuantileLoss(ResidualLoss):
    """Loss of quantile regression.

    Parameters
    ----------
    quantile : float in (0, 1), default=0.5
        Share of the targets that is to lie below the predictions; 0.5 is the median.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    quantile: float = 0.5

    def _loss(self) -> Loss:
        return Pinball(self.quantile)

    def _middle(self, targets: Array, weights: Array | None) -> float:
        return weighted_quantile(targets, self.quantile, weights)


@with_parameters
class DeviationBandLoss(ResidualLoss):
    """Loss of the ODM for regression.

    Parameters
    ----------
    upsilon : float in (0, 1], default=1.0
        υ: weight of predictions that are too large, relative to those that are too small. (Not the
        ν of :class:`sklearn.svm.NuSVR`.)
    theta : float, default=0.1
        θ: residuals of at most this, in the unit of the targets, cost nothing.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "upsilon": [Interval(Real, 0.0, 1.0, closed="right")],
        "theta": [NOT_NEGATIVE],
    }

    upsilon: float = 1.0
    theta: float = 0.1

    def _loss(self) -> Loss:
        return DeviationBand(self.upsilon, self.theta)
