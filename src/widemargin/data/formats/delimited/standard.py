"""CSV and TSV files through the standard library, which knows the line of every fault."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data.formats.delimited.layout import Layout
from widemargin.data.formats.delimited.rows import is_number, label_fault, split_rows
from widemargin.data.formats.streams import open_stream
from widemargin.data.formats.table import DataFileError, Request, excerpt

__all__ = ["Contents", "blocks_with_standard_library", "read_with_standard_library"]


class Contents(NamedTuple):
    """The features, the distinct labels as written, and each row's position among these.

    ``position`` counts the bytes of the unpacked file that had been read by then.
    """

    X: NDArray[Any]
    labels: list[str]
    label_codes: NDArray[Any]
    position: int


def read_with_standard_library(request: Request, layout: Layout) -> Contents:
    """Read the rows after the header."""
    return next(blocks_with_standard_library(request, layout))


def blocks_with_standard_library(
    request: Request, layout: Layout, *, block_rows: int | None = None, skip: int = 0
) -> Iterator[Contents]:
    """Read the rows after the header, some at a time.

    Parameters
    ----------
    request : Request
        What the caller asked for.
    layout : Layout
        What the first row says about the file.
    block_rows : int, default=None
        Rows of a block; None reads all rows as one.
    skip : int, default=0
        Rows of data to pass over. A file that ends with them gives no block.

    Yields
    ------
    Contents
        At least one row; the distinct labels are those of the block.
    """
    with open_stream(request.path) as stream:
        rows = itertools.islice(
            split_rows(request, stream, layout.delimiter), layout.rows_before_data, None
        )
        data = itertools.islice((numbered for numbered in rows if numbered[1]), skip, None)
        found = skip > 0
        while True:
            contents = _convert(request, layout, itertools.islice(data, block_rows), stream)
            if not len(contents.X):
                break
            found = True
            yield contents
    if not found:
        raise DataFileError(request.path, "the file has a header but no rows of data.")


def _convert(
    request: Request, layout: Layout, rows: Iterable[tuple[int, list[str]]], stream: BinaryIO
) -> Contents:
    features, label = layout.columns.features, layout.columns.label
    largest = float(np.finfo(request.text_dtype).max)
    values, codes = array("d"), array("q")
    known: dict[str, int] = {}
    for line, row in rows:
        if len(row) != layout.width:
            raise DataFileError(
                request.path,
                f"expected {layout.width} columns, found {len(row)}. Give every line as many cells "
                "as the first, or quote cells that hold the delimiter.",
                line,
            )
        try:
            numbers = [float(row[i]) for i in features]
            # A non-finite value makes the sum non-finite; a huge one may, and is looked at.
            suspect = not math.isfinite(sum(numbers)) or max(map(abs, numbers)) > largest
        except ValueError:
            suspect = True
        if suspect or "_" in "".join(row):
            numbers = [_feature(request, layout, line, row[i], i, largest) for i in features]
        values.extend(numbers)
        if label is not None:
            text = row[label].strip()
            fault = None if text in known else label_fault(text)
            if fault:
                raise DataFileError(request.path, fault, line)
            codes.append(known.setdefault(text, len(known)))
    X = np.frombuffer(values, dtype=np.float64).reshape(-1, len(features))
    return Contents(
        X.astype(request.text_dtype, copy=False),
        list(known),
        np.frombuffer(codes, np.int64),
        stream.tell(),
    )


def _feature(
    request: Request, layout: Layout, line: int, text: str, column: int, largest: float
) -> float:
    """Return the number in a cell, or say what is wrong with it."""
    name = layout.describe(column)
    if not text.strip():
        problem = f"{name} has no value. Impute missing values or remove the row."
    elif not is_number(text):
        problem = (
            f"expected a number in {name}, found {excerpt(text)}. Code text features as numbers "
            "first, or name the label column if this is the label."
        )
    elif not abs(float(text)) <= largest:
        problem = (
            f"expected a finite value (as {request.text_dtype}) in {name}, found {excerpt(text)}. "
            "Impute missing values or remove the row."
        )
    else:
        return float(text)
    raise DataFileError(request.path, problem, line)
