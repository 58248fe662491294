"""The rules that label the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.race.generated import waves

Labelled = tuple[np.ndarray, np.ndarray]
FLIPPED = 0.05
BOXES, SIDES = 12, 3
RELEVANT = 6


def boxes(rows: int, number: int, features: int) -> Labelled:
    """Return rows in the unit cube; those in an odd number of boxes are positive, 5 % flipped."""
    X = np.random.default_rng([number, rows]).random((rows, features), dtype=np.float32)
    rule = np.random.default_rng(2024)
    inside = np.zeros(rows, dtype=bool)
    for _ in range(BOXES):
        within = np.ones(rows, dtype=bool)
        for feature in rule.choice(RELEVANT, SIDES, replace=False):
            low = 0.5 * rule.random()
            within &= (X[:, feature] > low) & (X[:, feature] < low + 0.5)
        inside ^= within
    flipped = np.random.default_rng([number, rows, 1]).random(rows) < FLIPPED
    return X, np.where(inside ^ flipped, 1, -1)


RULES: dict[str, Callable[[int, int, int], Labelled]] = {"waves": waves, "boxes": boxes}
