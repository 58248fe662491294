"""Scaled rows of ten sites, the same for every contestant, and the optimum of all of them.

Sets are those of the gossip pages, scaled as there: numeric features have unit variance, indicators
stay 0 and 1. *Alike*: rows are dealt out at random. *One class*: rows sorted by label are cut into
ten equal parts, so that at most one site has both classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from benchmarks.papers.gadget.sets import even_sites, skewed_sites, split_of
from widemargin import LinearSVMClassifier

SETS = ("a9a", "ijcnn1", "covtype_binary")
DIVISIONS = ("alike", "one class")
SITES = 10
# Rows of the sample of covtype, of which support vectors are a large part, and of its test rows.
SAMPLE = {"covtype_binary": 20_000}
QUICK_ROWS = 2_000
LAMS = (1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Silos:
    """Rows of sites: labels are -1 and 1, ``site`` is that of every row, dense float64."""

    X: Any
    y: np.ndarray
    site: np.ndarray
    X_test: Any
    y_test: np.ndarray
    lam: float  # weight of the regulariser beside the mean loss

    @property
    def C(self) -> float:
        """The weight of a row that means the same."""
        return 1.0 / (self.lam * len(self.y))

    def objective(self, models: np.ndarray) -> np.ndarray:
        """Return the objective of rows of weights, whose last is the intercept."""
        margins = self.y[:, None] * (self.X @ models[:, :-1].T + models[:, -1])
        loss = np.maximum(0.0, 1.0 - margins).mean(axis=0)
        return 0.5 * self.lam * np.einsum("ij,ij->i", models, models) + np.asarray(loss)

    def save(self, path: Path) -> None:
        """Write the rows for an interpreter without this library."""
        np.savez(path, **{name: getattr(self, name) for name in self.__dataclass_fields__})


def silos(name: str, division: str, quick: bool) -> Silos:
    """Return a set divided among ten sites."""
    split = split_of(name, 0, False)
    rng = np.random.default_rng(0)
    most = QUICK_ROWS if quick else SAMPLE.get(name, len(split.y))
    kept = rng.permutation(len(split.y))[:most]
    tested = rng.permutation(len(split.y_test))[:most] if quick or name in SAMPLE else slice(None)
    X, y = _dense(split.X[kept]), _signs(split.y[kept])
    X_test, y_test = _dense(split.X_test[tested]), _signs(split.y_test[tested])
    site = skewed_sites(y, SITES, 0) if division == "one class" else even_sites(len(y), SITES, 0)
    return Silos(X, y, site, X_test, y_test, _best_lam(X, y))


def optimum(rows: Silos) -> np.ndarray:
    """Return the weights of the SVM of all rows, intercept last."""
    model = LinearSVMClassifier(loss="hinge", C=rows.C, tol=1e-4, max_iter=100_000).fit(
        rows.X, rows.y
    )
    return np.append(model.coef_, model.intercept_)


def _best_lam(X: np.ndarray, y: np.ndarray) -> float:
    """Return the λ that is the most accurate on a fifth of the training rows."""
    train, held = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    scores = []
    for lam in LAMS:
        C = 1.0 / (lam * len(train))
        model = LinearSVMClassifier(loss="hinge", C=C, tol=1e-2, max_iter=100_000)
        scores.append(model.fit(X[train], y[train]).score(X[held], y[held]))
    return LAMS[int(np.argmax(scores))]


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _signs(y: np.ndarray) -> np.ndarray:
    return np.where(y == np.max(y), 1.0, -1.0)
