"""What a privately trained classifier may say of itself: nothing that shows rows without noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.fit import warn
from ..gossip import PrivateDescent, Topology

__all__ = ["private_attributes", "warn_of_releases"]

# Columns of the history that are computed from rows.
OF_ROWS = (
    "min_accuracy",
    "mean_accuracy",
    "max_accuracy",
    "min_objective",
    "mean_objective",
    "max_objective",
    "dual",
    "relative_gap",
)


def releases_made(method: PrivateDescent, topology: Topology, rounds: int) -> int:
    """Return the number of releases of a site in so many rounds, at most."""
    return min(int(method.releases), rounds // method.steps_between(topology.diameter))


def private_attributes(
    method: PrivateDescent, attributes: dict[str, Any], n_problems: int, rounds: int
) -> dict[str, Any]:
    """Return the fitted attributes of a private fit, given those of any fit."""
    made = releases_made(method, attributes["topology_"], rounds)
    history = {
        name: np.full(len(values), np.nan) if name in OF_ROWS else values
        for name, values in attributes["history_"].items()
    }
    return {
        **attributes,
        **dict.fromkeys(("dual_gap_", "relative_gap_", "estimated_gap_", "label_skew_"), np.nan),
        "converged_": made >= method.releases,
        "history_": history,
        "privacy_": method.account(n_problems).statement(made),
    }


def warn_of_releases(
    method: PrivateDescent, topology: Topology, rounds: int, estimator: str
) -> None:
    """Warn if the sites were stopped before they had made all of their releases."""
    made = releases_made(method, topology, rounds)
    if made < method.releases:
        needed = method.releases * method.steps_between(topology.diameter) + 10 * topology.diameter
        warn(
            f"{estimator}: sites made {made} of {method.releases} releases, and noise was added "
            f"for all of them. Raise `max_iter` to {needed} or more, or lower `releases`.",
            ConvergenceWarning,
        )
