"""LIBSVM (SVMlight) text files: ``label index:value index:value … # comment``.

scikit-learn's reader is the fast path. It does not say where a file is wrong, so a second pass
over the lines runs when, and only when, the first one failed.
"""

from __future__ import annotations

import math
import re
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from widemargin.datafiles.streams import open_stream
from widemargin.datafiles.table import DataFileError, Request, Table, excerpt, integers_if_whole

__all__ = ["looks_like_libsvm", "read_libsvm"]

# scikit-learn reads indices into a C int.
_LARGEST_INDEX = 2**31 - 1
_PAIR = re.compile(rb"(qid|\d+):\S+")
_SAMPLE = 100_000


def read_libsvm(request: Request) -> Table:
    """Read a LIBSVM file into a CSR matrix.

    Indices count from 1. A file in which index 0 occurs counts from 0; ``zero_based`` decides for
    files that leave it open.
    """
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file

    if request.label is not None:
        raise ValueError("`label` must be None for LIBSVM files: the label begins each line.")
    try:
        with open_stream(request.path) as stream:
            # Without a shift, so that the base of the indices can be judged here.
            X, y = load_svmlight_file(stream, dtype=request.text_dtype, zero_based=True)
    except DataFileError:
        raise
    except (ValueError, OverflowError):
        _raise_fault(request)
    if X.shape[0] == 0:
        raise DataFileError(request.path, "the file has no rows. Was it written completely?")
    if not (np.isfinite(X.data).all() and (np.isfinite(y).all() or not request.labelled)):
        _raise_fault(request)

    zero_based = _counts_from_zero(request, X.indices)
    indices = X.indices if zero_based else X.indices - 1
    used = int(indices.max()) + 1 if indices.size else 0
    if (indices.size and indices.min() < 0) or used > (request.n_features or used):
        _raise_fault(request, zero_based=zero_based)
    # A file of empty rows still needs a column for scikit-learn to accept it.
    n_features = request.n_features or max(used, 1)
    return Table(
        X=csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], n_features)),
        y=integers_if_whole(y) if request.labelled else None,
        notes=("feature indices count from 0",) if zero_based else (),
    )


def looks_like_libsvm(stream: BinaryIO) -> bool:
    """Whether the first line with anything on it is ``label index:value …``."""
    for _ in range(100):
        line = stream.readline(_SAMPLE)
        if not line:
            return False
        fields = line.split(b"#", 1)[0].split()
        if len(line) == _SAMPLE:
            fields.pop()  # The sample may end within a pair.
        if fields:
            pairs = fields[1:]
            return (
                _number(fields[0]) is not None
                and bool(pairs)
                and all(_PAIR.fullmatch(pair) for pair in pairs)
            )
    return False


def _counts_from_zero(request: Request, indices: NDArray[Any]) -> bool:
    if request.zero_based == "auto":
        return bool(indices.size) and bool(indices.min() == 0)
    return request.zero_based


def _raise_fault(request: Request, zero_based: bool | None = None) -> NoReturn:
    """Raise a `DataFileError` for the first line that is wrong."""
    with open_stream(request.path) as stream:
        for number, line in enumerate(stream, start=1):
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
    value = _number(field)
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
        value = _number(after)
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


def _number(field: bytes) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _whole_number(field: bytes) -> int | None:
    try:
        return int(field)
    except ValueError:
        return None
