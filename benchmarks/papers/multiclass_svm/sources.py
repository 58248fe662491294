"""Data sets of the multi-class tables: which split, which scaling.

[MC] scales iris and news20 to rows of unit length, letter and satimage to features of unit
variance, and leaves the others as they are. Its files are those that LIBSVM publishes, in which the
features of glass, iris, letter and satimage are in [-1, 1]: unit variance is then without a shift
of the origin. glass and iris are the authors' own files, which are split and scaled. Other sets
without a test part are split at random, 90/10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from benchmarks.race.data import TF_IDF as TF_IDF
from benchmarks.race.data import UNIT_LENGTH as UNIT_LENGTH
from benchmarks.race.data import UNIT_VARIANCE as UNIT_VARIANCE
from benchmarks.race.data import DataSet, folder, load
from benchmarks.race.generated import TOPIC_ROWS, TOPIC_TEST_ROWS, topics

QUICK_ROWS, QUICK_CLASSES = 300, 12
NONE = "none"


@dataclass(frozen=True)
class Source:
    """A data set as the tables use it.

    Attributes
    ----------
    name : str
        Data set in the folder.
    scaling : str
        What is done to the features.
    published : str or None
        Its name in the paper's table.
    remark : str
        What differs from the paper's set.
    classes : int or None
        Number of classes of a generated set.
    rows, test_rows : int
        Size of a generated set.
    to_range : bool
        Scale to [-1, 1] first, as in the file that LIBSVM publishes.
    authors : str or None
        The authors' own files, in the folder ``authors_splits``, without their endings.
    """

    name: str
    scaling: str = NONE
    published: str | None = None
    remark: str = ""
    classes: int | None = None
    rows: int = TOPIC_ROWS
    test_rows: int = TOPIC_TEST_ROWS
    to_range: bool = False
    authors: str | None = None


@cache
def whole(source: Source) -> DataSet:
    """Read a set as it is, or generate it."""
    if source.classes is not None:
        return topics(source.classes, source.rows, source.test_rows)
    if source.authors is not None:
        return authors_split(source.authors)
    data = load(source.name)
    if not source.to_range:
        return data
    unit = MinMaxScaler((-1.0, 1.0)).fit(data.X)
    X_test = None if data.y_test is None else unit.transform(data.X_test)
    return DataSet(unit.transform(data.X), data.y, X_test, data.y_test)


def authors_split(name: str) -> DataSet:
    """Read the training and test rows that the paper's authors used."""
    path = folder() / "authors_splits" / name
    if not Path(f"{path}.train.libsvm").exists():
        raise SystemExit(f"{path}.train.libsvm does not exist.")
    X, y = load_svmlight_file(f"{path}.train.libsvm")
    X_test, y_test = load_svmlight_file(f"{path}.test.libsvm", n_features=X.shape[1])
    return DataSet(X, y.astype(int), X_test, y_test.astype(int))


def has_test_part(source: Source) -> bool:
    """Whether there is a published test part, hence one split only."""
    return whole(source).y_test is not None


def split_of(source: Source, number: int, quick: bool = False) -> DataSet:
    """Return the published split, or the random one of a number; classes are numbered from 0."""
    data = whole(source)
    if data.y_test is None:
        train, test = train_test_split(np.arange(len(data.y)), test_size=0.1, random_state=number)
        data = DataSet(data.X[train], data.y[train], data.X[test], data.y[test])
    if quick:
        data = data.few(QUICK_ROWS, QUICK_CLASSES)
    labels = np.unique(data.y)
    known = np.searchsorted(labels, data.y_test).clip(max=len(labels) - 1)
    # A class without training rows cannot be predicted: its rows count as errors.
    codes = np.where(labels[known] == data.y_test, known, -1)
    y = np.searchsorted(labels, data.y)
    return DataSet(data.X, y, data.X_test, codes).scaled(source.scaling)
