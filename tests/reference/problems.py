"""Small random problems with the difficulties that real data have."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.kernels import linear, rbf, signed

Array = npt.NDArray[np.float64]

DIFFICULTIES = ("plain", "weighted", "contradictory", "zero_rows", "one_class", "low_rank")


class Problem(NamedTuple):
    """Rows X, labels y = ±1, per-row weights, the kernel matrix K and Q = YKY."""

    X: Array
    y: Array
    weights: Array
    K: Array
    Q: Array


def random_problem(difficulty: str, n_rows: int = 24, seed: int = 0) -> Problem:
    """Draw two overlapping clouds in three dimensions.

    - plain: RBF kernel, unit weights.
    - weighted: weights over two orders of magnitude, and some of exactly zero.
    - contradictory: every row twice, with opposite labels.
    - zero_rows: a linear kernel with rows at the origin, so that Q has zeros on its diagonal.
    - one_class: one label only, which without an intercept is still a problem.
    - low_rank: a linear kernel, of rank three.
    """
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_rows) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n_rows, 3)) + 0.7 * y[:, None]
    weights = np.ones(n_rows)
    if difficulty == "weighted":
        weights = 10 ** rng.uniform(-1, 1, size=n_rows)
        weights[::7] = 0.0
    elif difficulty == "contradictory":
        X[1::2] = X[: 2 * (n_rows // 2) : 2]
    elif difficulty == "zero_rows":
        X[:4] = 0.0
    elif difficulty == "one_class":
        y = np.ones(n_rows)
    elif difficulty not in DIFFICULTIES:
        raise ValueError(f"`difficulty` must be one of {DIFFICULTIES}; got {difficulty!r}.")
    K = linear(X, X) if difficulty in ("zero_rows", "low_rank") else rbf(X, X, gamma=0.5)
    return Problem(X, y, weights, K, signed(K, y))
