"""Data files: LIBSVM, CSV, TSV, Parquet and NPZ, each with one reader that yields blocks of rows.

Reading a whole file is asking for one block. A fault is reported as a `DataFileError` that names
the file, the line where there is one, what was expected, what was found, and what to do.
"""

from .blocks import CellError, DataFileError, Table
from .frames import read_frame
from .reading import FORMATS, read

__all__ = ["FORMATS", "CellError", "DataFileError", "Table", "read", "read_frame"]
