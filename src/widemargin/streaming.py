"""The earlier name of `spool` in :mod:`widemargin.data`."""

from .data import SpooledRows, spool

__all__ = ["SpooledRows", "spool"]
