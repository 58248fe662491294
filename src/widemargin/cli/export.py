"""``widemargin export``: write a model in a format that other programs run."""

from __future__ import annotations

from copy import copy
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import check_output
from .info import size
from .messages import fail, faults_reported, print_summary, usage_error, warnings_shown


class Precision(StrEnum):
    """Type of the numbers that a graph takes and gives."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"


def export(
    model: options.ModelPath,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="ONNX file to write.", show_default=False)
    ],
    dtype: Annotated[
        Precision, typer.Option(help="Numbers in inputs and outputs.")
    ] = Precision.FLOAT32,
    compress: Annotated[
        int | None,
        options.option("Kernel models: keep at most this many points first.", "--compress"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Write a model as an ONNX file.

    Servers, phones and other languages run it without widemargin. Prints its inputs and outputs.
    """
    check_output(output, "--output", (model,))
    with faults_reported(), warnings_shown():
        from ..export import to_onnx
        from ..persistence import load_model

        estimator: Any = load_model(model)
        if compress is not None:
            estimator = _compressed(estimator, compress)
        try:
            graph = to_onnx(estimator, output, dtype=str(dtype)).graph
        except ImportError as error:
            raise fail(str(error), 1) from None
    summary: dict[str, Any] = {
        "command": "export",
        "model": str(model),
        "output": str(output),
        "file_bytes": output.stat().st_size,
        "inputs": [each.name for each in graph.input],
        "outputs": [each.name for each in graph.output],
    }
    lines = [
        ("output", f"{output} ({size(summary['file_bytes'])})"),
        ("inputs", ", ".join(summary["inputs"])),
        ("outputs", ", ".join(summary["outputs"])),
    ]
    print_summary(summary, lines, as_json)


def _compressed(estimator: Any, n_basis: int) -> Any:
    """Return an estimator, or a pipeline that ends with one, on fewer points."""
    if hasattr(estimator, "compress"):
        return estimator.compress(n_basis)
    if hasattr(estimator, "steps"):
        *before, (name, last) = estimator.steps
        return type(estimator)([*before, (name, _compressed(last, n_basis))])
    if hasattr(estimator, "model_"):  # AutoClassifier
        small = copy(estimator)
        small.model_ = _compressed(estimator.model_, n_basis)
        return small
    if hasattr(estimator, "regressor_"):  # TransformedTargetRegressor
        small = copy(estimator)
        small.regressor_ = _compressed(estimator.regressor_, n_basis)
        return small
    name = type(estimator).__name__
    raise usage_error(f"--compress: a {name} has no support vectors to choose from.")
