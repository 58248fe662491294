"""What a model says about rows: prediction, decision for each class, probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.calibrators import Calibration
from ..core.class_probabilities import class_probabilities
from ..kernel.model.prediction import votes


@dataclass(frozen=True)
class Labelling:
    """Rule that turns decisions, and probabilities if there are any, into labels."""

    threshold: float | None = None  # of two classes
    thresholds: tuple[float, ...] | None = None  # one for each class

    def labels(self, raw: Array, probability: Array | None) -> Array:
        """Return the labels of rows; both arguments have a column for each class."""
        if self.thresholds is not None and probability is not None:
            divisor = np.array(self.thresholds)
            # The class of threshold zero is predicted wherever it is possible at all.
            scaled = np.where(probability > 0, np.inf, -np.inf)
            np.divide(probability, divisor, out=scaled, where=divisor > 0)
            return np.asarray(scaled.argmax(axis=1), dtype=np.float64)
        if self.threshold is not None:
            score = raw if probability is None else probability
            return np.asarray(score[:, 1] > self.threshold, dtype=np.float64)
        return np.asarray(raw.argmax(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Answers:
    """Function from decisions to what a model says, by row.

    The columns are the prediction, the decision for each class and, of a calibrated model, the
    probability of each class.
    """

    n_classes: int
    pairs: bool  # whether there is a decision for each pair of classes, not for each class
    labelling: Labelling
    calibration: Calibration | None = None

    def __call__(self, decisions: Array) -> Array:
        """Return the answers about rows."""
        raw = decisions
        if decisions.shape[1] == 1:
            raw = np.hstack([-decisions, decisions])
        elif self.pairs:
            raw = votes(decisions, self.n_classes)
        probability = None
        if self.calibration is not None:
            probability = class_probabilities(
                self.calibration, decisions, raw.argmax(axis=1), self.n_classes
            )
        label = self.labelling.labels(raw, probability)[:, None]
        return np.hstack([label, raw] if probability is None else [label, raw, probability])
