r"""LLSVM, FastFood and LTPU: features that stand for the RBF kernel, and a linear machine on them.

==========  ====================================================================================
LLSVM       :math:`K(x, Z) L^{-T}` with :math:`LL^T = K(Z, Z)`: Nyström's, at centres of k-means
FastFood    cosines and sines of random frequencies, made by Hadamard transforms
LTPU        :math:`K(x, Z)` itself: radial units at centres of k-means
==========  ====================================================================================

The linear machine has the hinge loss and no intercept, and is solved to a certified gap.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from benchmarks.race.tables import Cells, Rows, Table, name_of, percent
from widemargin import LinearSVMClassifier

from . import published
from .sets import PaperSet

# Size of the features in Table 2, and in the search. With few features wide kernels look best, so
# that a search with 300 of them chooses for another machine than the one that is then trained.
FEATURES, SEARCH_FEATURES = 3_000, 1_000
# Rows that the search trains on and scores, and seconds that one of its fits may take.
SEARCH_ROWS, SEARCH_SECONDS = (8_000, 8_000), 60.0
# Rows to train on: 3,000 features of 50,000 rows take 600 MB, and minutes.
SAMPLE = 20_000  # where not all are taken
ROWS = {"ijcnn1": 49_990, "census_income": SAMPLE, "covtype_binary": SAMPLE}
TEST_ROWS = 20_000
# Multiples of the printed C and γ that are searched; LTPU has the printed γ, as in the paper.
TIMES_C = (1 / 32, 1.0, 32.0)
TIMES_GAMMA = (1 / 16, 1 / 4, 1.0)
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
    has normal entries, and S gives each frequency the length that d normal entries would have. The
    last block is cut, so that there are as many features as asked for; the paper takes as many
    whole blocks as come closest.
    """

    def __init__(self, gamma: float, size: int) -> None:
        self.gamma, self.size = gamma, size

    def fit(self, X: Any) -> FastFood:
        """Draw the frequencies; every one has a cosine and a sine."""
        random = np.random.default_rng(0)
        self.width = d = 1 << int(np.ceil(np.log2(X.shape[1])))
        self.frequencies = self.size // 2
        blocks = -(-self.frequencies // d)
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
        )[:, : self.frequencies]
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
    """Search C and, but for LTPU, gamma on held-out training rows."""
    C, gamma = paper.settings["C"], paper.settings["gamma"]
    widths = [gamma] if method == "ltpu" else [gamma * times for times in TIMES_GAMMA]
    grid = {"C": [C * times for times in TIMES_C], "gamma": widths}
    max_time = min(paper.max_time, SEARCH_SECONDS)
    make = partial(Approximation, method, size=SEARCH_FEATURES, max_time=max_time)

    def choose() -> Cell:
        split = paper.split
        found = search.choose_from(make, split.X, split.y, grid, rows=SEARCH_ROWS)
        return {"search": found, "features": SEARCH_FEATURES}

    kept = {"grid": grid, "features": SEARCH_FEATURES, "search_rows": SEARCH_ROWS}
    found: dict[str, Any] = paper.cell(f"approximate/{method}/search", choose, **kept)["search"]
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


# -------------------------------------------------------------------------------------- page

TITLES = {"llsvm": "LLSVM", "fastfood": "FastFood", "ltpu": "LTPU"}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table of the searches as file name, columns and rows."""
    columns = ["Data set", "Method", "Features in the search", "C tried", "γ tried"]
    yield "dc_searches", [*columns, "C chosen", "γ chosen", "Accuracy in the search"], _rows(cells)


def _rows(cells: Cells) -> Rows:
    for data_set in published.TABLE_2:
        for method, title in TITLES.items():
            cell = cells.get(f"{data_set}/approximate/{method}/search")
            if cell is None or "features" not in cell:
                continue
            found = cell["search"]
            tried = [
                ", ".join(f"{value:g}" for value in sorted({each[key] for each in found["tried"]}))
                for key in ("C", "gamma")
            ]
            chosen = [f"{found[key]:g}" for key in ("C", "gamma")]
            row = [name_of(data_set), title, f"{cell['features']:,}", *tried, *chosen]
            yield [*row, percent(found["accuracy"])]
