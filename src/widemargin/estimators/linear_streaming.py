"""Linear classifiers of rows that come in batches: kept on disk, or seen once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..core.blocks import RowBlock
from ..core.budget import Budget
from ..core.losses import NO_WEIGHT, LossConstants
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import canonical, take_rows
from ..core.training_set import class_factors
from ..core.uneven_scales import UNEVEN_PENALTY, warn_if_few_features_dominate
from ..data import SpooledRows, spool
from ..engines import LocalEngine
from ..linear.online_model import learn, refuse_other_constant
from ..linear.problems import LinearProblems
from .linear_fit import budget_of, loss_of, set_fitted, train_linear

# Blocks on their way to disk take a few times their size of memory.
LARGEST_BLOCK, BLOCKS_IN_MEMORY = 1 << 25, 8


def fit_stream(estimator: Any, batches: Any, classes: Any, **options: Any) -> None:
    """Write batches to disk, and train on what is mapped from there."""
    estimator._check_parameters()
    _refuse_validation(estimator)
    _refuse_calibration(estimator)
    with spooled(estimator, batches, classes=classes, **options) as rows:
        fit_spooled(estimator, rows)


def spooled(estimator: Any, source: Any, **options: Any) -> SpooledRows:
    """Write rows to disk in blocks that the memory limit allows, and show the progress."""
    block_bytes = min(LARGEST_BLOCK, memory_bytes(estimator.memory_limit) // BLOCKS_IN_MEMORY)
    with FitProgress(f"{type(estimator).__name__}, reading", estimator.tol) as progress:

        def report(done: int, total: int | None, rows: int) -> None:
            if total:
                progress.report_count("MB", done // 10**6, max(1, total // 10**6))

        return spool(source, block_bytes=max(1, block_bytes), report=report, **options)


def fit_spooled(estimator: Any, rows: SpooledRows) -> None:
    """Train on rows on disk."""
    _refuse_calibration(estimator)
    warn_if_few_features_dominate(rows.X, UNEVEN_PENALTY)
    weights = rows.weights
    if estimator.class_weight is not None:
        factors = class_factors(estimator.class_weight, rows.classes, rows.class_totals)
        weights = factors[rows.codes] if weights is None else weights * factors[rows.codes]
    problems = LinearProblems.of_blocks(
        LocalEngine(thread_count(estimator.n_jobs)),
        [RowBlock("spooled", rows.X, rows.codes.astype(np.int32), weights)],
        len(rows.classes),
        loss_of(estimator, float(rows.class_totals.sum())),
        estimator._constant,
        on_disk=True,
    )
    estimator.n_features_in_ = rows.n_features
    _set_names(estimator, rows.feature_names)
    start = estimator._previous_weights(rows.classes) if estimator.warm_start else None
    budget = budget_of(estimator, problems, estimator._seed())
    train_linear(
        estimator, problems, partial(set_fitted, estimator, rows.classes), budget, start=start
    )


def _refuse_calibration(estimator: Any) -> None:
    """Raise ValueError if rows on disk would have to be divided into folds."""
    if estimator.calibrate is not None:
        raise ValueError(
            "Rows of a stream are on disk, and calibration trains on parts of them; got "
            f"calibrate={estimator.calibrate!r}. Set it to None, use `fit`, or calibrate the "
            "fitted model on rows it has not seen, by sklearn.calibration."
            "CalibratedClassifierCV(FrozenEstimator(model))."
        )


def _refuse_validation(estimator: Any) -> None:
    if estimator.validation_fraction is not None:
        raise ValueError(
            "`validation_fraction` keeps rows of a training set in memory; got "
            f"{estimator.validation_fraction} with a stream. Set it to None, or use `fit`."
        )


def _set_names(estimator: Any, names: tuple[str, ...] | None) -> None:
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def partial_fit(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Go on learning from rows that are not kept."""
    estimator._check_parameters()
    _refuse_settings(estimator)
    first = not hasattr(estimator, "curvature_")
    if classes is None and not hasattr(estimator, "classes_"):
        raise ValueError(
            "The first call of `partial_fit` needs `classes`, all labels that will ever come; got "
            "None."
        )
    known = None if first and classes is not None else estimator.classes_
    X, y = validate_data(estimator, X, y, reset=first, **estimator._accepted())
    check_classification_targets(y)
    labels = _labels(classes, known)
    codes = _codes(np.asarray(y), labels)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not np.all(weights > NO_WEIGHT):
        kept = np.flatnonzero(weights > NO_WEIGHT)
        X, codes, weights = take_rows(X, kept, pairwise=False), codes[kept], weights[kept]
    if estimator.class_weight is not None:
        totals = np.ones(len(labels))  # looked at for "balanced" only
        weights = weights * class_factors(estimator.class_weight, labels, totals)[codes]
    problems = LinearProblems.of_blocks(
        LocalEngine(thread_count(estimator.n_jobs)),
        [RowBlock("batch", canonical(X), codes, None if np.all(weights == 1.0) else weights)],
        len(labels),
        LossConstants.of(estimator._loss(), estimator.C),
        estimator._constant,
    )
    if not first:
        refuse_other_constant(estimator, problems.constant)
    budget = Budget(
        memory=memory_bytes(estimator.memory_limit), threads=thread_count(estimator.n_jobs)
    )
    learn(estimator, problems, budget, labels)


def _refuse_settings(estimator: Any) -> None:
    """Raise ValueError where a setting needs all rows at once."""
    for name in ("lam", "validation_fraction"):
        value = getattr(estimator, name, None)
        if value is not None:
            raise ValueError(
                f"`{name}` needs to know all rows, which `partial_fit` never does; got {value}. "
                "Set it to None, or use `fit_stream`."
            )
    if isinstance(estimator.class_weight, str):
        raise ValueError(
            "class_weight='balanced' needs to know all rows, which `partial_fit` never does. Pass "
            "a dictionary of weights, or use `fit_stream`."
        )


def _labels(classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """Return all labels, as given now or before."""
    if classes is None:
        assert known is not None
        return known
    labels = np.unique(np.asarray(classes))
    if len(labels) < 2:
        raise ValueError(f"`classes` must list at least two labels; got {labels.tolist()}.")
    if known is not None and not np.array_equal(labels, known):
        raise ValueError(
            f"`classes` must stay those of the first call, {known.tolist()}; got "
            f"{labels.tolist()}. Use a new estimator for others."
        )
    return labels


def _codes(y: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int32]:
    unknown = np.setdiff1d(y, labels)
    if unknown.size:
        raise ValueError(
            f"y holds labels that are not in `classes`, {labels.tolist()}: "
            f"{unknown[:5].tolist()}. Name all labels in the first call."
        )
    return np.asarray(np.searchsorted(labels, y), dtype=np.int32)
