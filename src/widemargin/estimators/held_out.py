"""Folds of a training set, and the decisions of models that left a fold out.

Calibrators must see decisions on rows that were not trained on. Rows are dealt out over five folds;
of a fold, a model of the other folds gives the decisions. Folds depend on the contents of the rows
alone, and copies of a row are in one fold, so that probabilities depend neither on the order of the
rows nor on whether a row was given twice or with twice the weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.blocks import CANONICAL_VALUES
from ..core.budget import Budget
from ..core.fit import warn
from ..core.rows import copies_in_own_order, take_rows
from ..core.training_set import TrainingSet

FOLDS = 5
# Folds are left out in turn until this many rows have been,
ENOUGH_ROWS = 10_000
# and this many of every class, or there are no more folds.
ENOUGH_OF_CLASS = 100
# Row that is in no fold and always trained on.
NO_FOLD = -1


@dataclass(frozen=True)
class FoldedRows:
    """Training rows, copies merged, and their folds."""

    training: TrainingSet
    # (n_rows,): position of each row in the training set it was made from; the first, of copies.
    first: NDArray[np.int64]
    # For every row of that training set, the row it was merged into.
    merged: NDArray[np.int64]
    fold: NDArray[np.int64]  # (n_rows,)
    pairwise: bool  # whether the rows are kernel values

    @classmethod
    def of(cls, training: TrainingSet, *, pairwise: bool) -> FoldedRows:
        """Deal rows out over the folds, each class evenly."""
        n, n_classes = len(training.codes), len(training.classes)
        stored = training.X.nnz if sp.issparse(training.X) else training.X.size
        merged = first = np.arange(n)
        if not pairwise:
            merged, first = copies_in_own_order(training.X, training.codes)
            if len(first) == n and stored > CANONICAL_VALUES:  # no copies: spare one of the data
                merged = first = np.arange(n)
        weight = np.bincount(merged, training.weights).astype(np.float64)
        # A class that is one row, several times, is two rows of half the weight: one in each of
        # two folds.
        single = np.bincount(training.codes[first], minlength=n_classes) == 1
        doubled = np.flatnonzero(single[training.codes[first]] & (weight >= 2.0))
        weight[doubled] *= 0.5
        first, weight = np.append(first, first[doubled]), np.append(weight, weight[doubled])
        codes = training.codes[first]
        counts = np.bincount(codes, minlength=n_classes)
        n_folds = max(2, min(FOLDS, int(counts.max())))
        fold = np.full(len(first), NO_FOLD, dtype=np.int64)
        dealt = 0
        for members in (np.flatnonzero(codes == code) for code in np.flatnonzero(counts > 1)):
            fold[members] = (dealt + np.arange(members.size)) % n_folds
            dealt += members.size
        if np.any(counts == 1):
            alone = training.classes[counts == 1].tolist()
            warn(
                f"Classes of a single row cannot be calibrated: {alone[:5]}. They stay improbable "
                "wherever another class is predicted; give them two rows or more, or leave them "
                "out."
            )
        as_given = first.size == n and bool(np.array_equal(first, np.arange(n)))
        X = take_rows(training.X, None if as_given else first, pairwise)
        together = TrainingSet(X, training.classes, codes, weight, None, len(first))
        return cls(together, first, merged, fold, pairwise)

    def splits(self, most: int | None = None) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Go through the rows to train on and those left out, until enough have been left out.

        At most ``most`` folds are left out.
        """
        codes = self.training.codes
        out = np.zeros(len(codes), dtype=np.bool_)
        wanted = np.minimum(
            ENOUGH_OF_CLASS,
            np.bincount(codes[self.fold != NO_FOLD], minlength=len(self.training.classes)),
        )
        n_folds = int(self.fold.max(initial=NO_FOLD)) + 1
        for k in range(n_folds if most is None else min(most, n_folds)):
            left_out = self.fold == k
            if not left_out.any():
                continue
            yield np.flatnonzero(~left_out), np.flatnonzero(left_out)
            out |= left_out
            counts = np.bincount(codes[out], minlength=len(wanted))
            if out.sum() >= ENOUGH_ROWS and np.all(counts >= wanted):
                return

    def some(self, rows: NDArray[np.int64]) -> TrainingSet:
        """Return some of the rows as a training set."""
        t = self.training
        X = take_rows(t.X, rows, self.pairwise)
        return TrainingSet(X, t.classes, t.codes[rows], t.weights[rows], None, rows.size)


@dataclass(frozen=True)
class HeldOut:
    """Decisions on rows that were not trained on."""

    codes: NDArray[np.int64]  # (n_rows,): classes of the rows
    weights: Array  # (n_rows,): their sample weights
    decisions: Array  # (n_rows, n_columns)


def decisions_by_refits(
    estimator: Any,
    folded: FoldedRows,
    budget: Budget,
    *,
    most: int | None = None,
    start: dict[str, Any] | None = None,
    **changed: Any,
) -> HeldOut:
    """Fit a copy of an estimator for every fold that is left out, and return its decisions.

    Parameters
    ----------
    estimator : object
        The classifier.
    folded : FoldedRows
        Its training rows.
    budget : Budget
        For all fits together.
    most : int, optional
        Folds to leave out at most.
    start : dict, optional
        Fitted attributes to start the copies from, by their ``warm_start``.
    **changed
        Parameters of the copies that differ from those of the estimator.
    """
    training, splits = folded.training, list(folded.splits(most))
    n_columns = len(estimator.intercept_)
    decisions, failed = [np.zeros((0, n_columns))], 0
    for k, (inside, out) in enumerate(splits):
        model = clone(estimator).set_params(
            calibrate=None,
            random_state=budget.seed,
            max_time=budget.share(k, len(splits)).time_left,
            warm_start=start is not None,
            **changed,
        )
        vars(model).update(start or {})
        some = folded.some(inside)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows has warned of the same
            model.fit(some.X, training.classes[some.codes], some.weights)
        failed += not model.converged_
        rows = training.X[np.ix_(out, inside)] if folded.pairwise else training.X[out]
        decisions.append(model._decisions(rows))
    if failed:
        warn(
            f"The probabilities of {type(estimator).__name__} come from models that did not "
            f"converge, {failed} of {len(splits)}. Raise `max_time` or `max_iter`, or lower `C`.",
            ConvergenceWarning,
        )
    known = np.concatenate([np.zeros(0, dtype=np.int64), *(out for _, out in splits)])
    return HeldOut(training.codes[known], training.weights[known], np.concatenate(decisions))
