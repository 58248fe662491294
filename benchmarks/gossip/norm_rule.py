"""The paper's rule: a site has converged when ‖w‖ hardly changes several times in a row."""

from __future__ import annotations

import numpy as np

EPSILON = 1e-3
TIMES = 3


class NormRule:
    """Follows the norms of all sites.

    The paper interrupts a site when ‖w‖ changed by less than ε in each of k iterations, and calls
    the network converged when every site has been there once. A site goes on and may leave that
    state, and enter it again.

    Parameters
    ----------
    epsilon : float
        ε, not relative to the norm.
    times : int
        k; the paper takes 3 in its tables, and tries 4, 8 and 10.

    Attributes
    ----------
    first : array
        Round in which each site converged for the first time; 0 where it has not.
    models : array
        What it had then.
    entered : array
        How often it converged.
    """

    def __init__(self, epsilon: float = EPSILON, times: int = TIMES) -> None:
        self.epsilon, self.times = epsilon, times
        self.first = np.zeros(0, dtype=np.int64)
        self.entered = np.zeros(0, dtype=np.int64)
        self.models = np.zeros((0, 0))
        self._calm = np.zeros(0, dtype=np.int64)
        self._norms = np.zeros(0)

    def start(self, models: np.ndarray) -> None:
        """Begin with the models of all sites."""
        sites = len(models)
        self.first, self.entered, self._calm = (np.zeros(sites, dtype=np.int64) for _ in range(3))
        self.models = models.copy()
        self._norms = np.linalg.norm(models, axis=1)

    def update(self, number: int, models: np.ndarray) -> bool:
        """Look at the models after a round; True when every site has converged once."""
        norms = np.linalg.norm(models, axis=1)
        small = np.abs(norms - self._norms) < self.epsilon
        self._calm = np.where(small, self._calm + 1, 0)
        self._norms = norms
        there = self._calm == self.times
        if there.any():
            self.entered += there
            new = there & (self.first == 0)
            self.first[new] = number
            self.models[new] = models[new]
        return bool(np.all(self.first > 0))

    def stopped_models(self, models: np.ndarray) -> np.ndarray:
        """Return what every site had when it converged, or has now if it never did."""
        return np.where((self.first > 0)[:, None], self.models, models)
