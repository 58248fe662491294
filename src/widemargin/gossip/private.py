"""Differentially private training of a network: parameters, and the native sites they create."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..core.arrays import Array
from ..linear.problem import LinearProblem
from .parameters import require_count, require_positive
from .privacy import PrivacyAccount

if TYPE_CHECKING:
    from .methods import NativeNetwork, NativeSite, NetworkSetting, SiteSetting

__all__ = ["PrivateDescent", "shortened"]

# Rows are cut a little shorter than promised, so that rounding cannot make one longer.
ROUNDING = 1e-6
MOST_INTERVAL = 100


class PrivateDescent(BaseEstimator):  # type: ignore[misc]
    r"""Descent on gradients with noise: (ε, δ)-differential privacy for every single row.

    Sites release the gradient of their own losses with Gaussian noise, ``releases`` times, and
    average what they make of it; all else that they send is computed from these releases. Whoever
    sees every message of a site, and may have sent it anything, learns about any one of its rows at
    most what (ε, δ)-differential privacy allows: with the row added or removed, the
    probability of anything that he sees changes by a factor of at most :math:`e^\varepsilon`, up to
    δ.

    Parameters
    ----------
    epsilon : float, default=3.0
        ε of all releases together.
    delta : float in (0, 1), default=1e-6
        δ; well below one over the number of rows.
    row_norm : float, default=1.0
        Longer rows are shortened to this length, so that no row counts for more. Take a usual
        length of a row, known without looking at the rows.
    releases : int, default=100
        Number of releases of a site. More come nearer to the optimum, and need more noise.
    interval : int, default=None
        Exchanges from release to release; None: as many as the network has links from end to end,
        from 2 to 100.
    step : float in (0, 2], default=2.0
        Length of the steps, in units of one over the largest possible curvature.
    momentum : float in [0, 1), default=0.95
        Share of a step that is taken again.

    Notes
    -----
    Adjacent are data sets that differ by one row of one site. The number of rows of all sites is
    taken to be public. The slope of a loss is cut off where the margin is 0 (the hinge's is C
    anyway, and rises over margins from 1 to 0).
    """

    name: ClassVar[str] = "private"
    vectors: ClassVar[int] = 1

    def __init__(
        self,
        *,
        epsilon: float = 3.0,
        delta: float = 1e-6,
        row_norm: float = 1.0,
        releases: int = 100,
        interval: int | None = None,
        step: float = 2.0,
        momentum: float = 0.95,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.releases = releases
        self.interval = interval
        self.step = step
        self.momentum = momentum

    def account(self, problems: int = 1) -> PrivacyAccount:
        """Return the account of so many binary problems on the same rows."""
        self._check()
        return PrivacyAccount(
            float(self.epsilon),
            float(self.delta),
            int(self.releases),
            float(self.row_norm),
            problems,
        )

    def steps_between(self, diameter: int) -> int:
        """Return the number of steps from release to release."""
        if self.interval is None:
            return int(np.clip(diameter, 2, MOST_INTERVAL))
        return int(self.interval)

    def network(self, setting: NetworkSetting) -> NativeNetwork:
        """Return the sites, ready to run; their noise is that of the seed."""
        problem = setting.problem
        X = shortened(problem.X, self.row_norm)
        short = problem if X is problem.X else replace(problem, X=X, rows=None)
        total = problem.n_rows if problem.weight is None else float(problem.weight.sum())
        key = hashlib.sha256(f"{setting.seed} {setting.number}".encode()).digest()
        options = self._options(short, total, setting.topology.diameter, setting.n_problems, key)
        return setting.kind.private_descent(short.native, *setting.arguments[1:], **options)

    def site(self, setting: SiteSetting) -> NativeSite:
        """Return one site, all of whose links are closed; its noise is nobody's to guess."""
        problem = setting.problem
        options = self._options(
            problem, setting.total_rows, setting.diameter, setting.n_problems, os.urandom(32)
        )
        return setting.kind.private_descent(problem.native, setting.native, **options)

    def _options(
        self, problem: LinearProblem, total_rows: float, diameter: int, problems: int, key: bytes
    ) -> dict[str, Any]:
        account = self.account(problems)
        constants = problem.constants
        reach = float(np.hypot(self.row_norm, problem.constant))
        bound, curvature = constants.bound, constants.bound
        if constants.smooth:
            bound, curvature = constants.lower_margin / constants.below, constants.steepest
        return {
            "noise": account.noise,
            "bound": float(bound),
            "reach": reach,
            "releases": account.releases,
            "interval": self.steps_between(diameter),
            "step": float(self.step / (1.0 + curvature * total_rows * reach**2)),
            "momentum": float(self.momentum),
            "key": key,
        }

    def _check(self) -> None:
        require_positive("epsilon", self.epsilon)
        require_positive("delta", self.delta, most=1.0)
        require_positive("row_norm", self.row_norm)
        require_positive("step", self.step, most=2.0)
        require_count("releases", self.releases, 1)
        if self.interval is not None:
            require_count("interval", self.interval, 1)
        if not 0.0 <= self.momentum < 1.0:
            raise ValueError(f"`momentum` must be in [0, 1); got {self.momentum!r}.")
        if self.delta >= 1.0:
            raise ValueError(f"`delta` must be below 1; got {self.delta!r}.")


def shortened(X: Any, row_norm: float) -> Any:
    """Return rows, those longer than ``row_norm`` shortened to it; X itself if none is."""
    most = row_norm * (1.0 - ROUNDING)
    if sp.issparse(X):
        lengths = np.sqrt(np.asarray(X.astype(np.float64).multiply(X).sum(axis=1)).ravel())
    else:
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    if not (lengths > most).any():
        return X
    factor: Array = np.minimum(1.0, most / np.maximum(lengths, most))
    if sp.issparse(X):
        return sp.csr_matrix(
            (
                (X.data * np.repeat(factor, np.diff(X.indptr))).astype(X.dtype),
                X.indices,
                X.indptr,
            ),
            shape=X.shape,
        )
    return np.ascontiguousarray((X * factor[:, np.newaxis]).astype(X.dtype))
