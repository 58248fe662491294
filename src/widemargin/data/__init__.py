"""Data files, and rows bigger than memory.

>>> from widemargin.data import read, spool
>>> table = read("train.svm")                                   # doctest: +SKIP
>>> test = read("test.svm", n_features=table.X.shape[1])        # doctest: +SKIP
>>> with spool("train.svm", classes=[-1, 1]) as rows:           # doctest: +SKIP
...     print(rows.n_rows, rows.n_features)
"""

from .formats import FORMATS, DataFileError, Table, read
from .spooling.rows import SpooledRows
from .spooling.spool import spool

__all__ = ["FORMATS", "DataFileError", "SpooledRows", "Table", "read", "spool"]
