"""Limits on the numbers that are accepted from neighbours.

They follow from the settings that all sites share, and a correct neighbour stays well within them
in any state of the network. A faulty neighbour within the limits can still do harm: see the threat
model in the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ... import _native
from ...core.arrays import Array
from ...gossip.methods import SiteSetting
from .wire import FrameError

__all__ = ["MessageLimits"]

# Factor above what the problem allows.
ROOM = 10.0
# Mass that one message may carry, in units of the mass of the whole network.
SHARES = 100.0


@dataclass(frozen=True)
class MessageLimits:
    """Limits on a message.

    Attributes
    ----------
    norm : float
        Largest length of a vector: a model, or what consensus sends.
    figure : float
        Largest value of a figure of one site.
    mass : float
        Mass of the whole network.
    """

    norm: float
    figure: float
    mass: float

    @classmethod
    def of(cls, setting: SiteSetting, method: Any, n_sites: int, norm: float | None) -> Self:
        """Return the limits of a problem, with the norm of the configuration if it has one."""
        constants, rows = setting.problem.constants, setting.total_rows
        length = float(np.sqrt(setting.row_square))
        # The optimum's objective is not above that of zero.
        radius = float(np.sqrt(2.0 * setting.objective_at_zero))
        reach = 1.0 + radius * length
        slope = reach * constants.steepest if constants.smooth else constants.bound
        rho = 1.0
        if method.name == "consensus":
            rho = method.rho(constants, setting.total_square, setting.n_links)
        allowed = ROOM * (2.0 * rho * radius + slope * rows * length)
        figure = max(rows * slope * reach, allowed * setting.n_links, slope**2 * rows * length**2)
        return cls(allowed if norm is None else norm, ROOM * figure, float(n_sites))

    def check(self, site: _native._GossipSite, slot: int, numbers: Array) -> None:
        """Raise FrameError if a message of a native site exceeds the limits."""
        body, figures = numbers[: site.body_size], numbers[site.body_size : -3]
        room = 1.0
        pushed = site.sums(models=True)
        if pushed is not None:  # a running sum, of which only the increase counts
            body, room = body - pushed[2][slot], SHARES * self.mass
        with np.errstate(over="ignore"):
            norm = float(np.sqrt(np.square(body).sum()))
        if not norm <= room * self.norm:
            raise FrameError(
                "magnitude",
                f"a vector must not be longer than {room * self.norm:.3g}; got {norm:.3g}. If the "
                "neighbour is sound, raise `model.max_norm` at all sites.",
            )
        sums = site.sums()
        assert sums is not None
        new = np.abs(figures - sums[2][slot])
        if not (new[-1] <= SHARES * self.mass and new.max() <= SHARES * self.mass * self.figure):
            raise FrameError("magnitude", "shares must not exceed what the whole network has.")
