"""[GADGET] Tables 2 to 4 and Figures 1, 3 and 4, and what the paper leaves open.

Ten sites on a ring, λ = 0.001, unless a table says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import (
    gossip_comparison,
    gossip_costs,
    gossip_effects,
    gossip_production,
    gossip_robustness,
)
from .results import Results

# Seconds of a fit. The whole takes a quarter of an hour on two cores.
MAX_TIME = 5.0
Part = tuple[tuple[str, ...], Callable[[Results, str, bool, float], None]]
PARTS: dict[str, Part] = {
    "2": (gossip_comparison.DATA_SETS, gossip_comparison.measure_table_2),
    "3": (gossip_comparison.DATA_SETS, gossip_comparison.measure_table_3),
    "robustness": (gossip_robustness.DATA_SETS, gossip_robustness.measure),
    "production": (gossip_production.DATA_SETS, gossip_production.measure),
    "bytes": (gossip_costs.DATA_SETS, gossip_costs.measure),
    "topology": (gossip_effects.TOPOLOGY_SETS, gossip_effects.measure_topology),
    "faults": (gossip_effects.DATA_SETS, gossip_effects.measure_faults),
    "liars": (gossip_effects.DATA_SETS, gossip_effects.measure_liars),
}
TABLES = tuple(PARTS)
DATA_SETS = tuple(dict.fromkeys(name for names, _ in PARTS.values() for name in names))


def run(
    results: Results,
    names: Sequence[str],
    *,
    quick: bool,
    max_time: float = MAX_TIME,
    tables: Sequence[str] = TABLES,
) -> None:
    """Measure what is missing, table by table."""
    for table in tables:
        sets, measure = PARTS[table]
        for name in sets:
            if name in names:
                measure(results, name, quick, max_time)
