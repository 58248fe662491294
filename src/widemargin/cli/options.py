"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "AsJson",
    "ClassWeight",
    "DataPath",
    "FileFormat",
    "Force",
    "Intercept",
    "Jobs",
    "Label",
    "ModelPath",
    "Seed",
    "Theta",
    "Upsilon",
    "ZeroBased",
    "option",
]


def option(*names: str, help: str) -> Any:
    """Return an option that has the estimator's own default if it is left out."""
    return typer.Option(*names, help=help, show_default=False)


DataPath = Annotated[Path, typer.Argument(help="Data file.", show_default=False)]
ModelPath = Annotated[Path, typer.Argument(help="Model file (.wm).", show_default=False)]

FileFormat = Annotated[
    str | None,
    option(
        "--format", help="libsvm, csv, tsv, parquet or npz; found from the file's name if left out."
    ),
]
Label = Annotated[
    str | None,
    option(
        "--label",
        help="Label column: its name, or its position from 0 (negative: from the end). Left out: "
        "the column called label, target or class, else y, else the last. NPZ: key of the labels.",
    ),
]
ZeroBased = Annotated[
    bool | None,
    option(
        "--zero-based/--one-based",
        help="LIBSVM: feature indices count from 0, or from 1. Left out: from 0 if 0 occurs.",
    ),
]

Upsilon = Annotated[
    float | None, option("--upsilon", help="ODM: weight of margins that are too large.")
]
Theta = Annotated[
    float | None, option("--theta", help="ODM: deviation of a margin from 1 that is free.")
]
Intercept = Annotated[
    bool | None, option("--fit-intercept/--no-fit-intercept", help="Penalised intercept.")
]
ClassWeight = Annotated[
    list[str] | None,
    option("--class-weight", help="balanced, or LABEL=WEIGHT (repeat for more); multiplies -C."),
]
Jobs = Annotated[int | None, option("--jobs", "-j", help="Threads.")]
Seed = Annotated[int | None, option("--seed", help="Seed of random choices.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace --model even if it is not a model.")]
