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

from .blocks import Block, Origin, Request
from .delimited_layout import DelimitedLayout, label_fault
from .streams import open_stream

# pyarrow reads up to 32 pieces of text ahead.
_PIECES_AHEAD = 32
_SMALLEST_PIECE = 1 << 16

# References to a stream inside its own method: the caller's, `self`, and the argument of the count.
_OWN_REFERENCES = 3
_LONGEST_WAIT = 1.0


class _NulFound(Exception):
    """A NUL byte, which pyarrow would read differently from the standard library."""


class _WithoutNul(io.RawIOBase):
    """A stream that raises `_NulFound` at a NUL byte."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        if b"\0" in data:
            raise _NulFound
        return data

    def wait_until_released(self) -> None:
        """Wait until the threads of pyarrow have dropped their references to this stream.

        A thread that does so while Python shuts down would abort the process.
        """
        end = time.monotonic() + _LONGEST_WAIT
        while sys.getrefcount(self) > _OWN_REFERENCES and time.monotonic() < end:
            time.sleep(0.001)


def arrow_blocks(request: Request, layout: DelimitedLayout) -> Iterator[Block | None]:
    """Yield the rows after the header; None, and nothing after it, if the next rows are faulty."""
    with open_stream(request.path) as stream:
        source = _WithoutNul(stream)
        tables = _tables(source, layout, request.block_bytes)
        try:
            for table in tables:
                block = _converted(request, layout, table, stream) if table.num_rows else None
                if block is not None:
                    yield block
                elif table.num_rows:
                    break
            else:
                return
        except (pyarrow.ArrowInvalid, _NulFound):
            pass
        finally:
            del tables  # With it goes the reader, which reads ahead.
            source.wait_until_released()
    yield None


def _tables(source: _WithoutNul, layout: DelimitedLayout, block_bytes: int | None) -> Iterator[Any]:
    if block_bytes is None:
        yield pyarrow.csv.read_csv(source, **_options(layout, None))
        return
    piece_bytes = max(block_bytes // _PIECES_AHEAD, _SMALLEST_PIECE)
    for batch in pyarrow.csv.open_csv(source, **_options(layout, piece_bytes)):
        yield pyarrow.Table.from_batches([batch])


def _options(layout: DelimitedLayout, piece_bytes: int | None) -> dict[str, Any]:
    types = dict.fromkeys(map(str, layout.columns.features), pyarrow.float64())
    if layout.columns.label is not None:
        types[str(layout.columns.label)] = pyarrow.string()
    return {
        "read_options": pyarrow.csv.ReadOptions(
            column_names=[str(i) for i in range(layout.width)],
            skip_rows_after_names=layout.rows_before_data,
            block_size=piece_bytes,
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


def _converted(
    request: Request, layout: DelimitedLayout, table: Any, stream: BinaryIO
) -> Block | None:
    """Return the rows of a table, or None if they contain a fault."""
    features, label = layout.columns.features, layout.columns.label
    X = np.empty((table.num_rows, len(features)), dtype=request.text_dtype)
    with np.errstate(over="ignore"):  # Too large for float32: found just below.
        for position, column in enumerate(features):
            X[:, position] = table[str(column)].to_numpy()
    if not (X.size and np.isfinite(X).all()):
        return None
    texts = codes = None
    if label is not None:
        encoded = table[str(label)].combine_chunks().dictionary_encode()
        texts = [text.strip() for text in encoded.dictionary.to_pylist()]
        if any(label_fault(text) for text in texts):
            return None
        codes = encoded.indices.to_numpy()
    return Block(X, texts, codes, Origin(request.path), done_bytes=stream.tell())
