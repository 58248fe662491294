"""The data sets with their C and gamma, and the rows that are used of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler

from benchmarks.datasets import load

QUICK_ROWS = 2_000
DENSE, CSR = "dense", "csr"


@dataclass(frozen=True)
class Case:
    """A training problem.

    Attributes
    ----------
    source : str
        Data set in the folder.
    C, gamma : float
        Weight of a row, width of the RBF kernel.
    title : str
        Name in the tables.
    labels : tuple of int, optional
        The classes that are kept; all, if not given.
    test_rows, rows : int, optional
        For sets without a published test part: how many rows of one seeded permutation are tested
        on, and how many of those that follow are trained on (all of them, if not given).
    scaled : bool
        Whether features are scaled to [0, 1] on the training rows.
    formats : tuple of str
        Forms of the rows that are tried; whoever takes both gets the one it is faster with.
    first_tol : mapping of str to float
        The ``tol`` at which the search for a peer's loosest one begins. It saves fits and does not
        change what is found.
    skipped : mapping of str to str
        Contestants that are left out, and why.
    """

    source: str
    C: float
    gamma: float
    title: str
    labels: tuple[int, ...] | None = None
    test_rows: int | None = None
    rows: int | None = None
    scaled: bool = True
    formats: tuple[str, ...] = (DENSE,)
    multi_class: bool = False
    first_tol: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)


def _first(tol: float, tol_at_one: float | None = None) -> dict[str, float]:
    """Begin at these tols, the second one with C = 1; both peers have the same stopping rule."""
    return {"svc": tol, "intelex": tol, "intelex_C1": tol if tol_at_one is None else tol_at_one}


COVTYPE: dict[str, Any] = {"source": "covtype_binary", "C": 32.0, "gamma": 32.0}
COVTYPE |= {"test_rows": 50_000, "first_tol": _first(1e-4, 3e-3)}
SPARSE = (DENSE, CSR)
CASES = {
    "ijcnn1": Case("ijcnn1", 32.0, 2.0, "ijcnn1", scaled=False, first_tol=_first(3e-3, 3e-2)),
    "cod-rna": Case("cod-rna", 32.0, 8.0, "cod-rna", test_rows=11_907, first_tol=_first(3e-2)),
    "a9a": Case("a9a", 1.0, 0.05, "a9a", formats=SPARSE, first_tol=_first(3e-2)),
    "covtype_20k": Case(**COVTYPE, title="covtype, 20,000 rows", rows=20_000),
    "covtype_50k": Case(
        **COVTYPE,
        title="covtype, 50,000 rows",
        rows=50_000,
        skipped={"svc": "it takes minutes for each tol"},
    ),
    "mnist_3_8": Case(
        *("mnist", 8.0, 0.02, "mnist, 3 or 8"),
        labels=(3, 8),
        formats=SPARSE,
        first_tol=_first(3e-4, 3e-3),
    ),
    "letter": Case(
        *("letter", 8.0, 8.0, "letter (26 classes)"),
        multi_class=True,
        first_tol=_first(1e-4, 1e-3),
    ),
}


@dataclass(frozen=True)
class Rows:
    """Training and test rows, dense float32."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def rows_of(case: Case, quick: bool = False) -> Rows:
    """Read, split and scale the rows of a case."""
    data = load(case.source)
    if data.y_test is None:
        train, test = _split(case, len(data.y))
        parts = [data.X[train], data.y[train], data.X[test], data.y[test]]
    else:
        parts = [data.X, data.y, data.X_test, data.y_test]
    X, y, X_test, y_test = parts
    X, y = _chosen(X, y, case.labels, quick)
    X_test, y_test = _chosen(X_test, y_test, case.labels, quick)
    if case.scaled:
        scaler = MinMaxScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Rows(_float32(X), y, _float32(X_test), y_test)


def _split(case: Case, count: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(0).permutation(count)
    test, rest = order[: case.test_rows], order[case.test_rows :]
    return rest[: case.rows], test


def _chosen(
    X: Any, y: np.ndarray, labels: tuple[int, ...] | None, quick: bool
) -> tuple[np.ndarray, np.ndarray]:
    kept = np.arange(len(y)) if labels is None else np.flatnonzero(np.isin(y, labels))
    if quick and len(kept) > QUICK_ROWS:
        kept = np.random.default_rng(0).choice(kept, QUICK_ROWS, replace=False)
    X = X[kept]
    return (X.toarray() if sp.issparse(X) else X), y[kept]


def _float32(X: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(X, dtype=np.float32)


def save(rows: Rows, folder: Path) -> None:
    """Put the rows where :func:`saved` finds them."""
    for name, array in vars(rows).items():
        np.save(folder / f"{name}.npy", array)


def saved(folder: Path, form: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return the rows that were put into a folder, dense or as CSR."""
    X, y, X_test, y_test = (
        np.load(folder / f"{name}.npy") for name in ("X", "y", "X_test", "y_test")
    )
    if form == CSR:
        return sp.csr_matrix(X), y, sp.csr_matrix(X_test), y_test
    return X, y, X_test, y_test
