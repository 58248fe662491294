"""CSV and TSV files, some rows at a time.

As when a whole file is read, pyarrow reads if it is installed, and the standard library takes over
at the first block that pyarrow cannot read, to name the line or to accept it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..formats.delimited.layout import Layout, examine
from ..formats.delimited.standard import Contents, blocks_with_standard_library
from ..formats.table import Request
from .blocks import Block, BlockSource, Place
from .file_sizes import size_if_plain

__all__ = ["delimited_source"]

# pyarrow reads up to 32 pieces of text ahead.
_PIECES_AHEAD = 32
_SMALLEST_PIECE = 1 << 16


def delimited_source(request: Request, delimiter: str | None, block_bytes: int) -> BlockSource:
    """Return the blocks of a CSV file (delimiter None: see `read`) or TSV file."""
    layout = examine(request, delimiter)
    names = layout.names
    return BlockSource(
        _blocks(request, layout, block_bytes),
        feature_names=names and tuple(names[i] for i in layout.columns.features),
        notes=list(layout.columns.notes),
    )


def _blocks(request: Request, layout: Layout, block_bytes: int) -> Iterator[Block]:
    row = 1
    total = size_if_plain(request.path)
    for contents in _contents(request, layout, block_bytes):
        texts = contents.labels
        yield Block(
            contents.X,
            np.array(texts, dtype=str) if request.text_labels else texts,
            contents.label_codes,
            Place(request.path, first_row=row),
            n_features=contents.X.shape[1],
            done_bytes=contents.position,
            total_bytes=total,
        )
        row += len(contents.X)


def _contents(request: Request, layout: Layout, block_bytes: int) -> Iterator[Contents]:
    rows = 0
    try:
        from ..formats.delimited.arrow import blocks_with_arrow
    except ImportError:
        pass
    else:
        piece_bytes = max(block_bytes // _PIECES_AHEAD, _SMALLEST_PIECE)
        for contents in blocks_with_arrow(request, layout, piece_bytes):
            if contents is None:
                break
            rows += len(contents.X)
            yield contents
        else:
            if rows:
                return
    # A parsed row takes its numbers and, for a moment, a text for each cell.
    block_rows = max(block_bytes // (16 * layout.width), 1)
    yield from blocks_with_standard_library(request, layout, block_rows=block_rows, skip=rows)
