"""`read`: find the format of a file and read it, whole or by blocks, with that format's reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from .blocks import BlockSource, DataFileError, Request, Table
from .delimited import delimited_source
from .format_names import format_of
from .libsvm import libsvm_source
from .npz import npz_source
from .parquet import parquet_files, parquet_source
from .streams import COMPRESSED_SUFFIXES, check_regular_file

#: The reader of each format, which yields blocks of rows.
FORMATS: dict[str, Callable[[Request], BlockSource]] = {
    "libsvm": libsvm_source,
    "csv": delimited_source,
    "tsv": partial(delimited_source, delimiter="\t"),
    "parquet": parquet_source,
    "npz": npz_source,
}


def read(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    label: str | int | None = None,
    labelled: bool = True,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    index_base: int | None = None,
    text_labels: bool = False,
    dtype: DTypeLike | None = None,
) -> Table:
    """Read a data file.

    Parameters
    ----------
    path : path-like
        The file. Text formats may be packed (``.gz``, ``.bz2``, ``.xz``).
    format : {"libsvm", "csv", "tsv", "parquet", "npz"}, default=None
        None finds it from the suffix: ``.svm .libsvm .svmlight .txt .t .tr .val``, ``.csv``,
        ``.tsv .tab``, ``.parquet .pq``, ``.npz``. What a file with any other name, or ``.txt``,
        holds is found from its first lines.
    label : str or int, default=None
        CSV, TSV and Parquet: name or position of the label column, from 0 or, if negative, from the
        end. None takes the column called label, target or class, else y (in any case), else the
        last one. NPZ: key of the labels, ``"y"`` by default. LIBSVM: must be None.
    labelled : bool, default=True
        Whether to read labels. If False, ``y`` is None, and a label column may be there or not:
        it is recognised by `label`, `feature_names` or `n_features`, and without these by its name,
        as above; a note says so.
    n_features : int, default=None
        Number of features required, e.g. a model's. A LIBSVM file may use fewer.
    feature_names : sequence of str, default=None
        Names of the features required, e.g. a model's. Columns are then taken by name, in this
        order, and others are left out. Files without names are read by position.
    zero_based : bool or "auto", default="auto"
        LIBSVM only: whether feature indices count from 0. "auto" goes by `index_base`; without
        it, indices count from 0 if index 0 occurs, and else from 1. The table says what was
        taken. A test file in which index 0 happens not to occur then needs ``zero_based=True``;
        a warning says so where the number of features leaves both open.
    index_base : {0, 1}, default=None
        What the indices of the file that a model was trained on count from (``index_base_`` of
        models that the command line trained). It decides for LIBSVM files where `zero_based` is
        "auto", and is ignored for other formats. A file with index 0 is an error if it is 1.
    text_labels : bool, default=False
        CSV and TSV only: leave labels that look like numbers as text.
    dtype : {numpy.float64, numpy.float32}, default=None
        Type of the features. None keeps float32 where Parquet and NPZ store it, else float64.

    Returns
    -------
    Table
        Features, labels and names.

    Raises
    ------
    DataFileError
        If the file is missing, damaged or malformed, with the line where there is one.

    Notes
    -----
    The first row of a CSV or TSV file is a header if it holds no number, or contains the name given
    as `label` or all of `feature_names`, or numbers the columns from 0 or 1 beside a label column.
    A header of numbers only would be taken for data. CSV files are split at the delimiter (comma,
    semicolon, tab or bar) that gives the first lines equally many cells. Labels are converted to
    integers or floats if all of them are numbers.
    """
    request, name = checked_request(
        path,
        format=format,
        label=label,
        labelled=labelled,
        n_features=n_features,
        feature_names=feature_names,
        zero_based=zero_based,
        index_base=index_base,
        text_labels=text_labels,
        dtype=dtype,
    )
    return FORMATS[name](request).table()


def file_source(
    path: str | PathLike[str], unpack_dir: Path, block_bytes: int, **options: Any
) -> BlockSource:
    """Return the blocks of a file, or of a directory of Parquet files; `options` are as for `read`.

    Arrays that have to be unpacked first are put in `unpack_dir`.
    """
    files = [Path(path)]
    if files[0].is_dir():
        if options["format"] not in (None, "parquet"):
            raise ValueError(
                f"`format` must be 'parquet' for a directory; got {options['format']!r}."
            )
        files = parquet_files(files[0])
    if files[0].suffix.lower() == ".npy":
        raise DataFileError(
            files[0],
            "a .npy file holds one array and no labels. Map it, and pass the tuple "
            "(numpy.load(path, mmap_mode='r'), y).",
        )
    request, name = checked_request(files[0], labelled=True, feature_names=None, **options)
    request = replace(request, block_bytes=block_bytes, unpack_dir=unpack_dir)
    if len(files) > 1:
        return parquet_source(request, files)
    return FORMATS[name](request)


def checked_request(
    path: str | PathLike[str],
    *,
    format: str | None,
    n_features: int | None,
    feature_names: Sequence[str] | None,
    dtype: DTypeLike | None,
    **options: Any,
) -> tuple[Request, str]:
    """Check the arguments of `read`, and find the format of the file."""
    request = Request(
        path=Path(path),
        n_features=_checked_n_features(n_features, feature_names),
        feature_names=None if feature_names is None else tuple(feature_names),
        dtype=checked_dtype(dtype),
        **options,
    )
    if request.index_base not in (None, 0, 1):
        raise ValueError(f"`index_base` must be 0, 1 or None; got {request.index_base!r}.")
    check_regular_file(request.path)
    name = format or format_of(request.path)
    if name not in FORMATS:
        raise ValueError(f"`format` must be one of {', '.join(FORMATS)}; got {format!r}.")
    if request.zero_based != "auto" and name != "libsvm":
        raise ValueError(f"`zero_based` applies to LIBSVM files only; {path} is read as {name}.")
    if name in ("parquet", "npz") and request.path.suffix.lower() in COMPRESSED_SUFFIXES:
        raise request.error(
            f"{name} files are compressed inside; unpack {request.path.suffix} first."
        )
    return request, name


def _checked_n_features(n_features: int | None, names: Sequence[str] | None) -> int | None:
    if n_features is not None and n_features < 1:
        raise ValueError(f"`n_features` must be at least 1; got {n_features}.")
    if names is not None and n_features not in (None, len(names)):
        raise ValueError(f"`n_features` is {n_features} but `feature_names` has {len(names)}.")
    return n_features if names is None else len(names)


def checked_dtype(dtype: DTypeLike | None) -> np.dtype[Any] | None:
    """Return the type requested, which must be one that solvers read."""
    if dtype is None:
        return None
    checked = np.dtype(dtype)
    if checked not in (np.float32, np.float64):
        raise ValueError(f"`dtype` must be float32 or float64; got {checked}.")
    return checked
