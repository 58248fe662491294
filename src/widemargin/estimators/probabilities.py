"""Probabilities of the classes: the parameter, the predictions, and the fit of calibrators."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.calibrators import METHODS
from ..core.class_probabilities import class_probabilities, fit_calibration
from ..core.parameters import with_parameters
from ..core.training_set import TrainingSet, class_weights
from .held_out import HeldOut


def calibrates(estimator: Any) -> bool:
    """Return true if an estimator gives probabilities; raise AttributeError otherwise."""
    if estimator.calibrate is None:
        raise AttributeError(
            f"{type(estimator).__name__} gives probabilities only if `calibrate` is set before the "
            "fit; got calibrate=None. Set calibrate='sigmoid' and fit again."
        )
    return True


@with_parameters
class Probabilities:
    """Probabilities of a classifier.

    Parameters
    ----------
    calibrate : {'sigmoid', 'isotonic'}, default=None
        Learn to turn decisions into probabilities, for :meth:`predict_proba`: by a sigmoid (two
        numbers per column of decisions), or by increasing steps, which need some thousand rows.
        They are fitted to decisions on rows that the models behind them were not trained on, in
        five folds. Decisions and predictions stay the same.

    Attributes
    ----------
    calibration_ : dict
        The calibrators, if ``calibrate`` is set: method and scheme; for 'sigmoid' arrays slope and
        offset, for 'isotonic' start, decision and probability.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "calibrate": [StrOptions(set(METHODS)), None]
    }

    calibrate: str | None = None
    calibration_: dict[str, Any] = field(init=False)

    @available_if(calibrates)  # type: ignore[untyped-decorator]
    def predict_proba(self: Any, X: Any) -> Array:
        """Predict the probabilities of the classes.

        Available if ``calibrate`` is set. The most probable class is always the one that
        :meth:`predict` returns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        X = self._checked_rows(X)
        if "calibration_" not in vars(self):
            raise NotFittedError(
                f"This {type(self).__name__} was fitted without calibration, or its fit was "
                "interrupted before it. Fit it again."
            )
        decisions = self._decisions(X)
        predicted = np.searchsorted(self.classes_, self._labels(decisions))
        return class_probabilities(self.calibration_, decisions, predicted, len(self.classes_))

    @available_if(calibrates)  # type: ignore[untyped-decorator]
    def predict_log_proba(self: Any, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes.

        Available if ``calibrate`` is set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Logarithms of what :meth:`predict_proba` returns.
        """
        with np.errstate(divide="ignore"):  # many classes: a probability may underflow to zero
            return np.asarray(np.log(self.predict_proba(X)))

    def _training_budget(self: Any, budget: Budget) -> Budget:
        """Return the budget of the model itself: half of the time, if it is to be calibrated."""
        return budget if self.calibrate is None else budget.share(0, 2)

    def _set_calibration(self: Any, scheme: str, held: HeldOut, training: TrainingSet) -> None:
        """Fit the calibrators to held-out decisions.

        Class weights count as in the training, else probabilities would contradict predictions.
        """
        factor = class_weights(self.class_weight, training)
        by_class = np.ones(len(training.classes))
        by_class[training.codes] = factor
        self.calibration_ = fit_calibration(
            self.calibrate,
            scheme,
            held.decisions,
            held.codes,
            len(training.classes),
            held.weights * by_class[held.codes],
        )
