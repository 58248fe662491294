"""Averages over a network without a coordinator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..core.losses import Hinge, LossConstants
from ..linear.problem import LinearProblem
from .faults import NetworkFaults
from .graph_parameter import graph_of
from .methods import NativeNetwork, NetworkSetting
from .simulation import Simulation, Stopping, Talking
from .topology import Topology


class Averaging:
    """Method of sites that have a vector each and no rows."""

    name: ClassVar[str] = "average"
    vectors: ClassVar[int] = 1
    one_way_links: ClassVar[bool] = True

    def __init__(self, values: Array) -> None:
        self.values = values

    def trusts(self, topology: Topology) -> bool:
        """Return whether some site of the network believes whatever its neighbours send."""
        return True

    def network(self, setting: NetworkSetting) -> NativeNetwork:
        """Return the sites, ready to run."""
        return setting.kind.average(*setting.arguments, values=self.values)


def averaging(
    values: ArrayLike,
    topology: Any = "ring",
    *,
    talking: Talking | None = None,
    faults: NetworkFaults | None = None,
    seed: int = 0,
) -> Simulation:
    """Return a network that averages vectors by Push-Sum, ready to run."""
    held = np.ascontiguousarray(values, dtype=np.float64)
    if held.ndim != 2:
        raise ValueError(f"`values` must have one row per site; got {held.ndim} dimensions.")
    if not np.isfinite(held).all():
        raise ValueError("`values` must be finite.")
    n_sites, size = held.shape
    nothing = LinearProblem(
        np.zeros((0, size)), np.zeros(0, dtype=np.int8), LossConstants.of(Hinge(), 1.0)
    )
    return Simulation(
        nothing,
        np.zeros(n_sites + 1, dtype=np.int64),
        graph_of(topology, n_sites, seed),
        Averaging(held),
        talking or Talking(),
        faults or NetworkFaults(),
        Stopping("never"),
        seed,
    )


def average(
    values: ArrayLike,
    topology: Any = "ring",
    *,
    rounds: int = 100,
    talking: Talking | None = None,
    faults: NetworkFaults | None = None,
    seed: int = 0,
) -> Array:
    """Average vectors by Push-Sum.

    Parameters
    ----------
    values : array-like of shape (n_sites, size)
        The vector of each site.
    topology : str, tuple, networkx graph, array, sparse matrix or list, default='ring'
        Graph of the sites, whose links may lead one way, or the graphs of the rounds; see
        :func:`widemargin.gossip.graph_of`.
    rounds : int, default=100
        Number of rounds. The error falls by a factor of e in a mixing time of the topology.
    talking : Talking, optional
        How sites exchange messages.
    faults : NetworkFaults, optional
        Faults of the network. They delay the result and do not change it.
    seed : int, default=0
        Seed of all random choices.

    Returns
    -------
    array of shape (n_sites, size)
        The mean, as each site estimates it.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.gossip import NetworkFaults, average
    >>> means = average([[1.0], [2.0], [6.0]], faults=NetworkFaults(loss=0.3))
    >>> np.round(means, 6).ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    simulation = averaging(values, topology, talking=talking, faults=faults, seed=seed)
    simulation.network.run(rounds)
    return simulation.network.models()
