"""Benchmark data from the folder that WIDEMARGIN_DATA names.

A set NAME is NAME.npz or a LIBSVM file NAME with an optional NAME.t. The keys of an .npz are ``X``
and ``y``; or the CSR parts ``data, indices, indptr, shape`` and ``y``; or ``num, cat, card`` and
``y``, numeric columns beside columns of category codes, ``card`` categories each, which are read as
indicators. The same keys with ``_test`` are a published test split.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file


@dataclass
class DataSet:
    """Training and test rows; the test part is empty where none is published."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray | None


def folder() -> Path:
    """Return the data folder, or say how to set it."""
    where = os.environ.get("WIDEMARGIN_DATA")
    if not where or not Path(where).is_dir():
        raise SystemExit(
            "Set WIDEMARGIN_DATA to a folder of NAME.npz or LIBSVM files "
            f"(see benchmarks/datasets.py); got {where!r}."
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
