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


def estimator_with(
    algorithm: Algorithm | None,
    given: dict[str, Any],
    *,
    linear: bool = False,
    multiclass: str | None = None,
) -> Any:
    """Build the estimator from the options that were given, refusing those it does not have."""
    import widemargin
    from widemargin.core.resources import memory_bytes, thread_count

    classes: dict[tuple[Algorithm, bool], Any] = {
        (Algorithm.odm, False): widemargin.ODMClassifier,
        (Algorithm.svm, False): widemargin.SVMClassifier,
        (Algorithm.odm, True): widemargin.LinearODMClassifier,
        (Algorithm.svm, True): widemargin.LinearSVMClassifier,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if multiclass is None:
        algorithm = Algorithm.odm if algorithm is None else algorithm
        cls = classes[algorithm, linear]
        of = f"--algorithm {algorithm}" + (" --linear" if linear else "")
        other = Algorithm.svm if algorithm is Algorithm.odm else Algorithm.odm
        relative, advice = classes[other, linear], f" Add --algorithm {other} to use it."
    else:
        _check_company(algorithm, linear)
        cls, given = widemargin.MulticlassSVMClassifier, {**given, "formulation": multiclass}
        of = f"--multiclass {multiclass}"
        relative, advice = classes[Algorithm.svm, True], " Give --linear instead to use it."
    foreign = sorted(set(given) - set(inspect.signature(cls).parameters))
    if foreign:
        option = "--" + foreign[0].replace("_", "-")
        known = foreign[0] in inspect.signature(relative).parameters
        raise usage_error(f"{option} is no setting of {of}.{advice if known else ''}")
    if "lam" in given and "C" in given:
        raise usage_error("-C and --lam set the same weight on two scales; give one of them.")
    estimator = cls(**given)
    try:
        # Before the data are read: a mistyped setting should not cost minutes.
        kernel = not linear and multiclass is None
        check = estimator._validate_params if kernel else estimator._check_parameters
        check()
        memory_bytes(estimator.memory_limit)
        thread_count(estimator.n_jobs)
    except ValueError as error:
        raise usage_error(str(error)) from None
    return estimator


def _check_company(algorithm: Algorithm | None, linear: bool) -> None:
    """End with a usage error where --multiclass stands beside what it excludes."""
    if algorithm is Algorithm.odm:
        raise usage_error("--multiclass trains an SVM; it has no --algorithm odm.")
    if linear:
        raise usage_error(
            "--multiclass is linear as it is, and keeps the rows in memory: leave out --linear, "
            "or leave out --multiclass to read the rows from disk."
        )


def number_or_name(text: str) -> float | str:
    """Read an option that is a number or one of a few words."""
    try:
        return float(text)
    except ValueError:
        return text
