"""LIBSVM files, some lines at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from ..formats import DataFileError
from ..formats.libsvm import check_no_label_column, parse_lines
from ..formats.libsvm_faults import raise_fault, raise_fault_of_file
from ..formats.streams import open_stream
from ..formats.table import Request, integers_if_whole
from .blocks import Block, BlockSource, Place
from .file_sizes import size_if_plain

__all__ = ["libsvm_source"]

# The shortest pair, "1:1 ", takes 4 bytes, and 16 when parsed.
_PARSED_BY_TEXT = 4


def libsvm_source(request: Request, block_bytes: int) -> BlockSource:
    """Return the blocks of a LIBSVM file."""
    check_no_label_column(request)
    notes: list[str] = []
    return BlockSource(_blocks(request, block_bytes, notes), notes=notes)


def _blocks(request: Request, block_bytes: int, notes: list[str]) -> Iterator[Block]:
    zero_based = request.zero_based is True
    line, row, position, last_index = 1, 1, 0, 0
    total = size_if_plain(request.path)
    with open_stream(request.path) as stream:
        for text in _whole_lines(stream, max(block_bytes // _PARSED_BY_TEXT, 1)):
            try:
                X, y = parse_lines(request, io.BytesIO(text))
            except (ValueError, OverflowError):
                raise_fault(request, io.BytesIO(text), first_line=line)
            if X.indices.size:
                last_index = max(last_index, int(X.indices.max()))
                if not zero_based and X.indices.min() == 0:
                    if request.zero_based is False:
                        raise_fault(request, io.BytesIO(text), first_line=line)
                    zero_based = True
            if request.n_features is not None and last_index > request.n_features - zero_based:
                # An earlier line may be at fault: only now is it known that indices count from 0.
                raise_fault_of_file(request, zero_based)
            line += text.count(b"\n")
            position += len(text)
            X.indices = X.indices.astype(np.int32, copy=False)
            labels, codes = np.unique(y, return_inverse=True)
            if not len(y):
                continue
            yield Block(
                X,
                integers_if_whole(labels),
                codes,
                Place(request.path, first_row=row),
                first_column=0 if zero_based else 1,
                n_features=request.n_features,
                done_bytes=position,
                total_bytes=total,
            )
            row += len(y)
    if row == 1:
        raise DataFileError(request.path, "the file has no rows. Was it written completely?")
    if zero_based:
        notes.append("feature indices count from 0")


def _whole_lines(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Cut a stream into pieces that end where a line ends, of about `size` bytes."""
    pieces: list[bytes] = []
    while piece := stream.read(size):
        end = piece.rfind(b"\n") + 1
        if end:
            pieces.append(piece[:end])
            yield b"".join(pieces)
            pieces = [piece[end:]]
        else:
            pieces.append(piece)  # A line longer than a block.
    if rest := b"".join(pieces):
        yield rest
