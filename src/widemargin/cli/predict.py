"""``widemargin predict`` and ``evaluate``: label the rows of a data file, or compare its labels."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import as_csv, check_output, input_file, kept_columns, read_for, write_output
from .html_report import check_report_output, label_given, write_report
from .measures import judge, measure, measured_text, neglected
from .messages import (
    faults_reported,
    print_json,
    reader_may_leave,
    say,
    usage_error,
    warnings_shown,
)
from .task_measures import measure_task, task_text
from .tasks import Task, check_options, task_of


def predict(
    model: options.ModelPath,
    data: options.DataPath,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="CSV file to write; standard output if left out or -.",
            rich_help_panel=options.RESULT,
        ),
    ] = None,
    decision: Annotated[
        bool,
        typer.Option(
            "--decision",
            help="Add the values of the decision function.",
            rich_help_panel=options.RESULT,
        ),
    ] = False,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add the probability of each class (of calibrated models).",
            rich_help_panel=options.RESULT,
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            help="Column of DATA to copy into the result, such as an identifier (repeat for more).",
            rich_help_panel=options.RESULT,
        ),
    ] = None,
    format: options.FileFormat = None,
    label: options.Label = None,
    drop: options.Drop = None,
    zero_based: options.ZeroBased = None,
) -> None:
    """Predict a label for each row of DATA.

    The result is CSV with the header `prediction`, one line for each row in the same order; --keep
    puts columns of DATA before it.
    DATA need not have labels; a label column is left out. A model trained on named columns takes
    them by name. A model trained on a table prepares DATA as it did the table; categories that it
    has not met are named in a warning.

    With --decision and two classes a column `decision` is added, positive for the second class;
    with more classes a column `decision_CLASS` for each, the largest of which wins. --proba adds a
    column `probability_CLASS` for each class.
    """
    to_file = None if output is None or str(output) == "-" else output
    with faults_reported(), warnings_shown(), input_file(data) as path:
        from ..persistence import load_model

        if to_file is not None:
            check_output(to_file, "--output", (model, data))
        estimator = load_model(model)
        if proba and not hasattr(estimator, "predict_proba"):
            advice = " Train it with --calibrate sigmoid."
            classifier = task_of(estimator) is Task.classification
            raise usage_error(
                f"--proba: the model has no probabilities.{advice if classifier else ''}"
            )
        X = read_for(
            estimator,
            path,
            labelled=False,
            format=format,
            label=label,
            drop=drop,
            zero_based=zero_based,
        ).X
        kept = kept_columns(path, keep, format) if keep else {}
        header = [*kept, "prediction"]
        columns = [*kept.values(), estimator.predict(X)]
        if decision and not hasattr(estimator, "decision_function"):
            raise usage_error("--decision: a regressor has predictions only.")
        if decision:
            values = estimator.decision_function(X)
            header += _decision_names(estimator, values)
            columns += [values] if values.ndim == 1 else list(values.T)
        if proba:
            header += [f"probability_{name}" for name in estimator.classes_.tolist()]
            columns += list(estimator.predict_proba(X).T)
        text = as_csv(header, columns)
        if to_file is None:
            typer.echo(text, nl=False)
        else:
            write_output(to_file, text)
            say(f"{X.shape[0]:,} predictions written to {to_file}")


def _decision_names(estimator: Any, values: Any) -> list[str]:
    if values.ndim == 1:
        return ["decision"]
    classes = [str(label) for label in estimator.classes_.tolist()]
    # Linear models have no such setting; their decisions are one per class.
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    per_class = getattr(last, "decision_function_shape", "ovr") == "ovr"
    if values.shape[1] == len(classes) and per_class:
        return [f"decision_{name}" for name in classes]
    return [f"decision_{a}_{b}" for a, b in itertools.combinations(classes, 2)]


def evaluate(
    model: options.ModelPath,
    data: options.DataPath,
    report: options.Report = None,
    format: options.FileFormat = None,
    label: options.Label = None,
    drop: options.Drop = None,
    zero_based: options.ZeroBased = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the result as JSON.", rich_help_panel=options.RESULT),
    ] = False,
) -> None:
    """Measure a model on labelled DATA.

    Prints accuracy, balanced accuracy (the mean recall of the classes in DATA), log loss (of
    calibrated models), area under the ROC curve (of several classes, the mean of each against the
    rest), precision, recall and F1 of each class, and the confusion matrix if there are few
    classes. Rows with a label that the model does not know count as errors.

    Of a regressor: R², mean and median absolute error, root mean squared error, and the share of
    targets below the predictions; of a quantile, before these, the mean pinball loss and the share
    of targets at or below the predictions. Of a novelty detector, whose rows are labelled 1, or -1
    where they are novel: accuracy and the area under the ROC curve.
    """
    with faults_reported(), warnings_shown() as warned, input_file(data) as path:
        from ..persistence import load_model

        check_report_output(report, (model, data))
        estimator = load_model(model)
        table = read_for(
            estimator,
            path,
            labelled=True,
            format=format,
            label=label,
            drop=drop,
            zero_based=zero_based,
        )
        task, verdict = task_of(estimator), None
        if task is Task.classification:
            verdict = judge(estimator, table.X, table.y)
            measured = measure(verdict)
        else:
            check_options(task, {"report": report, "linear": False, "algorithm": None})
            measured = measure_task(task, estimator, table.X, table.y)
        result = {
            "command": "evaluate",
            "model": str(model),
            "data": str(data),
            **measured,
            "warnings": warned,
        }
        if report is not None and verdict is not None:
            write_report(
                report,
                estimator,
                verdict,
                table.X,
                result,
                data=data,
                facts=[*label_given(label), *table.notes, f"model {model.name}"],
                account=f"{model} was measured on {table.X.shape[0]:,} rows of {data}.",
            )
    with reader_may_leave():
        if as_json:
            print_json(result)
        else:
            shown = measured_text if verdict is not None else task_text
            typer.echo(shown(result))
    if verdict is not None and (advice := neglected(estimator, result)):
        say(f"note: {advice}")
    if report is not None:
        say(f"report: {report}")
