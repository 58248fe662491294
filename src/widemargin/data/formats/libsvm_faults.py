"""What is wrong with a line of a LIBSVM file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from widemargin.data.formats.streams import open_stream
from widemargin.data.formats.table import DataFileError, Request, excerpt

__all__ = ["number_or_none", "raise_fault", "raise_fault_of_file"]

# scikit-learn reads indices into a C int.
_LARGEST_INDEX = 2**31 - 1


def raise_fault_of_file(request: Request, zero_based: bool | None = None) -> NoReturn:
    """Raise a `DataFileError` for the first line of the file that is wrong."""
    with open_stream(request.path) as stream:
        raise_fault(request, stream, zero_based=zero_based)


def raise_fault(
    request: Request,
    lines: Iterable[bytes],
    *,
    zero_based: bool | None = None,
    first_line: int = 1,
) -> NoReturn:
    """Raise a `DataFileError` for the first line that is wrong.

    Parameters
    ----------
    request : Request
        What the caller asked for.
    lines : iterable of bytes
        Lines of the file.
    zero_based : bool or None
        Whether the indices count from 0, if that is known; only then are they held against the
        number of features.
    first_line : int, default=1
        Number of the first one of `lines` in the file.
    """
    for number, line in enumerate(lines, start=first_line):
        fields = line.split(b"#", 1)[0].split()
        if fields:
            problem = _fault_of_label(fields[0], request) or _fault_of_pairs(
                fields[1:], request, zero_based
            )
            if problem:
                raise DataFileError(request.path, problem, number)
    raise DataFileError(request.path, "not a LIBSVM file, or changed while it was read.")


def _fault_of_label(field: bytes, request: Request) -> str | None:
    expected = f"expected a number as the label, found {excerpt(field)}"
    if b":" in field:
        return f"{expected}. Every line begins with a label; write 0 where it is unknown."
    value = number_or_none(field)
    if value is None and b"," in field:
        return (
            f"{expected}. Several labels a row are not supported; "
            "if the file is comma-separated, give the format `csv`."
        )
    if value is None:
        return f"{expected}. Number the classes, or write text labels in a CSV file."
    if request.labelled and not math.isfinite(value):
        return f"{expected}. Remove the row, or number its class."
    return None


def _fault_of_pairs(fields: list[bytes], request: Request, zero_based: bool | None) -> str | None:
    previous = None
    if fields and fields[0].startswith(b"qid:"):
        fields = fields[1:]
    for field in fields:
        before, colon, after = field.partition(b":")
        index = _whole_number(before)
        value = number_or_none(after)
        if not colon or index is None or value is None:
            return (
                f"expected `index:value` with a whole number and a number, found {excerpt(field)}."
            )
        problem = _fault_of_index(index, previous, request, zero_based)
        if problem:
            return problem
        if not abs(value) <= float(np.finfo(request.text_dtype).max):
            return (
                f"expected a finite value (as {request.text_dtype}) for feature {index}, found "
                f"{excerpt(after)}. Leave absent features out, and impute or remove missing values."
            )
        previous = index
    return None


def _fault_of_index(
    index: int, previous: int | None, request: Request, zero_based: bool | None
) -> str | None:
    if index < 0 or (index == 0 and request.zero_based is False):
        return f"feature indices count from 1; found {index}."
    if index > _LARGEST_INDEX:
        return f"expected a feature index of at most {_LARGEST_INDEX}, found {index}."
    if previous is not None and index == previous:
        return f"feature {index} is given twice. Keep one of the values."
    if previous is not None and index < previous:
        return f"feature indices must increase along the line; found {index} after {previous}."
    if zero_based is not None and request.n_features is not None:
        last = request.n_features - zero_based
        if index > last:
            return (
                f"expected {request.n_features} features (indices up to {last}), found index "
                f"{index}. Use a file with the features of the model, or fit a new model."
            )
    return None


def number_or_none(field: bytes) -> float | None:
    """Return the number that a field spells, or None."""
    try:
        return float(field)
    except ValueError:
        return None


def _whole_number(field: bytes) -> int | None:
    try:
        return int(field)
    except ValueError:
        return None
