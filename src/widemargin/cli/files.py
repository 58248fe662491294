"""The files that commands read and write: checked before any long work begins."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .messages import say, usage_error

if TYPE_CHECKING:
    from ..data import SpooledRows, Table


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


def check_model_output(model: Path, data: Path, *, force: bool) -> None:
    """End with a usage error unless the model can be saved, replacing nothing but a model."""
    check_output(model, "--model", (data,))
    if model.is_file() and not force and not _is_model(model):
        raise usage_error(
            f"--model {model}: this file exists and is not a model. "
            "Name another one, or give --force to replace it."
        )


def _is_model(path: Path) -> bool:
    """Whether a file begins as a model file does; the rest may be damaged."""
    from ..persistence.container import FORMAT

    with open(path, "rb") as file:
        return FORMAT.encode() in file.read(4096)


def as_csv(header: list[str], columns: list[Any]) -> bytes:
    """Write columns of arrays as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    # Python's own floats are written with all the digits that distinguish them.
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return text.getvalue().encode()


def write_output(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; devices and pipes are written to."""
    from ..persistence.atomic_write import write_atomically

    if path.exists() and not path.is_file():
        path.write_bytes(data)
    else:
        write_atomically(path, data)


def read_file(path: Path, *, zero_based: bool | None, **options: Any) -> Table:
    """Read a data file, and print the decisions of the reader."""
    from ..data import Table, read

    with _option_errors():
        table = read(path, zero_based="auto" if zero_based is None else zero_based, **options)
    _print_notes(table.notes)
    return Table(_compact(table.X), table.y, table.feature_names, table.notes)


def spool_file(
    estimator: Any, path: Path, *, zero_based: bool | None, spool_dir: Path | None, **options: Any
) -> SpooledRows:
    """Copy a data file into arrays on disk, and print the decisions of the reader."""
    from ..estimators.linear_streaming import spooled

    if spool_dir is not None and not spool_dir.is_dir():
        raise usage_error(f"--spool-dir {spool_dir}: expected a folder that exists.")
    base = "auto" if zero_based is None else zero_based
    with _option_errors():
        rows = spooled(
            estimator, path, classes=None, zero_based=base, spool_dir=spool_dir, **options
        )
    _print_notes(rows.notes)
    return rows


@contextmanager
def _option_errors() -> Iterator[None]:
    """Turn an error about the options, not about the file, into a usage error."""
    from ..data import DataFileError

    try:
        yield
    except DataFileError:
        raise
    except ValueError as error:
        raise usage_error(str(error)) from None


def _print_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        say(f"note: {note}")


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
