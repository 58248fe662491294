"""The files that commands read and write: checked before any long work begins."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widemargin.cli.messages import say, usage_error

if TYPE_CHECKING:
    from widemargin.data import Table

__all__ = [
    "DataOption",
    "FormatOption",
    "LabelOption",
    "ModelArgument",
    "ZeroBasedOption",
    "as_csv",
    "check_output",
    "is_model",
    "read_file",
    "read_for",
    "write_output",
]

DataOption = Annotated[Path, typer.Argument(help="Data file.", show_default=False)]
ModelArgument = Annotated[Path, typer.Argument(help="Model file (.wm).", show_default=False)]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="libsvm, csv, tsv, parquet or npz; found from the file's name if left out.",
        show_default=False,
    ),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        help="Label column: its name, or its position from 0 (negative: from the end). Left out: "
        "the column called label, target or class, else y, else the last. NPZ: key of the labels.",
        show_default=False,
    ),
]
ZeroBasedOption = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="LIBSVM: feature indices count from 0, or from 1. Left out: from 0 if 0 occurs.",
        show_default=False,
    ),
]


def check_output(path: Path, option: str, inputs: tuple[Path, ...]) -> None:
    """End with a usage error unless `path` can be written and is none of the inputs."""
    directory = path.parent
    if not directory.is_dir():
        found = "a file" if directory.exists() else "nothing"
        raise usage_error(f"{option} {path}: {directory} must be a directory; found {found}.")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise usage_error(f"{option} {path}: no permission to write in {directory}.")
    if path.is_dir():
        raise usage_error(f"{option} {path}: expected a file, found a directory.")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise usage_error(f"{option} {path}: no permission to replace this file.")
        if any(given.exists() and path.samefile(given) for given in inputs):
            raise usage_error(f"{option} {path}: this is an input file. Name another one.")


def is_model(path: Path) -> bool:
    """Whether a file is a model by its beginning, damaged or not."""
    from widemargin.persistence.container import FORMAT

    with open(path, "rb") as file:
        return FORMAT.encode() in file.read(4096)


def as_csv(header: list[str], columns: list[Any]) -> bytes:
    """Write columns of arrays as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    # Python's own floats are written with all the digits that tell them apart.
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return text.getvalue().encode()


def write_output(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; devices and pipes are written to."""
    from widemargin.persistence.atomic_write import write_atomically

    if path.exists() and not path.is_file():
        path.write_bytes(data)
    else:
        write_atomically(path, data)


def read_file(path: Path, *, zero_based: bool | None, **options: Any) -> Table:
    """Read a data file, and say what the reader had to decide."""
    from widemargin.data import DataFileError, Table, read

    try:
        table = read(path, zero_based="auto" if zero_based is None else zero_based, **options)
    except DataFileError:
        raise
    except ValueError as error:  # The file may be fine; the options are not.
        raise usage_error(str(error)) from None
    for note in table.notes:
        say(f"note: {note}")
    return Table(_compact(table.X), table.y, table.feature_names, table.notes)


def read_for(model: Any, path: Path, **options: Any) -> Table:
    """Read a file with the features that a model was fitted on."""
    names = getattr(model, "feature_names_in_", None)
    return read_file(
        path,
        n_features=model.n_features_in_,
        feature_names=None if names is None else [str(name) for name in names],
        # "01" and "1" are one number but two names: read them as the model did.
        text_labels=model.classes_.dtype.kind in "UO",
        **options,
    )


def _compact(X: Any) -> Any:
    """Store a sparse matrix densely if that takes less memory; dense rows are also faster."""
    if not hasattr(X, "indptr"):
        return X
    sparse_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    dense_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    return X.toarray() if dense_bytes <= sparse_bytes else X
