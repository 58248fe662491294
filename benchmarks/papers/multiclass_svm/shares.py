"""Steps of an epoch of the printed algorithms, and those of the busiest of several cores.

A step is for one row and one class that is not its own. LLW: every core has some of the classes.
WW: the classes are dealt to twice as many bundles as cores, and every core has a match between two
bundles in each round; a round lasts as long as its longest match. Matches between classes of one
bundle are two rounds before the others.
"""

from __future__ import annotations

import numpy as np

from widemargin.multiclass.solvers.tournament import bundles_of, rounds


def steps_of_an_epoch(class_rows: np.ndarray) -> int:
    """Return the number of rows times the number of other classes, the same for both."""
    return int(class_rows.sum()) * (len(class_rows) - 1)


def busiest_steps(class_rows: np.ndarray, formulation: str, cores: int) -> int:
    """Return the steps that an epoch has to wait for."""
    if formulation == "llw":
        others = class_rows.sum() - class_rows
        return max(int(others[each].sum()) for each in bundles_of(class_rows, cores))
    bundles = bundles_of(class_rows, 2 * cores)
    rows = [int(class_rows[each].sum()) for each in bundles]
    wide = [len(each) for each in bundles]
    inside = [rows[k] * (wide[k] - 1) for k in range(len(bundles))]
    waited = max(inside[:cores]) + max(inside[cores:])
    for matches in rounds(len(bundles)):
        waited += max(rows[a] * wide[b] + rows[b] * wide[a] for a, b in matches)
    return waited
