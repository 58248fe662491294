"""Data sets of the multi-class tables: which split, which scaling.

[MC] scales iris and news20 to rows of unit length, letter and satimage to features of unit
variance, and leaves the others as they are. Its files are those that LIBSVM publishes, in which the
features of glass, iris, letter and satimage are in [-1, 1]: unit variance is then without a shift
of the origin. Sets without a test part are split at random, 90/10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from benchmarks.datasets import DataSet, load
from benchmarks.generated_topics import generate

from .preparation import Split

QUICK_ROWS, QUICK_TEST_ROWS, QUICK_CLASSES = 300, 200, 12
UNIT_LENGTH, UNIT_VARIANCE, TF_IDF, NONE = "unit length", "unit variance", "tf-idf", "none"


@dataclass(frozen=True)
class Source:
    """A data set as the tables use it.

    Attributes
    ----------
    name : str
        Data set in the folder,
    classes : int or None
        or how many classes are generated.
    scaling : str
        What is done to the features.
    published : str or None
        Its name in the paper's table.
    remark : str
        What differs from the paper's set.
    to_range : bool
        Scale to [-1, 1] first, as in the file that LIBSVM publishes.
    """

    name: str
    scaling: str = NONE
    published: str | None = None
    remark: str = ""
    classes: int | None = None
    to_range: bool = False


@cache
def whole(source: Source) -> DataSet:
    """Read a set as it is, or generate it."""
    if source.classes is not None:
        return generate(source.classes)
    data = load(source.name)
    if not source.to_range:
        return data
    unit = MinMaxScaler((-1.0, 1.0)).fit(data.X)
    X_test = None if data.y_test is None else unit.transform(data.X_test)
    return DataSet(unit.transform(data.X), data.y, X_test, data.y_test)


def has_test_part(source: Source) -> bool:
    """Whether there is a published test part, hence one split only."""
    return whole(source).y_test is not None


def split_of(source: Source, number: int, quick: bool = False) -> Split:
    """Return the published split, or the random one of a number; classes are numbered from 0."""
    data = whole(source)
    if data.y_test is None:
        train, test = train_test_split(np.arange(len(data.y)), test_size=0.1, random_state=number)
        X, y, X_test, y_test = data.X[train], data.y[train], data.X[test], data.y[test]
    else:
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    if quick:
        few = np.unique(y)[:QUICK_CLASSES]
        X, y = _some(X, y, few, QUICK_ROWS)
        X_test, y_test = _some(X_test, y_test, few, QUICK_TEST_ROWS)
    labels = np.unique(y)
    known = np.searchsorted(labels, y_test).clip(max=len(labels) - 1)
    # A class without training rows cannot be predicted: its rows count as errors.
    codes = np.where(labels[known] == y_test, known, -1)
    X, X_test = _scaled(X, X_test, source.scaling)
    return Split(X, np.searchsorted(labels, y), X_test, codes)


def _some(X: Any, y: np.ndarray, labels: np.ndarray, rows: int) -> tuple[Any, np.ndarray]:
    among = np.flatnonzero(np.isin(y, labels))
    chosen = np.random.default_rng(0).permutation(among)[:rows]
    return X[chosen], y[chosen]


def _scaled(X: Any, X_test: Any, scaling: str) -> tuple[Any, Any]:
    if scaling == UNIT_LENGTH:
        X, X_test = normalize(X), normalize(X_test)
    elif scaling == UNIT_VARIANCE:
        scaler = StandardScaler(with_mean=False).fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    elif scaling == TF_IDF:
        weighting = TfidfTransformer().fit(X)
        X, X_test = weighting.transform(X), weighting.transform(X_test)
    return X.astype(np.float32), X_test.astype(np.float32)
