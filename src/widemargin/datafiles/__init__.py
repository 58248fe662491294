"""Read data files: LIBSVM, CSV, TSV, Parquet and NPZ.

>>> from widemargin.datafiles import read
>>> table = read("train.svm")                                   # doctest: +SKIP
>>> test = read("test.svm", n_features=table.X.shape[1])        # doctest: +SKIP

Whatever is wrong with a file is reported as a `DataFileError` that names the file, the line where
there is one, what was expected, what was found, and what to do.
"""

from widemargin.datafiles.reading import FORMATS, read
from widemargin.datafiles.table import DataFileError, Table

__all__ = ["FORMATS", "DataFileError", "Table", "read"]
