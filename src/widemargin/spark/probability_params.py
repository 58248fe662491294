"""Params of probabilities and of the thresholds that turn them into labels.

Semantics are those of MLlib. ``thresholds`` divide probabilities, and the class of the largest
quotient is predicted. ``threshold`` is for two classes: of a calibrated model that of
``LogisticRegression``, which the probability of class 1 must exceed; of a model without
probabilities that of ``LinearSVC``, which its decision must exceed.
"""

from __future__ import annotations

import math
from typing import Any, Self

from pyspark.ml.param import TypeConverters
from pyspark.ml.param.shared import HasProbabilityCol, HasThreshold, HasThresholds

from .accessors import param
from .labelling import Labelling

# `threshold` and `thresholds` are taken for the same if they differ by less, as in MLlib.
SAME = 1e-5


class ProbabilityParams(HasProbabilityCol, HasThreshold, HasThresholds):  # type: ignore[misc]
    """Params of probabilities and thresholds, with their checks."""

    probabilityCol = param(
        "column that a calibrated model adds: a vector of the probability of each class."
    )
    calibrate = param(
        "'sigmoid' or 'isotonic' learns to turn decisions into probabilities, on rows that are "
        "not trained on, and adds probabilityCol. Unset: no probabilities."
    )
    threshold = param(
        "for two classes: 1 is predicted where its probability exceeds this number from 0 to 1; "
        "without calibrate, where its decision exceeds this number. Unset: 0.5, or 0.",
        TypeConverters.toFloat,
    )
    thresholds = param(
        "one number >= 0 for each class, at most one of them 0, if calibrate is set: the class of "
        "the largest probability / threshold is predicted. Unset: all alike.",
        TypeConverters.toListFloat,
    )

    @property
    def _calibrated(self) -> bool:
        """Whether there are, or will be, probabilities."""
        return bool(self.isDefined("calibrate"))

    def setThreshold(self, value: float) -> Self:
        """Set the value of ``threshold``, clear ``thresholds``, and return this object."""
        self._set(threshold=value)
        self.clear(self.thresholds)
        return self

    def setThresholds(self, value: list[float]) -> Self:
        """Set the value of ``thresholds``, clear ``threshold``, and return this object."""
        self._set(thresholds=value)
        self.clear(self.threshold)
        return self

    def getThreshold(self) -> float:
        """Get the threshold of two classes; that which ``thresholds`` amount to if they are set."""
        self._check_consistent()
        if self.isSet("thresholds"):
            return self._threshold_of_two()
        if self.isSet("threshold"):
            return float(self.getOrDefault("threshold"))
        return 0.5 if self._calibrated else 0.0

    def getThresholds(self) -> list[float]:
        """Get the thresholds; ``[1 - threshold, threshold]`` if only that is set."""
        self._check_consistent()
        if self._calibrated and self.isSet("threshold") and not self.isSet("thresholds"):
            threshold = float(self.getOrDefault("threshold"))
            return [1.0 - threshold, threshold]
        return list(self.getOrDefault("thresholds"))

    def _labelling(self, n_classes: int) -> Labelling:
        """Return the rule that turns decisions and probabilities into labels, checked."""
        self._check_thresholds(n_classes)
        if self.isSet("thresholds"):
            return Labelling(thresholds=tuple(self.getOrDefault("thresholds")))
        return Labelling(self.getThreshold() if self.isSet("threshold") else None)

    def _check_thresholds(self, n_classes: int | None = None) -> None:
        """Raise if thresholds are invalid, or not for so many classes; None if not known yet."""
        self._check_consistent()
        if not self._calibrated:
            for name in ("thresholds", "probabilityCol"):
                if self.isSet(name) and self.getOrDefault(name):
                    raise ValueError(
                        f"`{name}` is for models with probabilities; got "
                        f"{self.getOrDefault(name)!r} and no `calibrate`. Fit with "
                        "calibrate='sigmoid', or leave it out."
                    )
        if self.isSet("threshold"):
            self._check_threshold(float(self.getOrDefault("threshold")), n_classes)
        if self.isSet("thresholds"):
            _check_each(self.getOrDefault("thresholds"), n_classes)

    def _check_threshold(self, value: float, n_classes: int | None) -> None:
        valid = 0.0 <= value <= 1.0 if self._calibrated else not math.isnan(value)
        if not valid:
            required = "from 0 to 1, as it is for probabilities" if self._calibrated else "a number"
            raise ValueError(f"`threshold` must be {required}; got {value:g}.")
        if n_classes is not None and n_classes != 2:
            raise ValueError(
                f"`threshold` is for two classes; got {n_classes}. Set `thresholds`, one for each."
            )

    def _check_consistent(self) -> None:
        if self.isSet("threshold") and self.isSet("thresholds"):
            given, implied = float(self.getOrDefault("threshold")), self._threshold_of_two()
            if not abs(given - implied) < SAME:
                raise ValueError(
                    f"`threshold` and `thresholds` must agree; got {given:g} and "
                    f"{self.getOrDefault('thresholds')}, which amount to {implied:g}. Set one of "
                    "them."
                )

    def _threshold_of_two(self) -> float:
        """Return what two thresholds amount to."""
        values: Any = self.getOrDefault("thresholds")
        if len(values) != 2:
            raise ValueError(
                f"`threshold` is for two classes; got {len(values)} `thresholds`: {values}."
            )
        return float(values[1] / (values[0] + values[1])) if any(values) else math.nan


def _check_each(values: list[float], n_classes: int | None) -> None:
    if not all(value >= 0 for value in values) or values.count(0.0) > 1:
        raise ValueError(
            f"`thresholds` must be numbers >= 0, at most one of them 0; got {list(values)}."
        )
    if n_classes is not None and len(values) != n_classes:
        raise ValueError(
            f"`thresholds` needs one number for each class; got {len(values)} for {n_classes} "
            "classes."
        )
