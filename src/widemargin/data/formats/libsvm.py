"""LIBSVM (SVMlight) text files: ``label index:value index:value … # comment``.

scikit-learn parses the lines. It does not say where a file is wrong, so a second pass over the
lines, in Python, runs when the first one has failed.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from .blocks import Block, BlockSource, Origin, Request, excerpt, integers_if_whole
from .streams import open_stream, size_if_plain

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_PAIR = re.compile(rb"(qid|\d+):\S+")
_SAMPLE = 100_000
# The shortest pair, "1:1 ", takes 4 bytes, and 16 when parsed.
_PARSED_BY_TEXT = 4
# scikit-learn reads indices into a C int.
_LARGEST_INDEX = 2**31 - 1


def libsvm_source(request: Request) -> BlockSource:
    """Return the blocks of a LIBSVM file, as CSR matrices.

    Indices count from 1. A file in which index 0 occurs counts from 0; ``zero_based``, or the base
    of the file that a model was trained on, decides for files in which it may be missing by chance.
    """
    if request.label is not None:
        raise ValueError("`label` must be None for LIBSVM files: the label begins each line.")
    notes: list[str] = []
    base: list[bool] = []
    return BlockSource(_blocks(request, notes, base), notes=notes, zero_based=base)


def _given_base(request: Request) -> bool | None:
    """Return whether indices must count from 0; None if the file itself has to tell."""
    if request.zero_based != "auto":
        return request.zero_based
    return None if request.index_base is None else request.index_base == 0


def looks_like_libsvm(stream: BinaryIO) -> bool:
    """Whether the first line that is not blank reads ``label index:value …``."""
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


def _blocks(request: Request, notes: list[str], base: list[bool]) -> Iterator[Block]:
    given = _given_base(request)
    zero_based = given is True
    line, row, last_index = 1, 1, 0
    total = size_if_plain(request.path)
    with open_stream(request.path) as stream:
        for lines, n_lines in _pieces(stream, request.block_bytes):
            try:
                X, y = _parsed(request, lines)
            except (ValueError, OverflowError):
                _raise_fault(request, None, line)
            if X.indices.size:
                last_index = max(last_index, int(X.indices.max()))
                if not zero_based and X.indices.min() == 0:
                    if given is False:
                        _raise_fault(request, False, line)
                    zero_based = True
            if request.n_features is not None and last_index > request.n_features - zero_based:
                # An earlier line may be at fault: only now is it known that indices count from 0.
                _raise_fault(request, zero_based, 1)
            line += n_lines
            if not len(y):
                continue
            X.indices = X.indices.astype(np.int32, copy=False)
            yield Block(
                X,
                integers_if_whole(y) if request.labelled else None,
                None,
                Origin(request.path, first_row=row),
                first_column=0 if zero_based else 1,
                n_features=request.n_features,
                done_bytes=stream.tell(),
                total_bytes=total,
            )
            row += len(y)
    if row == 1:
        raise request.error(
            "the file has no rows, only blank lines or comments. Was it written completely? "
            "Expected lines of the form `label index:value …`."
        )
    base.append(zero_based)
    if zero_based:
        notes.append("feature indices count from 0")
    elif given is None and request.n_features is not None and 0 < last_index < request.n_features:
        from ...core.fit import warn  # which imports scikit-learn

        warn(
            f"{request.path}: the feature indices are taken to count from 1, but may count from 0: "
            f"they end at {last_index} of {request.n_features}, and 0 does not occur. Say which it "
            "is (zero_based=True or False; --zero-based or --one-based)."
        )


def _pieces(stream: BinaryIO, block_bytes: int | None) -> Iterator[tuple[BinaryIO, int]]:
    """Cut a stream at ends of lines; yield the pieces and the number of lines in each."""
    if block_bytes is None:
        yield stream, 0
        return
    begun: list[bytes] = []
    while piece := stream.read(max(block_bytes // _PARSED_BY_TEXT, 1)):
        end = piece.rfind(b"\n") + 1
        if end:
            text = b"".join([*begun, piece[:end]])
            yield io.BytesIO(text), text.count(b"\n")
            begun = [piece[end:]]
        else:
            begun.append(piece)  # A line longer than a block.
    if rest := b"".join(begun):
        yield io.BytesIO(rest), 1


def _parsed(request: Request, lines: BinaryIO) -> tuple[csr_matrix, NDArray[np.float64]]:
    """Parse lines into rows, with the indices as they are written, and labels.

    Raises ValueError or OverflowError if anything is wrong; `_raise_fault` then finds the line.
    """
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(lines, dtype=request.text_dtype, zero_based=True)
    if not (np.isfinite(X.data).all() and (np.isfinite(y).all() or not request.labelled)):
        raise ValueError("a value is not finite")
    return X, y


def _raise_fault(request: Request, zero_based: bool | None, first_line: int) -> NoReturn:
    """Raise a `DataFileError` for the first line, from `first_line` on, that is wrong.

    Indices are compared with the number of features only if it is known where they start.
    """
    with open_stream(request.path) as stream:
        lines = islice(stream, first_line - 1, None)
        for number, line in enumerate(lines, start=first_line):
            fields = line.split(b"#", 1)[0].split()
            if fields:
                problem = _fault_of_label(fields[0], request) or _fault_of_pairs(
                    fields[1:], request, zero_based
                )
                if problem:
                    raise request.error(problem, number)
        raise request.error("not a LIBSVM file, or changed while it was read.")


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
        try:
            index = int(before)
        except ValueError:
            index = None
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
    if index < 0:
        return f"feature indices count from 1; found {index}."
    if index == 0 and _given_base(request) is False:
        if request.zero_based is False:
            return "feature indices count from 1; found 0. If they count from 0, say so."
        return (
            "feature indices count from 1 in the file that the model was trained on; found 0. If "
            "they count from 0 here, say so (zero_based=True; --zero-based)."
        )
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
                f"{index}. {_advice_on_width(request, index, last)}"
            )
    return None


def _advice_on_width(request: Request, index: int, last: int) -> str:
    advice = "Use a file with the features of the model, or fit a new model."
    if request.zero_based == "auto" and request.index_base == 0 and index == last + 1:
        return (
            "They count from 0 in the file that the model was trained on; if they count from 1 "
            f"here, say so (zero_based=False; --one-based). Otherwise: {advice}"
        )
    return advice


def _number(field: bytes) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None
