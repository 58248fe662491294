r"""Accounting of differential privacy for Gaussian noise.

Two data sets are *adjacent* if one row of one site is added or removed. A release that adds
Gaussian noise of standard deviation σ·Δ to a vector that one row can change by at most Δ is
μ-Gaussian differentially private with μ = 1/σ. Releases chosen one after the other, each
with knowledge of all before it, compose to μ = √(μ₁² + μ₂² + …), and this is exact (Dong, Roth and
Su, 2022). It is the same as (ε, δ)-differential privacy for every ε with

.. math::

    \delta(\varepsilon) = \Phi(\mu/2 - \varepsilon/\mu)
    - e^\varepsilon \Phi(-\mu/2 - \varepsilon/\mu)

(Balle and Wang, 2018). Nothing here is an approximation but rounding.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

__all__ = ["ADJACENCY", "PrivacyAccount", "delta_of", "epsilon_of", "mu_of"]

ADJACENCY = "one row of one site added or removed"
# Beyond these, ε says nothing or the noise drowns everything.
LEAST_MU, MOST_MU = 1e-6, 200.0


def delta_of(mu: float, epsilon: float) -> float:
    """Return the δ at which a μ-Gaussian private release is (ε, δ)-private."""
    if mu == 0.0:
        return 0.0
    first = log_ndtr(mu / 2.0 - epsilon / mu)
    second = epsilon + log_ndtr(-mu / 2.0 - epsilon / mu)
    # e^first − e^second, both of which may be tiny.
    return float(np.exp(first) * -np.expm1(min(0.0, second - first)))


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest ε at which a μ-Gaussian private release is (ε, δ)-private."""
    if mu == 0.0 or delta_of(mu, 0.0) <= delta:
        return 0.0
    most = 1.0
    while delta_of(mu, most) > delta:
        most *= 2.0
    return float(brentq(lambda e: delta_of(mu, e) - delta, 0.0, most, xtol=1e-12, rtol=1e-12))


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest μ of a Gaussian private release that is (ε, δ)-private."""
    if delta_of(MOST_MU, epsilon) <= delta:
        return MOST_MU
    return float(brentq(lambda m: delta_of(m, epsilon) - delta, LEAST_MU, MOST_MU, rtol=1e-12))


@dataclass(frozen=True)
class PrivacyAccount:
    """What a number of releases allows others to learn about one row.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee after all releases.
    releases : int
        Number of releases allowed.
    row_norm : float
        Length that rows are shortened to, the constant feature left out.
    problems : int
        Number of binary problems on the same rows, each with as many releases.
    """

    epsilon: float
    delta: float
    releases: int
    row_norm: float
    problems: int = 1

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of a release, in units of what one row can change."""
        return float(np.sqrt(self.releases * self.problems) / mu_of(self.epsilon, self.delta))

    def spent(self, releases: int) -> float:
        """Return the ε of so many releases (of each problem), at the account's δ."""
        mu = np.sqrt(releases * self.problems) / self.noise
        return min(self.epsilon, epsilon_of(float(mu), self.delta)) if releases else 0.0

    def statement(self, releases: int) -> dict[str, Any]:
        """Return what is guaranteed after so many releases, as plain data."""
        return {
            **asdict(self),
            "noise": self.noise,
            "releases_made": releases,
            "epsilon_spent": self.spent(releases),
            "adjacency": ADJACENCY,
        }
