"""Read data files: LIBSVM, CSV, TSV, Parquet and NPZ.

>>> from widemargin.data.formats import read
>>> table = read("train.svm")                                   # doctest: +SKIP
>>> test = read("test.svm", n_features=table.X.shape[1])        # doctest: +SKIP

Whatever is wrong with a file is reported as a `DataFileError` that names the file, the line where
there is one, what was expected, what was found, and what to do.
"""

from widemargin.data.formats.reading import FORMATS, read
from widemargin.data.formats.table import DataFileError, Table

__all__ = ["FORMATS", "DataFileError", "Table", "read"]
