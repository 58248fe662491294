"""What a model is trained for: to tell classes, to predict numbers, or to recognise novel rows."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from .messages import usage_error


class Task(StrEnum):
    """The task of a model."""

    classification = "classification"
    regression = "regression"
    novelty = "novelty"


# Options that only classifiers have.
OF_CLASSIFIERS = ("multiclass", "multi_class", "calibrate", "class_weight", "report")


def task_of(model: Any) -> Task:
    """Return what a fitted model, or the last step of a pipeline, was trained for."""
    from sklearn.base import is_outlier_detector, is_regressor

    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if is_regressor(last):
        return Task.regression
    return Task.novelty if is_outlier_detector(last) else Task.classification


def check_options(task: Task, given: dict[str, Any]) -> None:
    """End with a usage error if an option is for another task."""
    if task is Task.classification:
        own = {"epsilon": "regression", "quantile": "regression", "nu": "novelty"}
        for name, other in own.items():
            if given.get(name) is not None:
                raise usage_error(f"--{name} is for --task {other}.")
        return
    for name in OF_CLASSIFIERS:
        if given.get(name):
            raise usage_error(
                f"--{name.replace('_', '-')} is for classifiers; leave it out with --task {task}."
            )
    if given.get("spool_dir") is not None:
        raise usage_error(f"--spool-dir: --task {task} keeps the rows in memory; leave it out.")
    if task is Task.novelty and given.get("linear"):
        raise usage_error("--task novelty has kernels only: leave out --linear.")
    if task is Task.novelty and given.get("algorithm") is not None:
        raise usage_error("--task novelty has one algorithm: leave out --algorithm.")
    if task is Task.novelty and given.get("holdout"):
        raise usage_error(
            "--task novelty learns from rows without labels, which nothing can be measured on: "
            "give --test with a file of labels 1 and -1 instead of --holdout."
        )
    if task is Task.regression and given.get("nu") is not None:
        raise usage_error("--nu is for --task novelty.")
    if task is Task.novelty and (given.get("epsilon"), given.get("quantile")) != (None, None):
        raise usage_error("--epsilon and --quantile are for --task regression.")


def class_of(task: Task, algorithm: str, linear: bool, quantile: bool) -> Any:
    """Return the estimator of a regression or of novelty detection."""
    import widemargin

    if task is Task.novelty:
        return widemargin.OneClassSVM
    if quantile:
        return widemargin.LinearQuantileSVMRegressor if linear else widemargin.QuantileSVMRegressor
    by_algorithm: dict[tuple[str, bool], Any] = {
        ("odm", False): widemargin.ODMRegressor,
        ("svm", False): widemargin.SVMRegressor,
        ("odm", True): widemargin.LinearODMRegressor,
        ("svm", True): widemargin.LinearSVMRegressor,
    }
    return by_algorithm[algorithm, linear]


def usual_rows(y: Any) -> Any:
    """Return which rows are usual, by labels 1 and, where they are novel, -1."""
    import numpy as np

    labels = np.asarray(y)
    known = np.isin(labels.astype(str), ["1", "1.0", "-1", "-1.0"])
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise ValueError(
            "rows to measure a novelty detector on must be labelled 1, or -1 where they are novel; "
            f"row {row + 1:,} is labelled {str(labels[row])!r}. Name the column with --label."
        )
    return labels.astype(np.float64) > 0


def targets(y: Any) -> Any:
    """Return the labels of a file as the numbers that a regression learns."""
    import numpy as np

    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        for row, value in enumerate(y):
            try:
                float(value)
            except (TypeError, ValueError):
                raise ValueError(
                    f"a regression needs numbers in the label column; row {row + 1:,} holds "
                    f"{str(value)!r}. Name another column with --label, or leave out --task to "
                    "train a classifier."
                ) from None
        raise
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(
            f"a regression needs finite numbers in the label column; row {bad[0] + 1:,} holds "
            f"{numbers[bad[0]]}. Leave such rows out."
        )
    return numbers
