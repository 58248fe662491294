"""The data sets: which class against which, how scaled, in which forms of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from benchmarks.datasets import load

from . import generated

QUICK_ROWS = 3_000
DENSE, CSR = "dense", "csr"
AS_PUBLISHED, UNIT, MAX_ABS, TF_IDF = "as published", "[0, 1]", "÷ maximum", "tf-idf, unit length"
SCALERS = {UNIT: MinMaxScaler, MAX_ABS: MaxAbsScaler, TF_IDF: TfidfTransformer}


@dataclass(frozen=True)
class Case:
    """A binary problem; all training rows of a set, with C = 1.

    Attributes
    ----------
    title : str
        Name in the tables.
    source : str or None
        Data set in the folder; None for the generated one.
    classes : str
        What is told apart.
    positive : tuple of int
        Labels of the positive class.
    scaling : str
        What is done to the features.
    forms : tuple of str
        Forms of the rows that are tried; whoever takes both gets the one it is faster with.
    """

    title: str
    source: str | None
    classes: str
    positive: tuple[int, ...] = (1,)
    scaling: str = AS_PUBLISHED
    forms: tuple[str, ...] = (CSR,)


BOTH = (DENSE, CSR)
COMP = (1, 2, 3, 4, 5)  # comp.graphics to comp.windows.x
NORMAL = (16,)
CASES = {
    "a9a": Case("a9a", "a9a", "published"),
    "cod-rna": Case("cod-rna", "cod-rna", "published", scaling=UNIT, forms=(DENSE,)),
    "ijcnn1": Case("ijcnn1", "ijcnn1", "published", forms=BOTH),
    "covtype": Case("covtype", "covtype_binary", "2 or not", (2,), UNIT, BOTH),
    "news20": Case("news20 by date", "news20_bydate", "comp.* or not", COMP, TF_IDF),
    "census": Case("census", "census_income", "published", scaling=MAX_ABS),
    "kddcup99": Case("KDD Cup 1999", "kddcup99", "normal or attack", NORMAL, MAX_ABS),
    "generated": Case("generated", None, "linear rule", scaling="unit length"),
}


def rows_of(case: Case, quick: bool = False) -> tuple[Any, np.ndarray]:
    """Read and scale the rows: float32, labels ±1."""
    if case.source is None:
        return generated.generate(QUICK_ROWS, QUICK_ROWS) if quick else generated.generate()
    data = load(case.source)
    X, y = data.X, np.where(np.isin(data.y, case.positive), 1, -1)
    if quick and len(y) > QUICK_ROWS:
        chosen = np.random.default_rng(0).choice(len(y), QUICK_ROWS, replace=False)
        X, y = X[chosen], y[chosen]
    if case.scaling in SCALERS:
        X = SCALERS[case.scaling]().fit_transform(X)
    return X.astype(np.float32), y


def save(X: Any, y: np.ndarray, folder: Path) -> None:
    """Put the rows where :func:`saved` finds them."""
    np.save(folder / "y.npy", y)
    sp.save_npz(folder / "X.npz", sp.csr_matrix(X), compressed=False)


def saved(folder: Path, form: str) -> tuple[Any, np.ndarray]:
    """Return the rows that were put into a folder, dense or as CSR with 32-bit indices."""
    X, y = sp.load_npz(folder / "X.npz"), np.load(folder / "y.npy")
    if form == DENSE:
        return np.ascontiguousarray(X.toarray()), y
    arrays = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(arrays, shape=X.shape), y
