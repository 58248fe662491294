"""``widemargin train``: fit a model on a data file, measure it and save it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import check_model_output, default_model, input_file
from .html_report import check_report_output
from .messages import INTERRUPTED, faults_reported, say, usage_error, warnings_shown
from .options import CHOICE, DATA, DIVISION, KERNEL, RESULT, SOLVER, SOLVING, option
from .tasks import Task, check_options
from .training import HOLDOUT, Source, begun, save_model, train_in_memory, train_linear
from .training_result import TrainingResult

# Options that choose a classifier, or a way to train one, and so leave nothing to choose.
CHOOSING = frozenset(
    {
        *("algorithm", "linear", "multiclass", "multi_class", "spool_dir"),
        *options.CHOOSING_SETTINGS,
        *options.OF_STRATEGIES,
    }
)


def train(
    context: typer.Context,
    data: options.DataPath,
    model: Annotated[
        Path | None,
        option(
            "Where to save the model (.wm).",
            "--model",
            "-m",
            group=RESULT,
            default="DATA's name with .wm, beside DATA",
        ),
    ] = None,
    report: options.Report = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
    label: options.Label = None,
    drop: options.Drop = None,
    holdout: Annotated[
        float | None,
        option(
            "Share of the rows to measure on, and not to train on; 0 trains on all.",
            group=DATA,
            default=f"{HOLDOUT}; 0 with a classifier of your choice, or --test",
        ),
    ] = None,
    test: Annotated[
        Path | None, option("Labelled file to measure on, instead of --holdout.", group=DATA)
    ] = None,
    format: options.FileFormat = None,
    zero_based: options.ZeroBased = None,
    calibrate: Annotated[
        str | None,
        option(
            "Probabilities from decision values: sigmoid or isotonic.",
            group=RESULT,
            default="sigmoid; none with a classifier of your choice",
        ),
    ] = None,
    max_time: Annotated[
        float | None,
        option(
            "Seconds allowed; the model so far is saved.",
            group=SOLVING,
            default="120; no limit with a classifier of your choice",
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        option(
            "Memory for kernel rows, blocks of rows or weights, e.g. 500MB.",
            group=SOLVING,
            default="1GiB",
        ),
    ] = None,
    n_jobs: options.Jobs = None,
    random_state: options.Seed = None,
    class_weight: options.ClassWeight = None,
    tol: Annotated[
        float | None, option("Relative duality gap to reach.", group=SOLVER, default="0.001")
    ] = None,
    max_iter: Annotated[
        int | None, option("Iterations allowed (for each binary problem).", group=SOLVER)
    ] = None,
    solver: Annotated[
        str | None,
        option(
            "auto, blocks, coordinate or newton; with --linear auto, newton, dual, "
            "dual_then_newton, svrg, dsvrg, dsvrg_printed, sampled_svrg or pegasos; with "
            "--multiclass auto, dual, proximal (ww, cs, llw, odm), tournament (ww), newton (ww, "
            "llw) or printed (ww, llw).",
            group=SOLVER,
            default="auto",
        ),
    ] = None,
    task: Annotated[
        Task,
        typer.Option(
            "--task",
            help="What to learn: classes, numbers (regression), or what is usual (novelty).",
            rich_help_panel=DATA,
        ),
    ] = Task.classification,
    algorithm: Annotated[
        options.Algorithm | None, option("Kind of classifier.", group=CHOICE, default="odm")
    ] = None,
    linear: Annotated[
        bool,
        typer.Option(
            "--linear",
            help="No kernel: any number of rows, read from disk by blocks.",
            rich_help_panel=CHOICE,
        ),
    ] = False,
    multiclass: Annotated[
        str | None,
        option(
            "No kernel, all classes in one problem: an SVM (ww, llw, cs, or ovr for comparison) "
            "or an ODM (odm).",
            group=CHOICE,
        ),
    ] = None,
    C: Annotated[
        float | None, option("Weight of a row's loss.", "-C", group=CHOICE, default="1.0")
    ] = None,
    lam: Annotated[
        float | None,
        option("ODM: λ, the weight of the mean loss, instead of -C.", group=CHOICE),
    ] = None,
    upsilon: Annotated[
        float | None,
        option(
            "ODM: weight of margins, or predictions of a regression, that are too large.",
            group=CHOICE,
            default="0.5; 1 of a regression",
        ),
    ] = None,
    theta: Annotated[
        float | None,
        option(
            "ODM: deviation of a margin from 1 that is free; of a regression, the residual, in the "
            "unit of --epsilon.",
            group=CHOICE,
            default="0.2; 0.1 of a regression",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        option(
            "SVM: hinge or squared_hinge.",
            group=CHOICE,
            default="hinge; squared_hinge with --linear",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        option(
            "Regression by an SVM: residual that is free, in standard deviations of the targets; "
            "in their own unit with options that choose the estimator.",
            group=CHOICE,
            default="0.1; 0 with --linear",
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        option("Regression: share of the targets to lie below the predictions.", group=CHOICE),
    ] = None,
    nu: Annotated[
        float | None,
        option(
            "Novelty: share of the rows that may be outside.", group=CHOICE, default=str(options.NU)
        ),
    ] = None,
    fit_intercept: options.Intercept = None,
    multi_class: Annotated[
        str | None,
        option(
            "auto, ovr (one against the rest), ovo (pairs), or all classes in one kernel problem: "
            "ww or cs (SVM), all (ODM).",
            group=CHOICE,
            default="auto",
        ),
    ] = None,
    spool_dir: Annotated[
        Path | None,
        option("With --linear: folder for a temporary binary copy of DATA.", group=CHOICE),
    ] = None,
    kernel: Annotated[
        str | None,
        option(
            "rbf, laplacian, poly, linear or sigmoid.",
            "--kernel",
            "-k",
            group=KERNEL,
            default="rbf",
        ),
    ] = None,
    gamma: Annotated[
        str | None,
        option(
            "Kernel width: scale, auto or a number.",
            "--gamma",
            "-g",
            group=KERNEL,
            default="scale",
        ),
    ] = None,
    degree: Annotated[int | None, option("Degree of poly.", group=KERNEL, default="3")] = None,
    coef0: Annotated[
        float | None, option("Constant in poly and sigmoid.", group=KERNEL, default="0.0")
    ] = None,
    strategy: Annotated[
        str | None,
        option(
            "auto, exact, or how to divide the rows: stratified (sodm), clustered (dc), "
            "cascade or preserving (dip).",
            group=DIVISION,
            default="auto",
        ),
    ] = None,
    levels: Annotated[
        int | None,
        option("Times the rows are divided, --fan-in parts each time.", group=DIVISION),
    ] = None,
    fan_in: Annotated[
        int | None, option("Parts merged into one from level to level.", group=DIVISION)
    ] = None,
    stop_level: Annotated[
        int | None, option("Level whose model is saved; 0 is the whole set.", group=DIVISION)
    ] = None,
    n_strata: Annotated[
        int | None,
        option("stratified, preserving: strata that are dealt out.", "--strata", group=DIVISION),
    ] = None,
    n_sample: Annotated[
        int | None,
        option("clustered: rows that clusters are found on.", "--sample", group=DIVISION),
    ] = None,
    validation_fraction: Annotated[
        float | None,
        option(
            "Share of the rows kept out; the first level that is no better on them ends it.",
            group=DIVISION,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        option(
            "Folder that keeps finished levels; the same command goes on from there.",
            group=DIVISION,
        ),
    ] = None,
) -> None:
    """Train a classifier on DATA, measure it on rows held out, and save it.

    Without further options, text, dates and missing values of a table become features, classifiers
    with and without kernels are tried, the best is tuned and calibrated, all within --max-time, and
    measured on a fifth of the rows. If less than half of the time is used by then, all of it is
    done again on all rows, and that model is saved; else the one that was measured. --holdout 0
    trains on all rows and measures nothing.

    Options under "Choose the classifier yourself" and the headings after it name a classifier
    instead. It is trained once, exactly as its class in Python, on all rows and on features as
    they are: scale them first. Only a table whose cells are not all numbers is prepared before.

    --linear trains without a kernel on files of any size: DATA is read once, by blocks, into a
    temporary binary copy, which the solver reads from disk as often as it needs. --multiclass
    learns a weight vector for every class in one problem, in memory.

    --task regression learns the numbers of the label column; --task novelty what rows usually look
    like, from all columns but the labels: --label or, left out, a column called label, target or
    class, else y, if there is one. Features are prepared and scaled, and a fifth of the rows of a
    regression is held out, also with -C, --upsilon, --theta, --quantile, --nu, and --algorithm svm
    --epsilon. Targets are then scaled as well: -C, --epsilon and --theta are for targets with a
    standard deviation of 1, and predictions and errors in the unit of the file. All other options
    that choose the estimator use features and targets as they are, and hold out nothing. Both tasks
    read the rows into memory.

    Ctrl-C saves the model as far as it is fitted and ends with exit code 130; where a model exists
    already, beside it, as NAME.partial.wm. An existing model is replaced once the new one is
    complete; any other file only with --force.
    """
    given = {
        **context.params,
        "gamma": None if gamma is None else options.number_or_name(gamma),
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "class_weight": None,  # its labels are those of the file
    }
    with faults_reported(), warnings_shown() as warned, input_file(data) as path:
        check_options(task, {**given, "class_weight": class_weight})
        if task is Task.novelty and nu is None:
            given["nu"] = options.NU
            say(
                f"note: --nu {options.NU} is taken: about {100 * options.NU:.0f} % of the rows "
                "will be outside; give --nu to choose another share"
            )
        estimator = _estimator(given)
        automatic = not _chosen(given)
        _check_settings(given)
        model = default_model(data) if model is None else model
        check_model_output(model, data, force=force)
        check_report_output(report, (data, model))
        if checkpoint is not None:
            _check_checkpoint(checkpoint, strategy)
        source = Source(path, format, label, zero_based, tuple(drop or ()))
        other = None if test is None else Source(test, None, label, zero_based, source.drop)
        if (
            linear and calibrate is None and task is Task.classification
        ):  # calibration trains on parts of the rows, in memory
            training = train_linear(
                estimator, source, class_weight or [], spool_dir=spool_dir, test=other
            )
        else:
            share = HOLDOUT if automatic and test is None else 0.0
            training = train_in_memory(
                estimator,
                source,
                class_weight or [],
                holdout=share if holdout is None else holdout,
                test=other,
                seed=random_state,
                task=task,
                prepared=automatic,
            )
        if training.interrupted and not any(begun(training.estimator)):
            say("interrupted before anything was fitted: no model saved")
            raise typer.Exit(INTERRUPTED)
        result = TrainingResult.of(training, task, test)
        model = save_model(result.saved.estimator, model, interrupted=training.interrupted)
        summary = result.summary(model, data, warned)
        if report is not None and not training.interrupted:
            result.write_report(report, data, label, summary)
    result.tell(summary, as_json=as_json, report=report)
    if training.interrupted:
        _tell_of_interrupt(training.estimator, model, given)
        raise typer.Exit(INTERRUPTED)


def _chosen(given: dict[str, Any]) -> bool:
    """Return whether the options choose an estimator, which then takes features as they are."""
    choosing = CHOOSING
    if given["task"] is not Task.classification:
        choosing = choosing.difference(options.OF_TASKS)
        if given["epsilon"] is not None and given["algorithm"] is options.Algorithm.svm:
            choosing = choosing - {"algorithm"}  # an ODM has no --epsilon: nothing was chosen
    return any(given[name] is not None and given[name] is not False for name in choosing)


def _estimator(given: dict[str, Any]) -> Any:
    """Build the estimator that the options describe, or end with a usage error."""
    linear, multiclass, task = given["linear"], given["multiclass"], given["task"]
    if task is not Task.classification:
        undivided = "--linear" if linear else None
        given["strategy"] = options.strategy_with(given["strategy"], given, undivided=undivided)
        return options.task_estimator_with(task, given["algorithm"], given, linear=linear)
    if not _chosen(given):
        return options.automatic_with(given)
    undivided = "--linear" if linear else None if multiclass is None else "--multiclass"
    given["strategy"] = options.strategy_with(given["strategy"], given, undivided=undivided)
    estimator = options.estimator_with(
        given["algorithm"], given, linear=linear, multiclass=multiclass
    )
    if given["spool_dir"] is not None and not linear:
        raise usage_error("--spool-dir is for --linear; all others keep rows in memory.")
    return estimator


def _check_settings(given: dict[str, Any]) -> None:
    """End with a usage error if options contradict each other."""
    if given["spool_dir"] is not None and given["calibrate"] is not None:
        raise usage_error("--calibrate keeps rows in memory: leave out --spool-dir.")
    holdout = given["holdout"]
    if holdout is None:
        return
    if not 0.0 <= holdout < 1.0:
        raise usage_error(f"--holdout must be at least 0 and below 1; got {holdout}.")
    if holdout and given["test"] is not None:
        raise usage_error("--holdout and --test both say what to measure on; give one of them.")
    if holdout and given["linear"] and given["task"] is Task.classification:
        raise usage_error("--linear does not keep the rows in memory: use --test, not --holdout.")


def _check_checkpoint(folder: Path, strategy: str | None) -> None:
    """End with a usage error if no level could be kept there."""
    if strategy == "exact":
        raise usage_error("--checkpoint keeps the levels of a division; --strategy exact has none.")
    if folder.exists() and not folder.is_dir():
        raise usage_error(f"--checkpoint {folder}: expected a folder, found a file.")


def _tell_of_interrupt(estimator: Any, model: Path, given: dict[str, Any]) -> None:
    problems = begun(estimator)
    several = f" (binary problems begun: {sum(problems)} of {len(problems)})"
    say(
        f"interrupted: {model} holds the model as far as it was fitted"
        f"{several if given['multiclass'] is None and _chosen(given) else ''}"
    )
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if given["checkpoint"] is not None and last.strategy_ != "exact":
        say(f"the same command goes on from the levels in {given['checkpoint']}")
