"""CSV and TSV files.

pyarrow reads them if it is installed. The standard library reads them otherwise, and takes over
from pyarrow at the first block with a fault, to name the line or to accept what pyarrow is too
strict about. Both give the same rows: the tests compare them.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ...core.missing_marks import lowered
from .blocks import IMPUTE, Block, BlockSource, Origin, Request, excerpt
from .delimited_layout import DelimitedLayout, examine, is_number, label_fault, split_rows
from .streams import open_stream, size_if_plain


def delimited_source(request: Request, delimiter: str | None = None) -> BlockSource:
    """Return the blocks of a file; without a `delimiter`, its first line shows it."""
    layout = examine(request, delimiter)
    blocks, notes = _blocks(request, layout), list(layout.columns.notes)
    return BlockSource(blocks, feature_names=layout.feature_names, notes=notes)


def _blocks(request: Request, layout: DelimitedLayout) -> Iterator[Block]:
    row = 1
    total = size_if_plain(request.path)
    for block in _read_blocks(request, layout):
        labels = block.labels
        if request.text_labels and labels is not None:
            labels = np.array(labels, dtype=str)
        yield replace(
            block,
            labels=labels,
            origin=Origin(request.path, first_row=row),
            n_features=block.X.shape[1],
            total_bytes=total,
        )
        row += len(block.X)


def _read_blocks(request: Request, layout: DelimitedLayout) -> Iterator[Block]:
    rows = 0
    try:
        from .delimited_arrow import arrow_blocks
    except ImportError:
        pass
    else:
        for block in arrow_blocks(request, layout):
            if block is None:
                break
            rows += len(block.X)
            yield block
        else:
            if rows:
                return
    yield from _standard_blocks(request, layout, skip=rows)


def _standard_blocks(request: Request, layout: DelimitedLayout, skip: int) -> Iterator[Block]:
    """Read the rows after the header and `skip` rows of data with the standard library."""
    block_rows = None
    if request.block_bytes is not None:
        # A parsed row takes its numbers and, for a moment, a text for each cell.
        block_rows = max(request.block_bytes // (16 * layout.width), 1)
    found = skip > 0
    with open_stream(request.path) as stream:
        rows = itertools.islice(
            split_rows(request, stream, layout.delimiter), layout.rows_before_data, None
        )
        data = itertools.islice((numbered for numbered in rows if numbered[1]), skip, None)
        while True:
            block = _parsed(request, layout, itertools.islice(data, block_rows))
            if not len(block.X):
                break
            found = True
            yield replace(block, done_bytes=stream.tell())
    if not found:
        raise request.error("the file has a header but no rows of data. Was it written completely?")


def _parsed(
    request: Request, layout: DelimitedLayout, rows: Iterable[tuple[int, list[str]]]
) -> Block:
    features, label = layout.columns.features, layout.columns.label
    largest = float(np.finfo(request.text_dtype).max)
    values, codes = array("d"), array("q")
    known: dict[str, int] = {}
    for line, row in rows:
        if len(row) != layout.width:
            raise request.error(
                f"expected {layout.width} columns, found {len(row)}. Give every line as many cells "
                "as the first, or quote cells that hold the delimiter.",
                line,
            )
        try:
            numbers = [float(row[i]) for i in features]
            # A non-finite value makes the sum non-finite; a huge one may, and is examined.
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
                raise request.error(fault, line)
            codes.append(known.setdefault(text, len(known)))
    X = np.frombuffer(values, dtype=np.float64).reshape(-1, len(features))
    return Block(
        X.astype(request.text_dtype, copy=False),
        None if label is None else list(known),
        None if label is None else np.frombuffer(codes, np.int64),
        Origin(request.path),
    )


def _feature(
    request: Request, layout: DelimitedLayout, line: int, text: str, column: int, largest: float
) -> float:
    """Return the number in a cell, or raise a `DataFileError` that says what is wrong with it."""
    name = layout.describe(column)
    if not text.strip():
        problem = f"{name} has no value. {IMPUTE}"
    elif text.strip().lower() in lowered() and not is_number(text):
        problem = f"{name} has a missing value, {excerpt(text)}. {IMPUTE}"
    elif not is_number(text):
        problem = (
            f"expected a number in {name}, found {excerpt(text)}. Code text features as numbers "
            "first (widemargin.TablePreprocessor does), or name the label column if this is the "
            "label."
        )
    elif not abs(float(text)) <= largest:
        problem = (
            f"expected a finite value (as {request.text_dtype}) in {name}, found {excerpt(text)}. "
            f"{IMPUTE}"
        )
    else:
        return float(text)
    raise request.cell_error(problem, line)
