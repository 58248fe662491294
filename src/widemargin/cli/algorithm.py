"""From command-line options to an estimator."""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import Any

from widemargin.cli.messages import usage_error

__all__ = ["Algorithm", "estimator_with", "number_or_name"]


class Algorithm(StrEnum):
    """Which estimator to train."""

    odm = "odm"
    svm = "svm"


def estimator_with(algorithm: Algorithm, given: dict[str, Any]) -> Any:
    """Build the estimator from the options that were given, refusing those it does not have."""
    import widemargin
    from widemargin.resources import memory_bytes, thread_count

    cls: Any = {
        Algorithm.odm: widemargin.ODMClassifier,
        Algorithm.svm: widemargin.SVMClassifier,
    }[algorithm]
    given = {name: value for name, value in given.items() if value is not None}
    foreign = sorted(set(given) - set(inspect.signature(cls).parameters))
    if foreign:
        raise usage_error(f"--{foreign[0]} is no setting of --algorithm {algorithm}.")
    if "lam" in given and "C" in given:
        raise usage_error("-C and --lam set the same weight on two scales; give one of them.")
    estimator = cls(**given)
    try:
        # Before the data are read: a mistyped setting should not cost minutes.
        estimator._validate_params()
        memory_bytes(estimator.memory_limit)
        thread_count(estimator.n_jobs)
    except ValueError as error:
        raise usage_error(str(error)) from None
    return estimator


def number_or_name(text: str) -> float | str:
    """Read an option that is a number or one of a few words."""
    try:
        return float(text)
    except ValueError:
        return text
