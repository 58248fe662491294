"""What a simulated network keeps in memory, asked before it is built."""

from __future__ import annotations

from ..gossip import NetworkFaults, Topology
from ..gossip.methods import Method

# Vectors of a model's length, for every one that a message carries. A link keeps what was sent and
# received, and a message on its way; a site its model, means, gradients and copies of them.
PER_LINK = 3
PER_SITE = 10
# And a site's models of all binary problems, while they become attributes.
PER_PROBLEM = 3


def check_memory(
    topology: Topology,
    size: int,
    n_problems: int,
    method: Method,
    faults: NetworkFaults,
    limit: int,
) -> None:
    """Raise if sites and links would need more bytes than allowed."""
    per_link = PER_LINK + faults.delay  # late messages wait
    vectors = method.vectors * (per_link * topology.n_links + PER_SITE * topology.n_sites)
    needed = 8 * size * (vectors + PER_PROBLEM * n_problems * topology.n_sites)
    if needed > limit:
        raise ValueError(
            f"{topology.n_sites:,} sites and their {topology.n_links // 2:,} links need about "
            f"{needed / 2**30:.2g} GiB for models of {size:,} weights, more than `memory_limit`, "
            f"{limit / 2**30:.2g} GiB. Take a topology with fewer links, such as 'ring' or "
            "('random_regular', {'degree': 4}), or fewer sites, or raise `memory_limit`."
        )
