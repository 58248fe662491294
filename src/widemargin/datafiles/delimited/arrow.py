"""CSV and TSV files through pyarrow, which parses them in native code."""

from __future__ import annotations

import io
from typing import BinaryIO

import numpy as np
import pyarrow
import pyarrow.csv

from widemargin.datafiles.delimited.layout import Layout
from widemargin.datafiles.delimited.rows import label_fault
from widemargin.datafiles.delimited.standard import Contents
from widemargin.datafiles.streams import open_stream
from widemargin.datafiles.table import Request

__all__ = ["read_with_arrow"]


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


def read_with_arrow(request: Request, layout: Layout) -> Contents | None:
    """Read the rows after the header.

    Returns
    -------
    Contents or None
        None if anything is wrong: the standard library then reads the file again, to name the line
        or to accept what pyarrow is too strict about (a leading plus sign, for one).
    """
    names = [str(i) for i in range(layout.width)]
    features = [names[i] for i in layout.columns.features]
    label = None if layout.columns.label is None else names[layout.columns.label]
    types = dict.fromkeys(features, pyarrow.float64())
    if label is not None:
        types[label] = pyarrow.string()
    try:
        with open_stream(request.path) as stream:
            table = pyarrow.csv.read_csv(
                _WithoutNul(stream),
                read_options=pyarrow.csv.ReadOptions(
                    column_names=names, skip_rows_after_names=layout.rows_before_data
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=layout.delimiter, newlines_in_values=True
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    # An empty cell or "NA" is an error to report, not a number to invent.
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
    except (pyarrow.ArrowInvalid, _NulFound):
        return None
    X = np.empty((table.num_rows, len(features)), dtype=request.text_dtype)
    with np.errstate(over="ignore"):  # Too large for float32: found just below.
        for position, name in enumerate(features):
            X[:, position] = table[name].to_numpy()
    if not (X.size and np.isfinite(X).all()):
        return None
    if label is None:
        return Contents(X, [], np.empty(0, dtype=np.int64))
    encoded = table[label].combine_chunks().dictionary_encode()
    texts = [text.strip() for text in encoded.dictionary.to_pylist()]
    if any(label_fault(text) for text in texts):
        return None
    return Contents(X, texts, encoded.indices.to_numpy())
