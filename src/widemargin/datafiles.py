"""The earlier name of the readers in :mod:`widemargin.data`."""

from .data import FORMATS, DataFileError, Table, read

__all__ = ["FORMATS", "DataFileError", "Table", "read"]
