r"""[DC] Figure 1: the bound of Theorem 1 beside the difference that it bounds.

On 5,000 rows (the paper has 10,000), divided into k clusters by kernel k-means, with π(i) the
cluster of row i:

.. math:: 0 \le f(\bar α) - f(α^*) \le \tfrac12 C^2 D(π),
          \quad D(π) = \sum_{π(i) \ne π(j)} |K(x_i, x_j)|.

Lemma 1 gives :math:`\bar α`: it solves the whole problem with kernel values between clusters set to
zero. All is computed from one dense kernel matrix, independently of what the library reports.
Theorem 3 counts only pairs of rows that both support one of the two solutions. Theorem 2 says that
a row without a dual in :math:`\bar α` has none in :math:`α^*` either, if its gradient
:math:`\nabla_i \bar f(\bar α)` exceeds :math:`C D(π)(1 + \sqrt{n} K_{max} / \sqrt{σ_n D(π)})`,
where :math:`σ_n` is the smallest eigenvalue of the kernel matrix: more than :math:`C D(π)` in any
case.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.race.store import Cell
from benchmarks.race.tables import NONE, Cells, Rows, Table, draw, name_of
from widemargin import SVMClassifier
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition.division import Drawn
from widemargin.kernel.partition.kernel_kmeans import cluster_rows, clustering_kernel
from widemargin.kernel.partition.tree_growth import SLACK

from .sets import PaperSet

DATA_SETS = ("covtype_binary",)
CLUSTERS = (8, 16, 32, 64, 128)
ROWS = 5_000
TOL = 1e-6
# How rows are divided, and what the page calls it.
PARTITIONS = {
    "printed": "kernel k-means, as printed",
    "balanced": "kernel k-means, balanced",
    "random": "at random",
}


def measure(paper: PaperSet) -> None:
    """Measure what is missing."""
    if paper.name not in DATA_SETS:
        return
    problem = cache(lambda: _Problem(paper))
    for clusters in CLUSTERS:
        for partition in PARTITIONS:

            def measured(clusters: int = clusters, partition: str = partition) -> Cell:
                return problem().measured(clusters, partition)

            cell = f"bound/{partition}/{clusters}"
            paper.cell(cell, measured, most_rows=ROWS, tol=TOL)


class _Problem:
    """One kernel matrix, and the optimum."""

    def __init__(self, paper: PaperSet) -> None:
        sample = paper.sample(ROWS)
        self.X = np.asarray(sample.X, dtype=np.float64)
        self.y = np.where(sample.y == sample.y.max(), 1.0, -1.0)
        self.C, self.gamma = paper.settings["C"], paper.settings["gamma"]
        self.gram = rbf_kernel(self.X, gamma=self.gamma)
        self.optimum = self.solved(self.gram)
        self.best = self.objective(self.optimum)

    def solved(self, gram: np.ndarray) -> np.ndarray:
        """Return the signed duals, y times α."""
        model = SVMClassifier(
            kernel="precomputed", C=self.C, strategy="exact", fit_intercept=False, tol=TOL,
        ).fit(gram, self.y)  # fmt: skip
        signed = np.zeros(len(self.y))
        signed[model.support_] = np.ravel(model.dual_coef_)
        return signed

    def objective(self, signed: np.ndarray) -> float:
        """Return f of [DC] Eqn. (1)."""
        own = np.flatnonzero(signed)
        product = self.gram[np.ix_(own, own)] @ signed[own]
        return float(0.5 * signed[own] @ product - np.abs(signed).sum())

    def groups(self, clusters: int, partition: str) -> np.ndarray:
        """Return the cluster of every row."""
        random = np.random.default_rng(0)
        if partition == "random":
            return random.permutation(np.arange(len(self.y)) % clusters)
        kernel = Kernel("rbf", gamma=self.gamma)
        drawn = Drawn(np.arange(len(self.y)), self.X)
        if partition == "printed":
            found = cluster_rows(kernel, drawn, clusters, random, printed=True)
        else:
            wide = clustering_kernel(kernel, drawn)
            found = cluster_rows(wide, drawn, clusters, random, slack=SLACK)
        return found.assign(self.X)

    def measured(self, clusters: int, partition: str) -> Cell:
        """Divide, solve the parts, compare."""
        group = self.groups(clusters, partition)
        within = group[:, None] == group[None, :]
        signed = self.solved(np.where(within, self.gram, 0.0))
        between = np.where(within, 0.0, self.gram)
        support = np.flatnonzero((signed != 0) | (self.optimum != 0))
        D, D_support = float(between.sum()), float(between[np.ix_(support, support)].sum())
        half = 0.5 * self.C**2
        decision = (self.gram - between) @ signed
        gradient = (self.y * decision - 1.0)[signed == 0]
        return {
            "clusters": len(np.unique(group)),
            "largest": int(np.bincount(group).max()),
            "rows": len(self.y),
            "optimum": self.best,
            "difference": self.objective(signed) - self.best,
            "bound": half * D,
            "refined_bound": half * D_support,
            "gradient": float(gradient.max(initial=0.0)),
            "threshold": self.C * D,
        }


# -------------------------------------------------------------------------------------- page


THEOREM_2 = ("gradient", "threshold")


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table as file name, columns and rows."""
    columns = ["Data set", "Partition", "k", "Clusters", "Largest", "Difference", "Bound"]
    columns += ["Theorem 3", "Bound ÷ difference", "Largest gradient", "Theorem 2 asks for"]
    yield "dc_figure_1", columns, _rows(cells)


def _rows(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        for partition, title in PARTITIONS.items():
            for k in CLUSTERS:
                cell = cells.get(f"{data_set}/bound/{partition}/{k}")
                if cell is None:
                    continue
                ratio = cell["bound"] / max(cell["difference"], 1e-300)
                yield [
                    name_of(data_set),
                    title,
                    str(k),
                    str(cell["clusters"]),
                    f"{cell['largest']:,}",
                    *(f"{cell[key]:.4g}" for key in ("difference", "bound", "refined_bound")),
                    f"{ratio:.3g}",
                    *(f"{cell[key]:.3g}" if key in cell else NONE for key in THEOREM_2),
                ]


def draw_figure(cells: Cells, folder: Path) -> None:
    """Draw difference and bound against k, in absolute terms and by logarithms."""
    panels = {
        f"{name_of(name)}{', logarithms' if log else ''}": partial(_fill, cells, name, log)
        for name in DATA_SETS
        for log in (False, True)
        if f"{name}/bound/random/{CLUSTERS[0]}" in cells
    }
    draw(folder / "dc_figure_1.svg", panels, columns=2, height=3.4)


def _fill(cells: Cells, data_set: str, log: bool, axis: Any) -> None:
    curves = (
        ("printed", "bound", "bound, as printed", "C3--"),
        ("printed", "difference", "difference, as printed", "C3-"),
        ("balanced", "bound", "bound, balanced", "C0--"),
        ("balanced", "difference", "difference, balanced", "C0-"),
        ("random", "bound", "bound, random", "C7--"),
        ("random", "difference", "difference, random", "C7-"),
    )
    for partition, key, title, style in curves:
        found = [(k, cells.get(f"{data_set}/bound/{partition}/{k}")) for k in CLUSTERS]
        points = [(k, cell[key]) for k, cell in found if cell is not None]
        axis.plot(*zip(*points, strict=True), style, marker=".", label=title)
    axis.set(xscale="log", yscale="log" if log else "linear", xlabel="clusters k")
    axis.set_xticks(CLUSTERS, [str(k) for k in CLUSTERS])
    axis.minorticks_off()
    if not log:  # there is room
        axis.legend(fontsize="x-small")
