"""``widemargin predict`` and ``evaluate``: label the rows of a data file, or compare its labels."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import as_csv, check_output, read_for, write_output
from .messages import (
    aligned,
    faults_reported,
    plain,
    print_json,
    say,
    usage_error,
    warnings_shown,
)

#: Beyond this many classes the confusion matrix is left to --json.
CONFUSION_SHOWN = 12


def predict(
    model: options.ModelPath,
    data: options.DataPath,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV file to write; standard output if left out or -."),
    ] = None,
    decision: Annotated[
        bool, typer.Option("--decision", help="Add the values of the decision function.")
    ] = False,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
    format: options.FileFormat = None,
    label: options.Label = None,
    zero_based: options.ZeroBased = None,
) -> None:
    """Predict a label for each row of DATA.

    The result is CSV with the header `prediction`, one line for each row in the same order.
    DATA need not have labels; a label column is left out. A model trained on named columns takes
    them by name.

    With --decision and two classes a column `decision` is added, positive for the second class;
    with more classes a column `decision_CLASS` for each, the largest of which wins. --proba adds a
    column `probability_CLASS` for each class; train with --calibrate for it.
    """
    to_file = None if output is None or str(output) == "-" else output
    with faults_reported(), warnings_shown():
        from ..persistence import load_model

        if to_file is not None:
            check_output(to_file, "--output", (model, data))
        estimator = load_model(model)
        if proba and not hasattr(estimator, "calibration_"):
            raise usage_error(
                "--proba: the model has no probabilities. Train it with --calibrate sigmoid."
            )
        X = read_for(
            estimator, data, labelled=False, format=format, label=label, zero_based=zero_based
        ).X
        header = ["prediction"]
        columns = [estimator.predict(X)]
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
    classes = [str(label) for label in estimator.classes_.tolist()]
    if values.ndim == 1:
        return ["decision"]
    # Linear models have no such setting; their decisions are one per class.
    per_class = getattr(estimator, "decision_function_shape", "ovr") == "ovr"
    if values.shape[1] == len(classes) and per_class:
        return [f"decision_{name}" for name in classes]
    return [f"decision_{a}_{b}" for a, b in itertools.combinations(classes, 2)]


def evaluate(
    model: options.ModelPath,
    data: options.DataPath,
    format: options.FileFormat = None,
    label: options.Label = None,
    zero_based: options.ZeroBased = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure a model on labelled DATA.

    Prints accuracy, balanced accuracy (the mean recall of the classes in DATA), precision, recall
    and F1 of each class, and the confusion matrix if there are few classes. Rows with a label that
    the model does not know count as errors.
    """
    with faults_reported(), warnings_shown() as warned:
        from ..persistence import load_model

        estimator = load_model(model)
        table = read_for(
            estimator, data, labelled=True, format=format, label=label, zero_based=zero_based
        )
        actual = _as_classes(table.y, estimator.classes_)
        result = {
            "command": "evaluate",
            "model": str(model),
            "data": str(data),
            **_measure(estimator.classes_, actual, estimator.predict(table.X)),
            "warnings": warned,
        }
    if as_json:
        print_json(result)
    else:
        typer.echo(_text(result))


def _as_classes(y: Any, classes: Any) -> Any:
    """Return the labels of a file in the type of the model's classes."""
    import numpy as np

    from ..core.fit import warn

    if (y.dtype.kind in "UO") != (classes.dtype.kind in "UO"):
        # One side is text: compare as it would be written.
        known = {str(label): position for position, label in enumerate(classes.tolist())}
        y = y.astype(str)
        if set(np.unique(y).tolist()) <= set(known):
            return classes[[known[text] for text in y.tolist()]]
        classes = classes.astype(str)
    unknown = ~np.isin(y, classes)
    if unknown.all():
        raise ValueError(
            f"no label is a class of the model. Expected {_some(classes)}; found "
            f"{_some(np.unique(y))}. Check the label column."
        )
    if unknown.any():
        warn(
            f"rows with labels that the model does not know: {unknown.sum():,} "
            f"({_some(np.unique(y[unknown]))}). They count as errors."
        )
    return y


def _measure(classes: Any, actual: Any, predicted: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    kinds = {actual.dtype.kind, predicted.dtype.kind}
    if len(kinds) > 1 and "U" in kinds:
        actual, predicted = actual.astype(str), predicted.astype(str)
    labels = np.union1d(classes.astype(actual.dtype), actual)
    precision, recall, f1, support = precision_recall_fscore_support(
        actual, predicted, labels=labels, zero_division=np.nan
    )
    return {
        "rows": len(actual),
        "accuracy": float(np.mean(actual == predicted)),
        "balanced_accuracy": float(np.mean(recall[support > 0])),
        "classes": [
            {"label": plain(label), "precision": p, "recall": r, "f1": f, "rows": n}
            for label, p, r, f, n in zip(labels, precision, recall, f1, support, strict=True)
        ],
        "confusion": plain(confusion_matrix(actual, predicted, labels=labels)),
    }


def _text(result: dict[str, Any]) -> str:
    parts = [
        aligned(
            [
                ("rows", f"{result['rows']:,}"),
                ("accuracy", f"{result['accuracy']:.4f}"),
                ("balanced accuracy", f"{result['balanced_accuracy']:.4f}"),
            ]
        )
    ]
    names = [str(entry["label"]) for entry in result["classes"]]
    rows = [["class", "precision", "recall", "F1", "rows"]]
    for name, entry in zip(names, result["classes"], strict=True):
        scores = [_score(entry[key]) for key in ("precision", "recall", "f1")]
        rows.append([name, *scores, f"{entry['rows']:,}"])
    parts.append(_grid(rows))
    if len(names) <= CONFUSION_SHOWN:
        counts = [[f"{count:,}" for count in row] for row in result["confusion"]]
        matrix = [[name, *row] for name, row in zip(names, counts, strict=True)]
        parts.append("rows: actual, columns: predicted\n" + _grid([["", *names], *matrix]))
    return "\n\n".join(parts)


def _grid(rows: list[list[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if position == 0 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _score(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"


def _some(labels: Any, at_most: int = 6) -> str:
    shown = ", ".join(str(label) for label in labels[:at_most].tolist())
    return shown + (", …" if len(labels) > at_most else "")
