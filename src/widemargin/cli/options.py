"""Arguments and options that several commands share, and the estimators that options describe."""

from __future__ import annotations

import inspect
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .messages import usage_error
from .tasks import Task, class_of

# Settings that some estimators have and others do not; whoever gives one has chosen an estimator.
CHOOSING_SETTINGS = (
    *("C", "lam", "upsilon", "theta", "loss", "epsilon", "quantile", "nu"),
    *("kernel", "gamma", "degree", "coef0", "fit_intercept"),
    *("strategy", "checkpoint", "solver", "tol", "max_iter"),
)
# Of those, what a regression or a novelty detector is to learn, and how closely it follows the
# rows: whoever gives one of them has not said that features are to be used as they are.
OF_TASKS = ("C", "upsilon", "theta", "epsilon", "quantile", "nu")
# Share of the rows outside, where a novelty detector is trained and nothing else is said. The
# estimator's own default, scikit-learn's, calls half of the rows novel.
NU = 0.05
# Settings of strategies that have options.
OF_STRATEGIES = ("levels", "fan_in", "stop_level", "validation_fraction", "n_strata", "n_sample")


# Headings of `--help`.
DATA, RESULT, CHOICE, KERNEL = "Data", "Result", "Choose the classifier yourself", "Its kernel"
DIVISION = "Divide the rows (of a kernel classifier of your choice)"
SOLVING, SOLVER = "Resources and weights", "Solver (of a classifier of your choice)"


def option(help: str, *names: str, group: str | None = None, default: str | None = None) -> Any:
    """Return an option that has the estimator's own default if it is left out.

    Without names, it is called as the parameter that it annotates. `default` shows that of the
    estimator: help has to answer before the estimators can be imported.
    """
    return typer.Option(
        *names,
        help=help,
        show_default=False if default is None else default,
        rich_help_panel=group,
    )


DataPath = Annotated[
    Path, typer.Argument(help="Data file; - is standard input.", show_default=False)
]
ModelPath = Annotated[Path, typer.Argument(help="Model file (.wm).", show_default=False)]

FileFormat = Annotated[
    str | None,
    option(
        "libsvm, csv, tsv, parquet or npz.",
        "--format",
        group=DATA,
        default="by name, or by the first lines",
    ),
]
Label = Annotated[
    str | None,
    option(
        "Label column: its name, or its position from 0 (negative: from the end). Left out: "
        "the column called label, target or class, else y, else the last (of novelty: else none). "
        "NPZ: key of the labels.",
        "--label",
        group=DATA,
    ),
]
ZeroBased = Annotated[
    bool | None,
    option(
        "LIBSVM: feature indices count from 0, or from 1. Left out: as in the file that the model "
        "was trained on; from 0 if 0 occurs.",
        "--zero-based/--one-based",
        group=DATA,
    ),
]
Drop = Annotated[
    list[str] | None,
    option(
        "Column to leave out (repeat for more); `column 3` in a file without a header.",
        "--drop",
        group=DATA,
    ),
]

Upsilon = Annotated[
    float | None,
    option("ODM: weight of margins that are too large.", "--upsilon", group=CHOICE, default="0.5"),
]
Theta = Annotated[
    float | None,
    option(
        "ODM: deviation of a margin from 1 that is free.", "--theta", group=CHOICE, default="0.2"
    ),
]
Intercept = Annotated[
    bool | None,
    option("Penalised intercept.", "--fit-intercept/--no-fit-intercept", group=CHOICE),
]
ClassWeight = Annotated[
    list[str] | None,
    option(
        "balanced, or LABEL=WEIGHT (repeat for more); multiplies -C.",
        "--class-weight",
        group=SOLVING,
    ),
]
Jobs = Annotated[int | None, option("Threads.", "--jobs", "-j", group=SOLVING, default="all cores")]
Seed = Annotated[int | None, option("Seed of random choices.", "--seed", group=SOLVING)]

Report = Annotated[
    Path | None,
    option(
        "Write a report with pictures: one HTML file (needs matplotlib).", "--report", group=RESULT
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON.", rich_help_panel=RESULT)
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace --model even if it is not a model.", rich_help_panel=RESULT
    ),
]


class Algorithm(StrEnum):
    """The kind of estimator to train."""

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

    classes: dict[tuple[Algorithm, bool], Any] = {
        (Algorithm.odm, False): widemargin.ODMClassifier,
        (Algorithm.svm, False): widemargin.SVMClassifier,
        (Algorithm.odm, True): widemargin.LinearODMClassifier,
        (Algorithm.svm, True): widemargin.LinearSVMClassifier,
    }
    together = widemargin.MulticlassODMClassifier, widemargin.MulticlassSVMClassifier
    given = settings_in(given, *classes.values(), *together)
    if multiclass is None:
        algorithm = Algorithm.odm if algorithm is None else algorithm
        cls = classes[algorithm, linear]
        of = f"--algorithm {algorithm}" + (" --linear" if linear else "")
        other = Algorithm.svm if algorithm is Algorithm.odm else Algorithm.odm
        relative, advice = classes[other, linear], f" Add --algorithm {other} to use it."
    else:
        kind = Algorithm.odm if multiclass == Algorithm.odm else Algorithm.svm
        _check_combination(multiclass, kind, algorithm, linear)
        cls = together[kind is Algorithm.svm]
        if kind is Algorithm.svm:
            given = {**given, "formulation": multiclass}
        of = f"--multiclass {multiclass}"
        relative, advice = classes[kind, True], " Give --linear instead to use it."
    foreign = sorted(set(given) - set(inspect.signature(cls).parameters))
    if foreign:
        option = _option_of(foreign[0])
        known = foreign[0] in inspect.signature(relative).parameters
        raise usage_error(f"{option} is no setting of {of}.{advice if known else ''}")
    if "lam" in given and "C" in given:
        raise usage_error("-C and --lam set the same weight on two scales; give one of them.")
    return _checked(cls(**given))


def _checked(estimator: Any) -> Any:
    """Check the settings before the data are read: a mistyped one should not cost minutes."""
    from ..core.resources import memory_bytes, thread_count

    try:
        getattr(estimator, "_check_parameters", estimator._validate_params)()
        memory_bytes(estimator.memory_limit)
        thread_count(estimator.n_jobs)
    except ValueError as error:
        raise usage_error(str(error)) from None
    return estimator


def task_estimator_with(
    task: Task, algorithm: Algorithm | None, given: dict[str, Any], *, linear: bool
) -> Any:
    """Build the estimator of a regression or of novelty detection, likewise."""
    quantile = given.get("quantile") is not None
    if quantile and algorithm is Algorithm.odm:
        raise usage_error("--quantile trains an SVM; it has no --algorithm odm.")
    cls = class_of(task, algorithm or Algorithm.odm, linear, quantile)
    known = inspect.signature(cls).parameters
    asked = [name for name in CHOOSING_SETTINGS if given.get(name) is not None]
    foreign = [name for name in asked if name not in known]
    if foreign:
        advice = _advice_on(foreign[0], task, algorithm, linear, quantile)
        raise usage_error(f"{_option_of(foreign[0])} is no setting of {cls.__name__}.{advice}")
    return _checked(cls(**settings_in(given, cls)))


def _advice_on(
    setting: str, task: Task, algorithm: Algorithm | None, linear: bool, quantile: bool
) -> str:
    """Say how to train the regressor that has a setting, if there is one."""
    if task is not Task.regression:
        return ""
    if quantile:
        return " Leave out --quantile to use it." if setting == "epsilon" else ""
    other = Algorithm.odm if algorithm is Algorithm.svm else Algorithm.svm
    known = inspect.signature(class_of(task, other, linear, False)).parameters
    return f" Add --algorithm {other} to use it." if setting in known else ""


def automatic_with(given: dict[str, Any]) -> Any:
    """Build the classifier that chooses by itself, with the options that were given."""
    from ..estimators import AutoClassifier

    return _checked(AutoClassifier(**settings_in(given, AutoClassifier)))


def settings_in(options: dict[str, Any], *classes: Any) -> dict[str, Any]:
    """Return the options that were given and are settings of any of the estimators.

    Those of a strategy belong to `strategy_with`, also where an estimator has one of that name.
    """
    known = {name for each in classes for name in inspect.signature(each).parameters}
    known -= set(OF_STRATEGIES)
    return {k: value for k, value in options.items() if value is not None and k in known}


def _option_of(setting: str) -> str:
    return "--" + setting.removeprefix("n_").replace("_", "-")


def _check_combination(
    multiclass: str, kind: Algorithm, algorithm: Algorithm | None, linear: bool
) -> None:
    """End with a usage error if --multiclass is combined with an option that it excludes."""
    if algorithm not in (None, kind):
        of = "an ODM" if kind is Algorithm.odm else "an SVM"
        raise usage_error(
            f"--multiclass {multiclass} trains {of}; it has no --algorithm {algorithm}."
        )
    if linear:
        raise usage_error(
            "--multiclass is linear as it is, and keeps the rows in memory: leave out --linear, "
            "or leave out --multiclass to read the rows from disk."
        )


def number_or_name(text: str) -> float | str:
    """Read an option that is a number or one of a few names."""
    try:
        return float(text)
    except ValueError:
        return text


def strategy_with(name: str | None, given: dict[str, Any], *, undivided: str | None = None) -> Any:
    """Return what the estimator takes as ``strategy``, or end with a usage error.

    It is an object where parameters of the strategy are among the options given; otherwise the
    name, which the estimator checks. `undivided` is the option, if any, that trains without a
    kernel, where rows are never divided.
    """
    given = {key: given[key] for key in OF_STRATEGIES if given.get(key) is not None}
    if not given:
        return name
    from ..kernel.divide.strategies import STRATEGIES

    option = _option_of(min(given))
    if undivided is not None:
        raise usage_error(f"{option} is no setting of {undivided}, which never divides the rows.")
    if name is None or name in ("auto", "exact"):
        raise usage_error(
            f"{option} says how the rows are divided; give a --strategy that divides them too: "
            f"{', '.join(STRATEGIES)}."
        )
    if name not in STRATEGIES:
        return name
    foreign = sorted(set(given) - set(STRATEGIES[name]().get_params()))
    if foreign:
        raise usage_error(f"{_option_of(foreign[0])} is no setting of --strategy {name}.")
    strategy = STRATEGIES[name](**given)
    try:
        # Before the data are read; only the fit knows the number of rows.
        strategy._validate_params()
        strategy.plan(sys.maxsize)
    except ValueError as error:
        raise usage_error(str(error)) from None
    return strategy


def parse_class_weight(given: list[str], y: Any) -> dict[Any, float] | str | None:
    """Translate ``balanced`` or texts ``LABEL=WEIGHT`` to the estimator's ``class_weight``.

    A text is matched with the labels in `y`. Classes that are not named keep the weight 1.
    """
    import numpy as np

    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    labels = {str(label): label for label in np.unique(y).tolist()}
    weights: dict[Any, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = float("nan")
        if not equals or not 0 < weight < float("inf"):
            raise usage_error(
                "--class-weight must be `balanced` or LABEL=WEIGHT with a positive weight; "
                f"got {text!r}."
            )
        if name not in labels:
            known = ", ".join(list(labels)[:10])
            raise usage_error(f"--class-weight: no row is labelled {name!r}; found {known}.")
        if labels[name] in weights:
            raise usage_error(f"--class-weight gives {name!r} twice.")
        weights[labels[name]] = weight
    return weights


# Of commands that run until they are stopped.
LogFile = Annotated[
    Path | None,
    typer.Option("--log", help="File to append the log to; standard error if left out."),
]
JsonLog = Annotated[
    bool | None,
    typer.Option("--json-log/--plain-log", help="Left out: JSON lines unless a terminal watches."),
]
