"""Training data of all estimators: checked and weighed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from ..core.arrays import Array
from ..core.blocks import CANONICAL_VALUES
from ..core.losses import NO_WEIGHT
from .rows import copies_in_own_order, take_rows

# What scikit-learn's validation sets before all else has been checked.
COLUMNS = ("n_features_in_", "feature_names_in_")

# Largest range of labels that are numbered by counting.
MOST_COUNTED = 1 << 16


@dataclass(frozen=True)
class TrainingSet:
    """Rows of positive weight."""

    X: Any  # the rows; for a precomputed kernel their square matrix
    classes: NDArray[Any]  # (n_classes,): sorted labels
    codes: NDArray[np.int64]  # (n_rows,): position of each row's label in ``classes``
    weights: Array  # (n_rows,): sample weights, all positive
    # (n_rows,): numbers of these rows in the data as given; None if all were kept.
    kept: NDArray[np.int64] | None
    n_given: int  # number of rows given

    def given_numbers(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Translate row numbers to those of the data as given."""
        return rows if self.kept is None else self.kept[rows]

    def merged(self, group: NDArray[np.int64], first: NDArray[np.int64]) -> TrainingSet:
        """Keep the first row of each set of copies, with the weights of all of them."""
        return replace(
            self,
            X=self.X[first],
            codes=self.codes[first],
            weights=np.bincount(group, self.weights).astype(np.float64),
            kept=self.given_numbers(first),
        )


def training_set(
    X: Any, y: NDArray[Any], sample_weight: Any, *, pairwise: bool, estimator: str
) -> TrainingSet:
    """Drop rows of weight zero and number the classes that are left."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = None if np.all(weights > NO_WEIGHT) else np.flatnonzero(weights > NO_WEIGHT)
    if kept is not None:
        if kept.size == 0:
            raise ValueError("At least one `sample_weight` must be positive; got all zero.")
        y, weights = y[kept], weights[kept]
    classes, codes = _numbered(y)
    if len(classes) < 2:
        weighted = " with a positive weight" if kept is not None else ""
        raise ValueError(
            f"{estimator} needs rows of at least two classes{weighted}; got only one class, "
            f"{classes.tolist()[0]!r}."
        )
    return TrainingSet(take_rows(X, kept, pairwise), classes, codes, weights, kept, X.shape[0])


def _numbered(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted labels, and the position of each row's label among them.

    Whole numbers of a small range are counted, which takes a tenth of the time of sorting them.
    """
    if y.dtype.kind == "i" or (y.dtype.kind == "u" and y.dtype.itemsize < 8):
        low, high = int(y.min()), int(y.max())
        if high - low < min(len(y), MOST_COUNTED):
            from_low = y.astype(np.int64) - low
            present = np.bincount(from_low) > 0
            classes = (np.flatnonzero(present) + low).astype(y.dtype)
            return classes, (np.cumsum(present) - 1)[from_low]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes


def in_own_order(training: TrainingSet, apart: NDArray[np.int64] | None = None) -> TrainingSet:
    """Merge equal rows of a class and order rows by their contents alone, if the set is small.

    What is trained on them then depends neither on the order in which rows were given, nor on
    whether a row was given twice or once with twice the weight. Rows with different numbers in
    ``apart``, from 0, are not merged.
    """
    if (training.X.nnz if sp.issparse(training.X) else training.X.size) > CANONICAL_VALUES:
        return training
    key = training.codes if apart is None else apart * len(training.classes) + training.codes
    group, first = copies_in_own_order(training.X, key)
    return training.merged(group, first)


def class_weights(class_weight: Any, training: TrainingSet) -> Array:
    """Return the factor of every row."""
    classes, codes = training.classes, training.codes
    if class_weight is None:
        return np.ones(len(codes))
    totals = np.bincount(codes, training.weights, len(classes)).astype(np.float64)
    return np.asarray(class_factors(class_weight, classes, totals)[codes])


def class_factors(class_weight: Any, classes: NDArray[Any], totals: Array) -> Array:
    """Return the factor of every class, given the total weight of its rows.

    ``"balanced"`` counts rows by their weight, so that a row of weight 2 is the row twice.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):  # "balanced", as validated
        present = np.where(totals > 0, totals, 1.0)
        return np.asarray(np.where(totals > 0, totals.sum() / (len(classes) * present), 1.0))
    # Extra keys are allowed, as a fold may lack a class; no matching key at all is a mistake.
    if class_weight and not set(class_weight) & set(classes.tolist()):
        raise ValueError(
            f"`class_weight` names none of the classes, {classes.tolist()}; got "
            f"{list(class_weight)}."
        )
    factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    if not np.all(np.isfinite(factors) & (factors > 0)):
        raise ValueError(
            "`class_weight` must map classes to positive finite numbers; got "
            f"{dict(zip(classes.tolist(), factors.tolist(), strict=True))}."
        )
    return factors


@contextmanager
def earlier_fit_kept(estimator: Any) -> Iterator[None]:
    """Put the description of the columns back if an error ends a fit before it sets a model."""
    state = vars(estimator)
    before = {name: state[name] for name in COLUMNS if name in state}
    fitted = getattr(estimator, "_fitted", "classes_")
    model = state.get(fitted)
    try:
        yield
    except BaseException:
        if state.get(fitted) is model:  # else an interrupted fit has left its own model
            for name in COLUMNS:
                state.pop(name, None)
            state.update(before)
        raise
