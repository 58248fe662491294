"""``widemargin train``: fit a model on a data file and save it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import check_model_output, read_file, spool_file
from .info import describe, described_lines
from .messages import INTERRUPTED, faults_reported, print_summary, say, usage_error, warnings_shown
from .options import option


def train(
    context: typer.Context,
    data: options.DataPath,
    model: Annotated[Path, typer.Option("--model", "-m", help="Where to save the model (.wm).")],
    algorithm: Annotated[
        options.Algorithm | None, typer.Option(help="Kind of classifier.", show_default="odm")
    ] = None,
    linear: Annotated[
        bool,
        typer.Option("--linear", help="No kernel: any number of rows, read from disk by blocks."),
    ] = False,
    multiclass: Annotated[
        str | None, option("No kernel, all classes in one SVM: ww, llw, cs, or ovr for comparison.")
    ] = None,
    C: Annotated[float | None, option("Weight of a row's loss.", "-C")] = None,
    lam: Annotated[
        float | None, option("ODM: λ, the weight of the mean loss, instead of -C.")
    ] = None,
    upsilon: options.Upsilon = None,
    theta: options.Theta = None,
    loss: Annotated[str | None, option("SVM: hinge or squared_hinge.")] = None,
    kernel: Annotated[
        str | None, option("rbf, laplacian, poly, linear or sigmoid.", "--kernel", "-k")
    ] = None,
    gamma: Annotated[
        str | None, option("Kernel width: scale, auto or a number.", "--gamma", "-g")
    ] = None,
    degree: Annotated[int | None, option("Degree of poly.")] = None,
    coef0: Annotated[float | None, option("Constant in poly and sigmoid.")] = None,
    fit_intercept: options.Intercept = None,
    class_weight: options.ClassWeight = None,
    multi_class: Annotated[
        str | None, option("auto, ovr (one against the rest) or ovo (pairs).")
    ] = None,
    calibrate: Annotated[
        str | None,
        option("Learn probabilities for `predict --proba`: sigmoid or isotonic."),
    ] = None,
    strategy: Annotated[
        str | None,
        option(
            "auto, exact, or how to divide the rows: stratified (sodm), clustered (dc), "
            "cascade or preserving (dip)."
        ),
    ] = None,
    levels: Annotated[
        int | None, option("Times the rows are divided, --fan-in parts each time.")
    ] = None,
    fan_in: Annotated[int | None, option("Parts merged into one from level to level.")] = None,
    stop_level: Annotated[
        int | None, option("Level whose model is saved; 0 is the whole set.")
    ] = None,
    n_strata: Annotated[
        int | None, option("stratified, preserving: strata that are dealt out.", "--strata")
    ] = None,
    n_sample: Annotated[
        int | None, option("clustered: rows that clusters are found on.", "--sample")
    ] = None,
    validation_fraction: Annotated[
        float | None,
        option("Share of the rows kept out; the first level that is no better on them ends it."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        option("Folder that keeps finished levels; the same command goes on from there."),
    ] = None,
    solver: Annotated[
        str | None,
        option(
            "auto, blocks, coordinate or newton; with --linear auto, newton, dual, "
            "dual_then_newton, svrg, dsvrg, csvrg or pegasos; with --multiclass auto, dual, "
            "tournament (ww), newton (ww, llw) or printed (llw)."
        ),
    ] = None,
    tol: Annotated[float | None, option("Relative duality gap to reach.")] = None,
    max_iter: Annotated[int | None, option("Iterations allowed (for each binary problem).")] = None,
    max_time: Annotated[float | None, option("Seconds allowed; the model so far is saved.")] = None,
    memory_limit: Annotated[
        str | None, option("Memory for kernel rows, blocks of rows or weights, e.g. 500MB.")
    ] = None,
    spool_dir: Annotated[
        Path | None, option("With --linear: folder for a temporary binary copy of DATA.")
    ] = None,
    n_jobs: options.Jobs = None,
    random_state: options.Seed = None,
    format: options.FileFormat = None,
    label: options.Label = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Train a classifier on DATA and save it.

    Settings left out have the estimator's defaults (`widemargin info` shows those of a model).
    Scale the features first: kernels measure distances, and --linear penalises all weights alike.

    --linear trains without a kernel on files of any size: DATA is read once, by blocks, into a
    temporary binary copy, which the solver reads from disk as often as it needs.

    --multiclass learns a weight vector for every class in one problem, without a kernel: ww is
    Weston and Watkins's, llw Lee, Lin and Wahba's, cs Crammer and Singer's; ovr is one against the
    rest. The rows are kept in memory.

    --calibrate fits five more models on parts of the rows, which are kept in memory.

    Ctrl-C saves the model as far as it is fitted and ends with exit code 130; where a model exists
    already, beside it, as NAME.partial.wm. An existing model is replaced once the new one is
    complete; any other file only with --force.

    A --strategy that divides the rows solves parts of them and merges these level by level. Its
    model at --stop-level, when --max-time is over or at Ctrl-C is that of the last complete level.
    """
    given = {
        **context.params,
        "gamma": None if gamma is None else options.number_or_name(gamma),
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "class_weight": None,  # its labels are those of the file
    }
    with faults_reported(), warnings_shown() as warned:
        undivided = "--linear" if linear else None if multiclass is None else "--multiclass"
        given["strategy"] = options.strategy_with(strategy, given, undivided=undivided)
        estimator = options.estimator_with(algorithm, given, linear=linear, multiclass=multiclass)
        if spool_dir is not None and not linear:
            raise usage_error("--spool-dir is for --linear; all others keep rows in memory.")
        if spool_dir is not None and calibrate is not None:
            raise usage_error("--calibrate keeps rows in memory: leave out --spool-dir.")
        check_model_output(model, data, force=force)
        if checkpoint is not None:
            _check_checkpoint(checkpoint, strategy)
        reading: dict[str, Any] = {"format": format, "label": label, "zero_based": zero_based}
        from_disk = linear and calibrate is None  # calibration trains on parts of the rows
        if from_disk:
            reading["spool_dir"] = spool_dir
        train_on = _train_linear if from_disk else _train_in_memory
        training = train_on(estimator, data, class_weight or [], reading)
        interrupted, seconds = training.interrupted, training.seconds
        if interrupted and not any(begun(estimator)):
            say("interrupted before anything was fitted: no model saved")
            raise typer.Exit(INTERRUPTED)
        set_feature_names(estimator, training.feature_names)
        model = save_model(estimator, model, interrupted=interrupted)
        summary = {
            "command": "train",
            "model": str(model),
            "file_bytes": model.stat().st_size,
            "data": str(data),
            "rows": training.rows,
            **describe(estimator),
            "seconds": seconds,
            "interrupted": interrupted,
            "warnings": warned,
        }
    print_summary(summary, [*described_lines(summary), ("seconds", f"{seconds:.2f}")], as_json)
    if interrupted:
        problems = begun(estimator)
        several = f" (binary problems begun: {sum(problems)} of {len(problems)})"
        say(
            f"interrupted: {model} holds the model as far as it was fitted"
            f"{several if multiclass is None else ''}"
        )
        if checkpoint is not None and estimator.strategy_ != "exact":
            say(f"the same command goes on from the levels in {checkpoint}")
        raise typer.Exit(INTERRUPTED)


def _check_checkpoint(folder: Path, strategy: str | None) -> None:
    """End with a usage error if no level could be kept there."""
    if strategy == "exact":
        raise usage_error("--checkpoint keeps the levels of a division; --strategy exact has none.")
    if folder.exists() and not folder.is_dir():
        raise usage_error(f"--checkpoint {folder}: expected a folder, found a file.")


@dataclass(frozen=True)
class Training:
    """The rows of a training, and how long it took."""

    rows: int
    feature_names: tuple[str, ...] | None
    seconds: float
    interrupted: bool


def _train_in_memory(
    estimator: Any, data: Path, class_weight: list[str], reading: dict[str, Any]
) -> Training:
    table = read_file(data, **reading)
    estimator.class_weight = options.parse_class_weight(class_weight, table.y)
    seconds, interrupted = timed(lambda: estimator.fit(table.X, table.y))
    return Training(table.X.shape[0], table.feature_names, seconds, interrupted)


def _train_linear(
    estimator: Any, data: Path, class_weight: list[str], reading: dict[str, Any]
) -> Training:
    from ..estimators.linear_streaming import fit_spooled

    with spool_file(estimator, data, **reading) as rows:
        estimator.class_weight = options.parse_class_weight(class_weight, rows.classes)
        n_rows = rows.n_rows
        seconds, interrupted = timed(lambda: fit_spooled(estimator, rows))
    return Training(n_rows, None, seconds, interrupted)


def timed(fit: Callable[[], Any]) -> tuple[float, bool]:
    """Fit; return the seconds it took, and whether the user interrupted it."""
    began = time.perf_counter()
    try:
        fit()
    except KeyboardInterrupt:
        return time.perf_counter() - began, True
    return time.perf_counter() - began, False


def begun(estimator: Any) -> list[bool]:
    """Return which binary problems have a solution, even an unfinished one."""
    for name in ("coef_", "dual_coef_"):
        if hasattr(estimator, name):
            return [bool(abs(weights).sum() > 0) for weights in getattr(estimator, name)]
    return [False]


def set_feature_names(estimator: Any, names: tuple[str, ...] | None) -> None:
    """Keep column names as scikit-learn does for data frames; later files are matched by them."""
    import numpy as np

    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def save_model(estimator: Any, path: Path, *, interrupted: bool) -> Path:
    """Save a model and return its path; one that was interrupted replaces no other model."""
    if interrupted and path.exists():
        path = path.with_suffix(".partial.wm")
    estimator.save(path)
    return path
