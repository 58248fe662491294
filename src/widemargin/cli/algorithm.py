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


def estimator_with(algorithm: Algorithm, given: dict[str, Any], *, linear: bool = False) -> Any:
    """Build the estimator from the options that were given, refusing those it does not have."""
    import widemargin
    from widemargin.resources import memory_bytes, thread_count

    classes: dict[tuple[Algorithm, bool], Any] = {
        (Algorithm.odm, False): widemargin.ODMClassifier,
        (Algorithm.svm, False): widemargin.SVMClassifier,
        (Algorithm.odm, True): widemargin.LinearODMClassifier,
        (Algorithm.svm, True): widemargin.LinearSVMClassifier,
    }
    cls = classes[algorithm, linear]
    given = {name: value for name, value in given.items() if value is not None}
    foreign = sorted(set(given) - set(inspect.signature(cls).parameters))
    if foreign:
        option = "--" + foreign[0].replace("_", "-")
        of = f"--algorithm {algorithm}" + (" --linear" if linear else "")
        other = Algorithm.svm if algorithm is Algorithm.odm else Algorithm.odm
        known = foreign[0] in inspect.signature(classes[other, linear]).parameters
        advice = f" Add --algorithm {other} to use it." if known else ""
        raise usage_error(f"{option} is no setting of {of}.{advice}")
    if "lam" in given and "C" in given:
        raise usage_error("-C and --lam set the same weight on two scales; give one of them.")
    estimator = cls(**given)
    try:
        # Before the data are read: a mistyped setting should not cost minutes.
        check = estimator._check_parameters if linear else estimator._validate_params
        check()
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
