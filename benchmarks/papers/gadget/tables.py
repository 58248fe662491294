"""[GADGET] Tables 2 to 7 and Figures 1 and 3 to 5, and what the paper leaves open.

Ten sites on a ring, λ = 0.001, unless a table says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.race.store import Store

from . import comparison, course, effects, other_models

# Seconds of a fit, where it has a limit. Those of Tables 5 and 7, and ADMM in Table 3, have none:
# they take most of the time, which is hours.
MAX_TIME = 5.0
Part = tuple[tuple[str, ...], Callable[[Store, str, bool, float], None]]
PARTS: dict[str, Part] = {
    "2": (comparison.DATA_SETS, comparison.measure_table_2),
    "3": (comparison.DATA_SETS, comparison.measure_table_3),
    "5": (other_models.DATA_SETS, other_models.measure_classifiers),
    "7": (other_models.ADMM_SETS, other_models.measure_admm),
    "robustness": (comparison.ROBUSTNESS_SETS, comparison.measure_robustness),
    "course": (course.DATA_SETS, course.measure_course),
    "production": (comparison.PRODUCTION_SETS, comparison.measure_production),
    "bytes": (comparison.DATA_SETS, effects.measure_costs),
    "topology": (effects.TOPOLOGY_SETS, effects.measure_topology),
    "faults": (effects.EFFECT_SETS, effects.measure_faults),
    "liars": (effects.EFFECT_SETS, effects.measure_liars),
}
TABLES = tuple(PARTS)
DATA_SETS = tuple(dict.fromkeys(name for names, _ in PARTS.values() for name in names))


def run(
    store: Store,
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
                measure(store, name, quick, max_time)
