"""Data over sites, and how far each site's model is from the pooled optimum."""

import numpy as np
from sklearn.datasets import make_classification

from widemargin import GossipClassifier, LinearODMClassifier, LinearSVMClassifier

N_SITES = 8
C = 0.1


def rows(n_classes: int = 2, n_rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ten features whose classes overlap."""
    return make_classification(
        n_rows, 10, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=n_classes
    )


X, Y = rows()
# The same number of rows everywhere: drawn, or sorted by label so that most know one class only.
EVEN = np.random.default_rng(0).permutation(np.arange(len(Y)) % N_SITES)
SKEWED = np.empty(len(Y), dtype=np.int64)
SKEWED[np.argsort(Y, kind="stable")] = np.arange(len(Y)) * N_SITES // len(Y)
PLACES = {"even": EVEN, "skewed": SKEWED}


def gossip(**settings: object) -> GossipClassifier:
    """Return a classifier of eight sites."""
    return GossipClassifier(**{"n_sites": N_SITES, "C": C, "random_state": 0, **settings})


def objective(model: GossipClassifier, w: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return the objective of weights whose last is the intercept."""
    margin = np.where(y == model.classes_[1], 1.0, -1.0) * (X @ w[:-1] + w[-1])
    terms = model._loss().terms(np.full(len(y), float(model.C)))
    return 0.5 * float(w @ w) + float(terms.primal(margin).sum())


def pooled(loss: str, X: np.ndarray, y: np.ndarray, **settings: object) -> LinearSVMClassifier:
    """Return the classifier that has all rows in one place."""
    if loss == "odm":
        return LinearODMClassifier(C=C, tol=1e-4, **settings).fit(X, y)
    return LinearSVMClassifier(loss=loss, C=C, tol=1e-4, **settings).fit(X, y)


def excess(model: GossipClassifier, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return by which part of it every site's objective exceeds the pooled one."""
    best = pooled(model.loss, X, y)
    lowest = objective(model, np.append(best.coef_, best.intercept_), X, y)
    sites = np.column_stack([model.site_coef_[0], model.site_intercept_[0]])
    return np.array([objective(model, w, X, y) for w in sites]) / lowest - 1.0
