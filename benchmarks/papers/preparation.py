"""Data sets as the tables use them: which rows, how split, how scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from benchmarks.datasets import DataSet, load

# [SODM] draws its test rows at random, also from sets that have a published test part.
POOLED = ("svmguide1", "ijcnn1")


@dataclass(frozen=True)
class Split:
    """Training and test rows; features scaled to [0, 1] on the training rows, unless published."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def whole_set(name: str, quick_rows: int | None = None) -> tuple[Any, np.ndarray]:
    """Return the rows that [SODM] counts; at most ``quick_rows`` of them, drawn at random."""
    data = load(name)
    X, y = data.X, data.y
    if name in POOLED:
        assert data.y_test is not None
        stack = sp.vstack if sp.issparse(X) else np.vstack
        X, y = stack([X, data.X_test]), np.concatenate([y, data.y_test])
    chosen = _some(len(y), quick_rows)
    return (X.tocsr() if sp.issparse(X) else X)[chosen], y[chosen]


def splits_of(
    names: Sequence[str], splits: int, quick_rows: int | None = None
) -> Iterator[tuple[str, int, Callable[[], tuple[Any, np.ndarray]]]]:
    """Give name, number and rows of every split; all sets have a first before one has a second.

    The rows are read when they are asked for, once.
    """
    for number in range(splits):
        for name in names:
            yield name, number, cache(partial(whole_set, name, quick_rows))


def random_split(X: Any, y: np.ndarray, number: int) -> Split:
    """Draw the split of a number: 80 % to train on, 20 % to test on."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=number)
    return _scaled(X[train], y[train], X[test], y[test])


def published_split(data: DataSet, quick_rows: int | None = None) -> Split:
    """Return the published training and test part, with the scaling of the published file.

    [DC-SVM] says that features are scaled to [0, 1], but its figures for ijcnn1 are those of the
    file as it is: SVC with the printed C and gamma gives .9870 on it, and .9710 once scaled.
    """
    assert data.y_test is not None
    train, test = _some(len(data.y), quick_rows), _some(len(data.y_test), quick_rows)
    return Split(data.X[train], data.y[train], data.X_test[test], data.y_test[test])


def _some(rows: int, at_most: int | None) -> np.ndarray:
    if at_most is None or rows <= at_most:
        return np.arange(rows)
    return np.random.default_rng(0).choice(rows, at_most, replace=False)


def _scaled(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Split:
    low, high = _dense(X.min(axis=0)), _dense(X.max(axis=0))
    factor = 1.0 / np.where(high > low, high - low, 1.0).astype(np.float32)
    if sp.issparse(X):  # without the shift, which the RBF kernel does not see
        scale = sp.diags(factor)
        return Split((X @ scale).tocsr(), y, (X_test @ scale).tocsr(), y_test)
    return Split((X - low) * factor, y, (X_test - low) * factor, y_test)


def _dense(row: Any) -> np.ndarray:
    return np.ravel(row.toarray() if sp.issparse(row) else row)
