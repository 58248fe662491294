"""``widemargin predict``: label the rows of a data file."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import as_csv, check_output, read_for, write_output
from .messages import faults_reported, say, warnings_shown

__all__ = ["predict"]


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
    format: options.FileFormat = None,
    label: options.Label = None,
    zero_based: options.ZeroBased = None,
) -> None:
    """Predict a label for each row of DATA.

    The result is CSV with the header `prediction`, one line for each row in the same order.
    DATA need not have labels; a label column is left out. A model trained on named columns takes
    them by name.

    With --decision and two classes a column `decision` is added, positive for the second class;
    with more classes a column `decision_CLASS` for each, the largest of which wins.
    """
    to_file = None if output is None or str(output) == "-" else output
    with faults_reported(), warnings_shown():
        from ..persistence import load_model

        if to_file is not None:
            check_output(to_file, "--output", (model, data))
        estimator = load_model(model)
        X = read_for(
            estimator, data, labelled=False, format=format, label=label, zero_based=zero_based
        ).X
        header = ["prediction"]
        columns = [estimator.predict(X)]
        if decision:
            values = estimator.decision_function(X)
            header += _decision_names(estimator, values)
            columns += [values] if values.ndim == 1 else list(values.T)
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
    if values.shape[1] == len(classes) and _per_class(estimator):
        return [f"decision_{name}" for name in classes]
    return [f"decision_{a}_{b}" for a, b in itertools.combinations(classes, 2)]


def _per_class(estimator: Any) -> bool:
    """Whether decisions are one per class, as they always are for linear models."""
    return getattr(estimator, "decision_function_shape", "ovr") == "ovr"
