"""``widemargin info``: what a model file holds."""

from __future__ import annotations

from typing import Annotated

import typer

from widemargin.cli.description import describe, described_lines
from widemargin.cli.files import ModelArgument
from widemargin.cli.messages import aligned, faults_reported, print_json, warnings_shown

__all__ = ["info"]


def info(
    model: ModelArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Describe a model.

    Prints its settings, classes, support vectors and certified gap.
    """
    with faults_reported(), warnings_shown():
        from widemargin.persistence import load_model

        estimator = load_model(model)
        summary = {
            "command": "info",
            "model": str(model),
            "file_bytes": model.stat().st_size,
            **describe(estimator),
        }
    if as_json:
        print_json(summary)
    else:
        typer.echo(aligned(described_lines(summary)))
