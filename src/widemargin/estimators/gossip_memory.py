"""What a simulated network keeps in memory, asked before it is built."""

from __future__ import annotations

from ..gossip import Topology
from .gossip_fit import GossipSettings

# Vectors of a model's length, for every one that a message carries: on a link, beside messages that
# are late; at a site; and for a site's models of all binary problems as they become attributes.
# Push-Sum remembers what was sent, received, acknowledged and not yet acknowledged.
PER_LINK = {"consensus": 2, "gadget": 6, "tracking": 6}
PER_SITE = 10
PER_PROBLEM = 3


def check_memory(
    topology: Topology, size: int, n_problems: int, settings: GossipSettings, limit: int
) -> None:
    """Raise if sites and links would need more bytes than allowed."""
    method, faults = settings.method, settings.faults
    late = settings.talking.exchanges * faults.delay * (1.0 + faults.duplication)
    if method.name != "consensus":
        late *= 2  # remembered at the sender, too
    per_link = PER_LINK[method.name] + late
    vectors = method.vectors * (per_link * topology.n_links + PER_SITE * topology.n_sites)
    needed = 8 * size * (vectors + PER_PROBLEM * n_problems * topology.n_sites)
    if needed > limit:
        raise ValueError(
            f"{topology.n_sites:,} sites and their {topology.n_links // 2:,} links need about "
            f"{needed / 2**30:.2g} GiB for models of {size:,} weights, more than `memory_limit`, "
            f"{limit / 2**30:.2g} GiB. Take a topology with fewer links, such as 'ring' or "
            "('random_regular', {'degree': 4}), or fewer sites, or raise `memory_limit`."
        )
