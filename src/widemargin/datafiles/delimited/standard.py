"""CSV and TSV files through the standard library, which knows the line of every fault."""

from __future__ import annotations

import itertools
import math
from array import array
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.datafiles.delimited.layout import Layout
from widemargin.datafiles.delimited.rows import is_number, label_fault, split_rows
from widemargin.datafiles.streams import open_stream
from widemargin.datafiles.table import DataFileError, Request, excerpt

__all__ = ["Contents", "read_with_standard_library"]


class Contents(NamedTuple):
    """The features, the distinct labels as written, and each row's position among these."""

    X: NDArray[Any]
    labels: list[str]
    label_codes: NDArray[Any]


def read_with_standard_library(request: Request, layout: Layout) -> Contents:
    """Read the rows after the header."""
    features, label = layout.columns.features, layout.columns.label
    largest = float(np.finfo(request.text_dtype).max)
    values, codes = array("d"), array("q")
    known: dict[str, int] = {}
    with open_stream(request.path) as stream:
        rows = split_rows(request, stream, layout.delimiter)
        for line, row in itertools.islice(rows, layout.rows_before_data, None):
            if not row:
                continue
            if len(row) != layout.width:
                raise DataFileError(
                    request.path, f"expected {layout.width} columns, found {len(row)}.", line
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
    if not values:
        raise DataFileError(request.path, "the file has a header but no rows of data.")
    X = np.frombuffer(values, dtype=np.float64).reshape(-1, len(features))
    return Contents(
        X.astype(request.text_dtype, copy=False), list(known), np.frombuffer(codes, np.int64)
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
