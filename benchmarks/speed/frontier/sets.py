"""The sets, five for kernels and three of texts: scaling, splits, validation rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from benchmarks.race.data import AS_PUBLISHED, CSR, DENSE, TF_IDF, UNIT, DataSet, load

KERNEL, TEXT = "kernel", "text"
# Rows that settings are chosen on: to train, to validate. Smaller sets keep a quarter.
CHOICE_ROWS, VALIDATION_ROWS, VALIDATION_SHARE = 12_000, 6_000, 0.25
TEST_SHARE = 0.2
QUICK_ROWS, QUICK_CLASSES = 600, 5


@dataclass(frozen=True)
class Set:
    """A data set.

    Attributes
    ----------
    title, source : str
        Name in the tables and in the folder.
    scaling : str
        Scaling of the features, fitted on the training rows.
    kind : str
        Which contestants are measured: those with kernels, or those for texts.
    gamma, C : float
        Middle of the grids of an RBF kernel's width and of the weight of a row.
    """

    title: str
    source: str
    scaling: str = UNIT
    kind: str = KERNEL
    gamma: float = 1.0
    C: float = 1.0

    @property
    def form(self) -> str:
        """Form of the rows."""
        return CSR if self.kind == TEXT else DENSE


SETS = {
    "covtype": Set("covtype", "covtype_binary", gamma=32.0, C=32.0),
    "mnist": Set("mnist", "mnist", gamma=0.02, C=10.0),
    "ijcnn1": Set("ijcnn1", "ijcnn1", AS_PUBLISHED, gamma=2.0, C=32.0),
    "cod-rna": Set("cod-rna", "cod-rna", gamma=8.0, C=32.0),
    "letter": Set("letter", "letter", gamma=8.0, C=8.0),
    "sector": Set("sector", "sector", AS_PUBLISHED, TEXT),
    "clinc150": Set("CLINC150", "clinc150", TF_IDF, TEXT),
    "news20": Set("news20 by date", "news20_bydate", TF_IDF, TEXT),
}


def rows_of(name: str, quick: bool = False) -> DataSet:
    """Read and scale training and test rows: float32, classes from 0.

    The published test part, or a fifth of the rows that is drawn with the seed 0.
    """
    chosen = SETS[name]
    data = load(chosen.source)
    if data.y_test is None:
        train, test = train_test_split(np.arange(len(data.y)), test_size=TEST_SHARE, random_state=0)
        data = DataSet(data.X[train], data.y[train], data.X[test], data.y[test])
    data = data.few(QUICK_ROWS, QUICK_CLASSES) if quick else data
    if chosen.kind == KERNEL:
        X, X_test = (X.toarray() if sp.issparse(X) else X for X in (data.X, data.X_test))
        data = DataSet(X, data.y, X_test, data.y_test)
    labels, codes = np.unique(data.y, return_inverse=True)
    known = np.isin(data.y_test, labels)
    test_part = data.X_test[known], np.searchsorted(labels, data.y_test[known])
    return DataSet(data.X, codes, *test_part).scaled(chosen.scaling)


def held_out(X: object, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw the training rows that a setting is fitted to, and those that it is judged by."""
    validation = min(VALIDATION_ROWS, int(VALIDATION_SHARE * len(y)))
    order = np.random.default_rng(1).permutation(len(y))
    fit = order[validation:][:CHOICE_ROWS]
    return _with_all_classes(fit, order, y), order[:validation]


def _with_all_classes(fit: np.ndarray, order: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Add a row of each class that the draw missed: some libraries count classes by the largest."""
    missing = np.setdiff1d(y, y[fit])
    first = [order[np.flatnonzero(y[order] == label)[0]] for label in missing]
    return np.concatenate([fit, np.array(first, dtype=fit.dtype)])
