"""Data files, and rows bigger than memory.

>>> from widemargin.data import read, spool
>>> table = read("train.svm")                                   # doctest: +SKIP
>>> test = read("test.svm", n_features=table.X.shape[1])        # doctest: +SKIP
>>> with spool("train.svm", classes=[-1, 1]) as rows:           # doctest: +SKIP
...     print(rows.n_rows, rows.n_features)
"""

from typing import TYPE_CHECKING, Any

from .formats import FORMATS, CellError, DataFileError, Table, read, read_frame

if TYPE_CHECKING:
    from .spooled_rows import SpooledRows
    from .spooling import spool

__all__ = [
    "FORMATS",
    "CellError",
    "DataFileError",
    "SpooledRows",
    "Table",
    "read",
    "read_frame",
    "spool",
]


def __getattr__(name: str) -> Any:
    # Readers of most formats do without SciPy, which takes longer to import than all of them.
    if name in ("SpooledRows", "spool"):
        from . import spooling

        return getattr(spooling, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
