"""LIBSVM (SVMlight) text files: ``label index:value index:value … # comment``.

scikit-learn's reader is the fast path. It does not say where a file is wrong, so a second pass
over the lines runs when, and only when, the first one failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from widemargin.data.formats.libsvm_faults import number_or_none, raise_fault_of_file
from widemargin.data.formats.streams import open_stream
from widemargin.data.formats.table import DataFileError, Request, Table, integers_if_whole

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "check_no_label_column",
    "looks_like_libsvm",
    "parse_lines",
    "read_libsvm",
]

_PAIR = re.compile(rb"(qid|\d+):\S+")
_SAMPLE = 100_000


def read_libsvm(request: Request) -> Table:
    """Read a LIBSVM file into a CSR matrix.

    Indices count from 1. A file in which index 0 occurs counts from 0; ``zero_based`` decides for
    files that leave it open.
    """
    from scipy.sparse import csr_matrix

    check_no_label_column(request)
    try:
        with open_stream(request.path) as stream:
            X, y = parse_lines(request, stream)
    except DataFileError:
        raise
    except (ValueError, OverflowError):
        raise_fault_of_file(request)
    if X.shape[0] == 0:
        raise DataFileError(request.path, "the file has no rows. Was it written completely?")

    zero_based = _counts_from_zero(request, X.indices)
    indices = X.indices if zero_based else X.indices - 1
    used = int(indices.max()) + 1 if indices.size else 0
    if (indices.size and indices.min() < 0) or used > (request.n_features or used):
        raise_fault_of_file(request, zero_based)
    # A file of empty rows still needs a column for scikit-learn to accept it.
    n_features = request.n_features or max(used, 1)
    return Table(
        X=csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], n_features)),
        y=integers_if_whole(y) if request.labelled else None,
        notes=("feature indices count from 0",) if zero_based else (),
    )


def check_no_label_column(request: Request) -> None:
    """Refuse a label column, which LIBSVM files do not have."""
    if request.label is not None:
        raise ValueError("`label` must be None for LIBSVM files: the label begins each line.")


def parse_lines(request: Request, stream: BinaryIO) -> tuple[csr_matrix, NDArray[np.float64]]:
    """Parse lines into rows, with the indices as they are written, and labels.

    Raises
    ------
    ValueError, OverflowError
        If anything is wrong; `libsvm_faults` then finds out where.
    """
    from sklearn.datasets import load_svmlight_file

    # Without a shift, so that the caller can judge the base of the indices.
    X, y = load_svmlight_file(stream, dtype=request.text_dtype, zero_based=True)
    if not (np.isfinite(X.data).all() and (np.isfinite(y).all() or not request.labelled)):
        raise ValueError("a value is not finite")
    return X, y


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
                number_or_none(fields[0]) is not None
                and bool(pairs)
                and all(_PAIR.fullmatch(pair) for pair in pairs)
            )
    return False


def _counts_from_zero(request: Request, indices: NDArray[Any]) -> bool:
    if request.zero_based == "auto":
        return bool(indices.size) and bool(indices.min() == 0)
    return request.zero_based
