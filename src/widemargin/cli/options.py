"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def option(help: str, *names: str) -> Any:
    """Return an option that has the estimator's own default if it is left out.

    Without names, it is called as the parameter that it annotates.
    """
    return typer.Option(*names, help=help, show_default=False)


DataPath = Annotated[Path, typer.Argument(help="Data file.", show_default=False)]
ModelPath = Annotated[Path, typer.Argument(help="Model file (.wm).", show_default=False)]

FileFormat = Annotated[
    str | None,
    option("libsvm, csv, tsv, parquet or npz; found from the file's name if left out.", "--format"),
]
Label = Annotated[
    str | None,
    option(
        "Label column: its name, or its position from 0 (negative: from the end). Left out: "
        "the column called label, target or class, else y, else the last. NPZ: key of the labels.",
        "--label",
    ),
]
ZeroBased = Annotated[
    bool | None,
    option(
        "LIBSVM: feature indices count from 0, or from 1. Left out: from 0 if 0 occurs.",
        "--zero-based/--one-based",
    ),
]

Upsilon = Annotated[float | None, option("ODM: weight of margins that are too large.", "--upsilon")]
Theta = Annotated[
    float | None, option("ODM: deviation of a margin from 1 that is free.", "--theta")
]
Intercept = Annotated[
    bool | None, option("Penalised intercept.", "--fit-intercept/--no-fit-intercept")
]
ClassWeight = Annotated[
    list[str] | None,
    option("balanced, or LABEL=WEIGHT (repeat for more); multiplies -C.", "--class-weight"),
]
Jobs = Annotated[int | None, option("Threads.", "--jobs", "-j")]
Seed = Annotated[int | None, option("Seed of random choices.", "--seed")]

AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace --model even if it is not a model.")]
