"""Kernels at the sites of a network: rows mapped to random features that all sites draw alike.

Landmarks (the Nyström method) would need fewer features, but they are training rows: whoever has
the map has these rows. Random features depend on a seed only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.arrays import Array
from ..core.parameters import AT_LEAST_ONE, POSITIVE, with_parameters
from ..core.resources import thread_count
from ..linear.model import decisions_of
from .linear_model import LinearPredictor
from .random_features import FEATURE_KERNELS, RandomFeatures

# Features of rows to predict that are kept at a time: 32 MB in double precision.
BLOCK_FEATURES = 1 << 22


@with_parameters
class FeaturePredictor(LinearPredictor):
    r"""Linear classifier of rows, or of random features of them.

    Parameters
    ----------
    kernel : {'linear', 'rbf', 'laplacian', 'poly'}, default='linear'
        'linear' learns from the rows as they are. The others are approximated: every site maps its
        rows to ``n_components`` random features, drawn from ``random_state``, and the classifier
        is linear in these. No row leaves its site, and the map holds none.
        :class:`RandomFeatures` has the formulas.
    n_components : int, default=1000
        Number of random features, and of weights that messages carry. More of them approximate
        the kernel better.
    gamma : 'auto' or float, default='auto'
        Constant of the kernel; 'auto' is 1 / n_features, which all sites know without asking.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly', not negative.

    Attributes
    ----------
    random_features_ : RandomFeatures or None
        The map; None with 'linear'. With a map, weights are those of its features.
    """

    kernel: str = "linear"
    n_components: int = 1000
    gamma: float | str = "auto"
    degree: int = 3
    coef0: float = 0.0
    random_features_: RandomFeatures | None = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({"linear", *FEATURE_KERNELS})],
        "n_components": [AT_LEAST_ONE],
        "gamma": [StrOptions({"auto"}), POSITIVE],
        "degree": [AT_LEAST_ONE],
        "coef0": [Interval(Real, 0.0, None, closed="left")],
    }

    def _feature_map(self: Any, n_features: int, seed: int) -> RandomFeatures | None:
        """Return the map that every site draws, fitted; None with a linear kernel."""
        if self.kernel == "linear":
            return None
        # A number given is the one that RandomFeatures would take.
        given = self.random_state is None or isinstance(self.random_state, Integral)
        map = RandomFeatures(
            self.kernel,
            n_components=self.n_components,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            random_state=self.random_state if given else seed,
            n_jobs=self.n_jobs,
        )
        return map.fit(np.zeros((1, n_features)))

    def _decisions(self: Any, X: Any) -> Array:
        threads = thread_count(self.n_jobs)
        parts = [
            decisions_of(block, self.coef_, self.intercept_, threads)
            for _, block in self._blocks(X)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Yield what the weights multiply, in blocks where it is mapped; with the rows' numbers."""
        # Models of files that were written before there were kernels have no map.
        map = getattr(self, "random_features_", None)
        n_rows = X.shape[0]
        if map is None:
            yield slice(0, n_rows), X
            return
        step = max(1, BLOCK_FEATURES // int(map.n_components))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            yield rows, map._mapped(X[rows])


def mapped_bytes(map: RandomFeatures | None, *sets: Any) -> int:
    """Return the bytes that sets of rows take once they are mapped; None are no rows."""
    if map is None:
        return 0
    given = [X for X in sets if X is not None]
    return sum(int(X.shape[0]) * int(map.n_components) * X.dtype.itemsize for X in given)
