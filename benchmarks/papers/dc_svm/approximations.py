r"""LLSVM, FastFood and LTPU: features that stand for the RBF kernel, and a linear machine on them.

==========  ====================================================================================
LLSVM       :math:`K(x, Z) L^{-T}` with :math:`LL^T = K(Z, Z)`: Nyström's, at centres of k-means
FastFood    cosines and sines of random frequencies, made by Hadamard transforms
LTPU        :math:`K(x, Z)` itself: radial units at centres of k-means
==========  ====================================================================================

The linear machine has the hinge loss and no intercept, and is solved to a certified gap.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.papers import search
from benchmarks.race import objective
from benchmarks.race.store import Cell
from widemargin import LinearSVMClassifier

from .sets import PaperSet

# Size of the features in Table 2, and in the search.
FEATURES, SEARCH_FEATURES = 3_000, 300
# Rows to train on: 3,000 features of 50,000 rows take 600 MB, and minutes.
ROWS = {"ijcnn1": 49_990, "census_income": 20_000, "covtype_binary": 20_000}
TEST_ROWS = 20_000
C_GRID = (1.0, 2.0**5, 2.0**10)
# Widths beside the kernel machine's; LTPU has the kernel machine's own, as in the paper.
NARROWER = (1 / 16, 1 / 4, 1.0)
BLOCK = 8_192
TOL, MAX_ITER = 1e-2, 1_000
JITTER = 1e-6  # on the diagonal of the centres' kernel matrix


class Nystroem:
    """LLSVM's features.

    Parameters
    ----------
    gamma : float
        Width of the kernel.
    size : int
        Number of features.
    """

    def __init__(self, gamma: float, size: int) -> None:
        self.gamma, self.size = gamma, size

    def fit(self, X: Any) -> Nystroem:
        """Choose the centres, and a root of their inverse kernel matrix."""
        self.centres = centres(X, self.size)
        gram = rbf_kernel(self.centres.astype(np.float64), gamma=self.gamma)
        gram.flat[:: len(gram) + 1] += JITTER
        lower = cholesky(gram, lower=True, overwrite_a=True)
        self.root = solve_triangular(lower, np.eye(len(gram)), lower=True).T.astype(np.float32)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows."""
        return np.asarray(rbf_kernel(X, self.centres, gamma=self.gamma) @ self.root)


class RadialUnits(Nystroem):
    """LTPU's features: the kernel's values with the centres."""

    def fit(self, X: Any) -> RadialUnits:
        """Choose the centres."""
        self.centres = centres(X, self.size)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows."""
        return np.asarray(rbf_kernel(X, self.centres, gamma=self.gamma))


class FastFood:
    r"""Fourier features of frequencies :math:`\sqrt{2γ/d}\, S H G Π H B`, block by block.

    H is the Hadamard matrix of d columns, the next power of two; B has random signs, Π permutes, G
    has normal entries, and S gives each frequency the length that d normal entries would have.
    """

    def __init__(self, gamma: float, size: int) -> None:
        self.gamma, self.size = gamma, size

    def fit(self, X: Any) -> FastFood:
        """Draw the frequencies; every one has a cosine and a sine."""
        random = np.random.default_rng(0)
        self.width = d = 1 << int(np.ceil(np.log2(X.shape[1])))
        blocks = max(1, round(self.size / (2 * d)))
        self.signs = random.choice([-1.0, 1.0], (blocks, d)).astype(np.float32)
        self.order = np.array([random.permutation(d) for _ in range(blocks)])
        self.normal = random.standard_normal((blocks, d)).astype(np.float32)
        lengths = np.sqrt(random.chisquare(d, (blocks, d)))
        norms = np.linalg.norm(self.normal, axis=1, keepdims=True)
        self.scale = (np.sqrt(2.0 * self.gamma / d) * lengths / norms).astype(np.float32)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows; their dot products are close to the kernel."""
        dense = X.toarray() if sp.issparse(X) else X
        rows = np.zeros((len(dense), self.width), dtype=np.float32)
        rows[:, : dense.shape[1]] = dense
        angles = np.hstack(
            [
                hadamard((hadamard(rows * signs))[:, order] * normal) * scale
                for signs, order, normal, scale in zip(
                    self.signs, self.order, self.normal, self.scale, strict=True
                )
            ]
        )
        norm = np.float32(1.0 / np.sqrt(angles.shape[1]))
        return np.hstack([np.cos(angles), np.sin(angles)]) * norm


def hadamard(rows: np.ndarray) -> np.ndarray:
    """Multiply rows by the Hadamard matrix (entries 1 and -1), by sums and differences."""
    count, width = rows.shape
    step = 1
    while step < width:
        pairs = rows.reshape(count, width // (2 * step), 2, step)
        left, right = pairs[:, :, 0], pairs[:, :, 1]
        rows = np.stack([left + right, left - right], axis=2).reshape(count, width)
        step *= 2
    return rows


def centres(X: Any, size: int) -> np.ndarray:
    """Return centres of k-means in batches."""
    found = MiniBatchKMeans(
        min(size, X.shape[0] // 2), init="random", n_init=1, max_iter=5, batch_size=8_192,
        random_state=0, reassignment_ratio=0.0,
    ).fit(X)  # fmt: skip
    return np.asarray(found.cluster_centers_, dtype=np.float32)


FEATURE_MAPS: dict[str, Any] = {"llsvm": Nystroem, "fastfood": FastFood, "ltpu": RadialUnits}


class Approximation:
    """Features and a linear machine, as one classifier.

    Parameters
    ----------
    method : str
        A name of ``FEATURE_MAPS``.
    C, gamma : float
        Weight of a row, and width of the kernel.
    size : int
        Number of features.
    max_time : float
        Seconds that the linear machine may take.
    """

    def __init__(self, method: str, C: float, gamma: float, size: int, max_time: float) -> None:
        self.features = FEATURE_MAPS[method](gamma, size)
        self.machine = LinearSVMClassifier(
            loss="hinge", C=C, tol=TOL, max_iter=MAX_ITER, max_time=max_time,
            fit_intercept=False, random_state=0,
        )  # fmt: skip

    def fit(self, X: Any, y: np.ndarray) -> Approximation:
        """Make features of the rows, block by block, and train on them."""
        self.features.fit(X)
        self.machine.fit(np.vstack([self.features.transform(each) for each in blocks(X)]), y)
        self.relative_gap_ = float(self.machine.relative_gap_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of rows."""
        return np.concatenate(
            [self.machine.predict(self.features.transform(each)) for each in blocks(X)]
        )


def blocks(X: Any) -> list[Any]:
    """Cut rows so that features of a few alone exist at a time."""
    return [X[start : start + BLOCK] for start in range(0, X.shape[0], BLOCK)]


def chosen(paper: PaperSet, method: str) -> dict[str, Any]:
    """Search C and, where the paper does not name it, gamma on held-out training rows."""
    gamma = paper.settings["gamma"]
    widths = [gamma] if method == "ltpu" else [gamma * share for share in NARROWER]
    grid = {"C": list(C_GRID), "gamma": widths}
    make = partial(Approximation, method, size=SEARCH_FEATURES, max_time=paper.max_time)

    def choose() -> Cell:
        split = paper.split
        return {"search": search.choose_from(make, split.X, split.y, grid)}

    found: dict[str, Any] = paper.cell(f"approximate/{method}/search", choose, grid=grid)["search"]
    return found


def measure_size(
    paper: PaperSet, cell: str, method: str, size: int, data: Any, **kept: Any
) -> None:
    """Measure a method with so many features on the rows that ``data`` returns."""
    found = chosen(paper, method)
    settings = {"C": found["C"], "gamma": found["gamma"]}

    def measure() -> Cell:
        model = Approximation(method, size=size, max_time=paper.max_time, **settings)
        return {**objective.measure(model, data()), "features": size}

    paper.cell(cell, measure, **kept, chosen=settings, features=size)


def measure_table_2(paper: PaperSet) -> None:
    """Measure the three methods with the paper's size."""
    for method in FEATURE_MAPS:
        rows = {"most_rows": ROWS[paper.name], "test_rows": TEST_ROWS}
        sample = partial(paper.sample, rows["most_rows"], rows["test_rows"])
        measure_size(paper, f"approximate/{method}", method, FEATURES, sample, **rows)
