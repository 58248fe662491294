"""CSV and TSV files through pyarrow, which parses them in native code."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow
import pyarrow.csv

from widemargin.data.formats.delimited.layout import Layout
from widemargin.data.formats.delimited.rows import label_fault
from widemargin.data.formats.delimited.standard import Contents
from widemargin.data.formats.streams import open_stream
from widemargin.data.formats.table import Request

__all__ = ["blocks_with_arrow", "read_with_arrow"]


# References to a stream that its own method sees: the caller's, `self`, and the question.
REFERENCES_HERE = 3
SECONDS_TO_LET_GO = 1.0


class _NulFound(Exception):
    """A NUL byte, which pyarrow would read in its own way."""


class _WithoutNul(io.RawIOBase):
    """A stream that refuses NUL bytes, wherever they stand."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        if b"\0" in data:
            raise _NulFound
        return data

    def wait_until_let_go(self) -> None:
        """Wait for threads of pyarrow to forget this stream, which takes them a moment.

        One that does so while Python shuts down would abort the process.
        """
        end = time.monotonic() + SECONDS_TO_LET_GO
        while sys.getrefcount(self) > REFERENCES_HERE and time.monotonic() < end:
            time.sleep(0.001)


def read_with_arrow(request: Request, layout: Layout) -> Contents | None:
    """Read the rows after the header.

    Returns
    -------
    Contents or None
        None if anything is wrong: the standard library then reads the file again, to name the line
        or to accept what pyarrow is too strict about (a leading plus sign, for one).
    """
    with open_stream(request.path) as stream:
        source = _WithoutNul(stream)
        try:
            table = pyarrow.csv.read_csv(source, **_options(layout, None))
        except (pyarrow.ArrowInvalid, _NulFound):
            table = None
        finally:  # of a fault that was handled nothing is left that would hold the stream
            source.wait_until_let_go()
        try:
            return None if table is None else _convert(request, layout, table, stream)
        except pyarrow.ArrowInvalid:
            return None


def blocks_with_arrow(
    request: Request, layout: Layout, block_bytes: int
) -> Iterator[Contents | None]:
    """Read the rows after the header, about `block_bytes` of text at a time.

    Yields
    ------
    Contents or None
        None, and nothing after it, if anything is wrong with the rows that come next.
    """
    with open_stream(request.path) as stream:
        source = _WithoutNul(stream)
        reader = None
        try:
            reader = pyarrow.csv.open_csv(source, **_options(layout, block_bytes))
            for batch in reader:
                table = pyarrow.Table.from_batches([batch])
                contents = _convert(request, layout, table, stream) if table.num_rows else None
                if contents is not None:
                    yield contents
                elif table.num_rows:
                    break
            else:
                return
        except (pyarrow.ArrowInvalid, _NulFound):
            pass
        finally:
            del reader  # it reads ahead
            source.wait_until_let_go()
    yield None


def _options(layout: Layout, block_bytes: int | None) -> dict[str, Any]:
    types = dict.fromkeys(map(str, layout.columns.features), pyarrow.float64())
    if layout.columns.label is not None:
        types[str(layout.columns.label)] = pyarrow.string()
    return {
        "read_options": pyarrow.csv.ReadOptions(
            column_names=[str(i) for i in range(layout.width)],
            skip_rows_after_names=layout.rows_before_data,
            block_size=block_bytes,
        ),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=True
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            # An empty cell or "NA" is an error to report, not a number to invent.
            null_values=[],
            strings_can_be_null=False,
        ),
    }


def _convert(request: Request, layout: Layout, table: Any, stream: BinaryIO) -> Contents | None:
    features, label = layout.columns.features, layout.columns.label
    X = np.empty((table.num_rows, len(features)), dtype=request.text_dtype)
    with np.errstate(over="ignore"):  # Too large for float32: found just below.
        for position, column in enumerate(features):
            X[:, position] = table[str(column)].to_numpy()
    if not (X.size and np.isfinite(X).all()):
        return None
    if label is None:
        return Contents(X, [], np.empty(0, dtype=np.int64), stream.tell())
    encoded = table[str(label)].combine_chunks().dictionary_encode()
    texts = [text.strip() for text in encoded.dictionary.to_pylist()]
    if any(label_fault(text) for text in texts):
        return None
    return Contents(X, texts, encoded.indices.to_numpy(), stream.tell())
