"""Calibrators of a model on Spark, fitted to decisions on rows that were not trained on.

As for the local estimators, these are the validation rows if there are any. Else a training set
that one task has room for is calibrated there by the local code, in folds; of a larger one some
rows are left out once, and the rest is trained on as the whole was.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.blocks import RowBlock, joined
from ..core.budget import Budget
from ..core.calibrators import Calibration
from ..core.class_probabilities import fit_calibration
from ..core.fit import warn
from ..core.rows import canonical
from ..core.training_set import TrainingSet, class_factors
from .rows.blocks import PlacedRows
from .rows_left_out import RowsLeftOut

CalibrateTogether = Callable[[Any, TrainingSet, Budget], None]


def calibrate(stage: Any, model: Any, rows: PlacedRows, budget: Budget, log: Any) -> None:
    """Calibrate a model that a stage has just fitted to rows, within what is left of a budget."""
    fitted, counts = model._fitted, rows.summary.counts
    log.doing("calibrating")
    if rows.validation is not None:
        chosen = RowsLeftOut.of(rows.validation, share=1.0)
        held = model._held_out(rows.validation, chosen)
    elif np.all(counts > 0) and stage._calibrates_together(fitted, rows):
        _calibrate_in_one_task(stage, fitted, rows, budget)
        return
    else:
        chosen = RowsLeftOut.of(rows)
        _warn_of_classes(np.flatnonzero((counts > 0) & ~chosen.some).tolist())
        held = _decisions_without(chosen, stage, model, rows, budget, log)
    n_classes = len(counts)
    factors = class_factors(fitted.class_weight, np.arange(n_classes), rows.summary.weights)
    fitted.calibration_ = fit_calibration(
        fitted.calibrate,
        "binary" if n_classes == 2 else stage._columns_of_decisions,
        held.decisions,
        held.codes,
        n_classes,
        held.weights * factors[held.codes],
    )


def _calibrate_in_one_task(stage: Any, fitted: Any, rows: PlacedRows, budget: Budget) -> None:
    """Have one task calibrate by folds of all rows, as it is done for arrays."""
    estimator = copy(fitted)
    estimator.n_jobs = budget.threads
    vars(estimator).pop("support_vectors_", None)  # which the rows hold
    task = _FoldsOfAll(estimator, stage._calibrate_together, budget)
    fitted.calibration_, said = rows.engine.together(rows.parts, task)
    for message, converged in said:
        warn(message, UserWarning if converged else ConvergenceWarning)


@dataclass(frozen=True)
class _FoldsOfAll:
    """Calibrators from folds of all rows; with warnings, and whether they are not of convergence.

    ``calibrate`` sets those of a fitted estimator.
    """

    estimator: Any
    calibrate: CalibrateTogether
    budget: Budget

    def __call__(self, blocks: list[RowBlock]) -> tuple[Calibration, list[tuple[str, bool]]]:
        block = joined(blocks)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        codes, classes = block.codes.astype(np.int64), self.estimator.classes_
        training = TrainingSet(canonical(block.X), classes, codes, weight, None, block.n_rows)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.calibrate(self.estimator, training, self.budget)
        said = [
            (str(each.message), not issubclass(each.category, ConvergenceWarning))
            for each in caught
        ]
        return self.estimator.calibration_, said


def _decisions_without(
    chosen: RowsLeftOut, stage: Any, model: Any, rows: PlacedRows, budget: Budget, log: Any
) -> Any:
    """Train on the other rows, and return the decisions about those that are left out."""
    fitted, plain = model._fitted, stage._without_calibration()
    others = chosen.others(rows)
    estimator = plain._local_estimator()
    estimator.max_time = budget.time_left
    log.report(f"calibrating by {rows.summary.rows - others.summary.rows:,} rows left out")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of all rows has warned of the same
        stage._settle(estimator, fitted, rows)
        more = plain._train(estimator, others, log)
    estimator.classes_, estimator.n_features_in_ = fitted.classes_, fitted.n_features_in_
    without = type(model)(estimator, *more)
    if fitted.converged_ and not estimator.converged_:
        warn(
            f"The probabilities of {type(stage).__name__} come from a model that did not converge. "
            "Raise `maxTime` or `maxIter`, or lower `C`.",
            ConvergenceWarning,
        )
    try:
        return without._held_out(rows, chosen)
    finally:
        without._discard()


def _warn_of_classes(alone: list[int]) -> None:
    if alone:
        warn(
            f"Classes of a single row cannot be calibrated: {alone[:5]}. They stay improbable "
            "wherever another class is predicted; give them two rows or more, or leave them out."
        )
