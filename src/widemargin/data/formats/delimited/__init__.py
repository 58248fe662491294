"""CSV and TSV files.

pyarrow reads them if it is installed; the standard library reads them otherwise, and again after
any failure of pyarrow, because it knows the line. Both give the same table: whatever pyarrow
accepts, the standard library accepts with the same values (the tests compare them).
"""

from __future__ import annotations

import numpy as np

from widemargin.data.formats.delimited.layout import examine
from widemargin.data.formats.delimited.standard import Contents, read_with_standard_library
from widemargin.data.formats.table import Request, Table, numbers_or_text

__all__ = ["read_csv", "read_tsv"]


def read_csv(request: Request) -> Table:
    """Read a file with commas; with semicolons or tabs if the first line has no comma."""
    return _read(request, delimiter=None)


def read_tsv(request: Request) -> Table:
    """Read a file with tabs."""
    return _read(request, delimiter="\t")


def _read(request: Request, delimiter: str | None) -> Table:
    layout = examine(request, delimiter)
    contents: Contents | None = None
    try:
        from widemargin.data.formats.delimited.arrow import read_with_arrow
    except ImportError:
        pass
    else:
        contents = read_with_arrow(request, layout)
    if contents is None:
        contents = read_with_standard_library(request, layout)
    y = None
    if layout.columns.label is not None:
        texts = contents.labels
        distinct = np.array(texts, dtype=str) if request.text_labels else numbers_or_text(texts)
        y = distinct[contents.label_codes]
    names = layout.names
    return Table(
        X=contents.X,
        y=y,
        feature_names=names and tuple(names[i] for i in layout.columns.features),
        notes=layout.columns.notes,
    )
