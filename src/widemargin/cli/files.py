"""The files that commands read and write: checked before any long work begins."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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


def default_model(data: Path) -> Path:
    """Return where a model is saved if nothing else is said: beside its data, as NAME.wm."""
    if str(data) == "-":
        return Path("model.wm")
    return data.with_name(data.name.split(".")[0] or data.name).with_suffix(".wm")


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


@contextmanager
def input_file(path: Path) -> Iterator[Path]:
    """Yield a file that can be read more than once: `path`, or a copy of standard input for ``-``.

    What is wrong with the copy is reported as wrong with standard input.
    """
    if str(path) != "-":
        yield path
        return
    from ..data import DataFileError
    from ..data.formats.streams import packed_suffix

    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        copy = Path(folder, "data")
        with open(copy, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with open(copy, "rb") as file:
            suffix = packed_suffix(file.read(8))
        if suffix:
            copy = copy.rename(copy.with_suffix(suffix))
        try:
            yield copy
        except DataFileError as error:
            raise type(error)("standard input", error.problem, error.line) from None


def read_file(
    path: Path, *, zero_based: bool | None, told: tuple[str, ...] = (), **options: Any
) -> Table:
    """Read a file of numbers, and print the decisions of the reader, unless they were `told`."""
    from ..data import read

    with _option_errors():
        table = read(path, zero_based="auto" if zero_based is None else zero_based, **options)
    _print_notes(table.notes, told)
    return replace(table, X=_compact(table.X))


def read_table(
    path: Path, *, zero_based: bool | None, told: tuple[str, ...] = (), **options: Any
) -> Table:
    """Read a table with its cells as they are, and print the decisions of the reader, as above."""
    from ..data import read_frame

    if zero_based is not None:
        raise usage_error("--zero-based and --one-based are for LIBSVM files.")
    with _option_errors():
        table = read_frame(path, **options)
    _print_notes(table.notes, told)
    return table


def holds_a_table(path: Path, format: str | None) -> bool:
    """Return whether a file has columns that may hold anything: CSV, TSV or Parquet."""
    from ..data.formats import FORMATS
    from ..data.formats.format_names import format_of
    from ..data.formats.streams import check_regular_file

    if format is not None and format not in FORMATS:
        raise usage_error(f"`format` must be one of {', '.join(FORMATS)}; got {format!r}.")
    check_regular_file(path)
    return (format or format_of(path)) in ("csv", "tsv", "parquet")


def spool_file(
    estimator: Any, path: Path, *, zero_based: bool | None, spool_dir: Path | None, **options: Any
) -> SpooledRows:
    """Copy a data file into arrays on disk, and print the decisions of the reader."""
    from ..data import DataFileError
    from ..estimators.linear_streaming import spooled

    if spool_dir is not None and not spool_dir.is_dir():
        raise usage_error(f"--spool-dir {spool_dir}: expected a folder that exists.")
    base = "auto" if zero_based is None else zero_based
    with _option_errors():
        try:
            rows = spooled(
                estimator, path, classes=None, zero_based=base, spool_dir=spool_dir, **options
            )
        except ValueError as error:
            problem, continuous, _ = str(error).partition(" If these are classes")
            if not continuous:
                raise
            raise DataFileError(
                path,
                f"{problem} Such numbers look like a regression; pass --task regression, or name "
                "another column with --label.",
            ) from None
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


def _print_notes(notes: tuple[str, ...], told: tuple[str, ...] = ()) -> None:
    for note in notes:
        if note not in told:
            say(f"note: {note}")


def read_for(model: Any, path: Path, **options: Any) -> Table:
    """Read a file with the features that a model was fitted on."""
    names = getattr(model, "feature_names_in_", None)
    options["feature_names"] = None if names is None else [str(name) for name in names]
    # "01" and "1" are one number but two names: read them as the model did.
    classes = getattr(model, "classes_", None)
    options["text_labels"] = classes is not None and classes.dtype.kind in "UO"
    drop = options.pop("drop", None) or []
    if names is not None and takes_tables(model) and holds_a_table(path, options["format"]):
        return read_table(path, drop=drop, **options)
    if drop:
        raise usage_error(
            "--drop is for models of tables: this one takes its features as they are."
        )
    # What indices of LIBSVM files count from, if the model was trained on one.
    options["index_base"] = getattr(model, "index_base_", None)
    return read_file(path, n_features=model.n_features_in_, **options)


def kept_columns(path: Path, names: list[str], format: str | None) -> dict[str, Any]:
    """Read columns of a table as they stand, text of a CSV or TSV file."""
    from ..data import read_frame

    if not holds_a_table(path, format):
        raise usage_error("--keep is for tables, which name their columns: CSV, TSV or Parquet.")
    with _option_errors():
        frame = read_frame(
            path, labelled=False, format=format, feature_names=list(dict.fromkeys(names))
        ).X
    return {name: frame[name] for name in frame}


def takes_tables(model: Any) -> bool:
    """Return whether a model prepares its columns by itself."""
    from ..estimators import AutoClassifier
    from ..tables import TablePreprocessor

    first = model.steps[0][1] if hasattr(model, "steps") else model
    return isinstance(first, TablePreprocessor | AutoClassifier)


def _compact(X: Any) -> Any:
    """Store a sparse matrix densely if that takes less memory; dense rows are also faster."""
    if not hasattr(X, "indptr"):
        return X
    sparse_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    dense_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    return X.toarray() if dense_bytes <= sparse_bytes else X
