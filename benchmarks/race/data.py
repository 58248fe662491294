"""Data sets from the folder that WIDEMARGIN_DATA names, splits, scalings and forms of rows.

A set NAME is NAME.npz or a LIBSVM file NAME with an optional NAME.t. The keys of an .npz are ``X``
and ``y``; or the CSR parts ``data, indices, indptr, shape`` and ``y``; or ``num, cat, card`` and
``y``: numeric columns beside columns of category codes, with ``card`` categories each, which are
read as indicators. The same keys with ``_test`` are a published test part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)

DENSE, CSR = "dense", "csr"
AS_PUBLISHED, UNIT, MAX_ABS, TF_IDF = "as published", "[0, 1]", "÷ maximum", "tf-idf, unit length"
UNIT_LENGTH, UNIT_VARIANCE, BYTES = "unit length", "unit variance", "÷ 255"
# Each is fitted on training rows; the others leave rows as they are.
SCALERS: dict[str, Callable[[], Any]] = {
    UNIT: MinMaxScaler,
    MAX_ABS: MaxAbsScaler,
    TF_IDF: TfidfTransformer,
    UNIT_LENGTH: Normalizer,
    UNIT_VARIANCE: partial(StandardScaler, with_mean=False),
    BYTES: partial(FunctionTransformer, partial(np.multiply, 1 / 255)),
}
# [SODM] draws its test rows at random, also from sets that have a published test part.
POOLED = ("svmguide1", "ijcnn1")


@dataclass
class DataSet:
    """Training and test rows; the test part is None where there is none."""

    X: Any
    y: np.ndarray
    X_test: Any = None
    y_test: Any = None

    def scaled(self, scaling: str) -> DataSet:
        """Return rows scaled by what the training rows say, float32."""
        parts = [self.X, self.X_test]
        if scaling in SCALERS:
            scaler = SCALERS[scaling]().fit(self.X)
            parts = [None if each is None else scaler.transform(each) for each in parts]
        X, X_test = (None if each is None else each.astype(np.float32) for each in parts)
        return DataSet(X, self.y, X_test, self.y_test)

    def few(self, rows: int, classes: int | None = None) -> DataSet:
        """Return at most ``rows`` rows of each part, of the first ``classes`` classes only."""
        labels = np.unique(self.y)[:classes]
        X, y = _drawn(self.X, self.y, labels, rows)
        if self.y_test is None:
            return DataSet(X, y)
        return DataSet(X, y, *_drawn(self.X_test, self.y_test, labels, rows))

    def save(self, folder: Path) -> None:
        """Put the rows where :func:`saved` finds them."""
        for part, X, y in (("", self.X, self.y), ("_test", self.X_test, self.y_test)):
            if y is not None:
                np.save(folder / f"y{part}.npy", y)
                if sp.issparse(X):
                    sp.save_npz(folder / f"X{part}.npz", sp.csr_matrix(X), compressed=False)
                else:
                    np.save(folder / f"X{part}.npy", X)


def saved(folder: Path, form: str) -> DataSet:
    """Return the rows in a folder, dense or as CSR with 32-bit indices."""
    X, y = _saved_part(folder, "", form)
    return DataSet(X, y, *_saved_part(folder, "_test", form))


def _saved_part(folder: Path, part: str, form: str) -> tuple[Any, Any]:
    if not (folder / f"y{part}.npy").exists():
        return None, None
    y, dense = np.load(folder / f"y{part}.npy"), folder / f"X{part}.npy"
    X = np.load(dense) if dense.exists() else sp.load_npz(folder / f"X{part}.npz")
    if form == DENSE:
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X), y
    X = sp.csr_matrix(X)
    arrays = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(arrays, shape=X.shape), y


def _drawn(X: Any, y: np.ndarray, labels: np.ndarray, rows: int) -> tuple[Any, np.ndarray]:
    among = np.flatnonzero(np.isin(y, labels))
    chosen = np.random.default_rng(0).permutation(among)[:rows]
    return X[chosen], y[chosen]


def folder() -> Path:
    """Return the data folder, or say how to set it."""
    where = os.environ.get("WIDEMARGIN_DATA")
    if not where or not Path(where).is_dir():
        raise SystemExit(
            "Set WIDEMARGIN_DATA to a folder of NAME.npz or LIBSVM files "
            f"(see benchmarks/race/data.py); got {where!r}."
        )
    return Path(where)


def load(name: str) -> DataSet:
    """Read a data set by name, float32."""
    packed = folder() / f"{name}.npz"
    if packed.exists():
        with np.load(packed, allow_pickle=False) as parts:
            X, X_test = _part(parts, ""), _part(parts, "_test")
            y_test = parts["y_test"].astype(int) if "y_test" in parts.files else None
            return DataSet(X, parts["y"].astype(int), X_test, y_test)
    text = folder() / name
    if not text.exists():
        raise SystemExit(f"Neither {packed} nor {text} exists.")
    X, y = load_svmlight_file(str(text), dtype=np.float32)
    if not Path(f"{text}.t").exists():
        return DataSet(X, y.astype(int), None, None)
    X_test, y_test = load_svmlight_file(f"{text}.t", n_features=X.shape[1], dtype=np.float32)
    return DataSet(X, y.astype(int), X_test, y_test.astype(int))


def _part(parts: Any, suffix: str) -> Any:
    if f"X{suffix}" in parts.files:
        return parts[f"X{suffix}"].astype(np.float32)
    if f"data{suffix}" in parts.files:
        arrays = tuple(parts[f"{key}{suffix}"] for key in ("data", "indices", "indptr"))
        return sp.csr_matrix(arrays, shape=tuple(parts[f"shape{suffix}"])).astype(np.float32)
    if f"num{suffix}" in parts.files:
        indicators = _indicators(parts[f"cat{suffix}"], parts["card"])
        numeric = sp.csr_matrix(parts[f"num{suffix}"].astype(np.float32))
        return sp.hstack([numeric, indicators], format="csr")
    return None


def _indicators(codes: np.ndarray, categories: np.ndarray) -> sp.csr_matrix:
    """Give each category of each column a column of its own."""
    rows, columns = codes.shape
    first = np.concatenate([[0], np.cumsum(categories)[:-1]])
    ones = np.ones(rows * columns, dtype=np.float32)
    starts = np.arange(0, rows * columns + 1, columns)
    shape = (rows, int(categories.sum()))
    return sp.csr_matrix((ones, (codes + first).ravel(), starts), shape=shape)


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
    """Yield name, number and rows of every split; all sets have a first before one has a second.

    The rows are read when first needed.
    """
    for number in range(splits):
        for name in names:
            yield name, number, cache(partial(whole_set, name, quick_rows))


def random_split(X: Any, y: np.ndarray, number: int) -> DataSet:
    """Draw the split of a number: 80 % to train on, 20 % to test on."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=number)
    return _scaled(X[train], y[train], X[test], y[test])


def published_split(data: DataSet, quick_rows: int | None = None) -> DataSet:
    """Return the published training and test part, with the scaling of the published file.

    [DC] says that features are scaled to [0, 1], but its figures for ijcnn1 are those of the
    file as it is: SVC with the printed C and gamma gives .9870 on it, and .9710 once scaled.
    """
    assert data.y_test is not None
    train, test = _some(len(data.y), quick_rows), _some(len(data.y_test), quick_rows)
    return DataSet(data.X[train], data.y[train], data.X_test[test], data.y_test[test])


def _some(rows: int, at_most: int | None) -> np.ndarray:
    if at_most is None or rows <= at_most:
        return np.arange(rows)
    return np.random.default_rng(0).choice(rows, at_most, replace=False)


def _scaled(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> DataSet:
    low, high = _dense(X.min(axis=0)), _dense(X.max(axis=0))
    factor = 1.0 / np.where(high > low, high - low, 1.0).astype(np.float32)
    if sp.issparse(X):  # without the shift, which the RBF kernel does not see
        scale = sp.diags(factor)
        return DataSet((X @ scale).tocsr(), y, (X_test @ scale).tocsr(), y_test)
    return DataSet((X - low) * factor, y, (X_test - low) * factor, y_test)


def _dense(row: Any) -> np.ndarray:
    return np.ravel(row.toarray() if sp.issparse(row) else row)
