"""Rows bigger than memory: spooled to disk once, then read by solvers as often as they need.

>>> from widemargin.data.spool import spool
>>> with spool("train.svm", classes=[-1, 1]) as rows:                    # doctest: +SKIP
...     print(rows.n_rows, rows.n_features)
"""

from .spooled_rows import SpooledRows
from .spooling import spool

__all__ = ["SpooledRows", "spool"]
