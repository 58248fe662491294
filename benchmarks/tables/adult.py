"""The adult census as a table, made again from its one-hot form a9a.

a9a has fourteen groups of indicators, one for each column of the census; numbers were cut into
fifths. A row without an indicator in a group has no value there: ``?`` in the census. Categories
get names again, and numbers any value of their fifth, so the table says what a9a says.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.race.data import load

# Columns in the order of a9a: indicators, and the bounds of a number's fifths.
GROUPS: tuple[tuple[str, int, tuple[int, ...] | None], ...] = (
    ("age", 5, (17, 26, 33, 41, 50, 90)),
    ("workclass", 8, None),
    ("fnlwgt", 5, (12_000, 106_000, 158_000, 196_000, 259_000, 1_480_000)),
    ("education", 16, None),
    ("education-num", 5, (1, 9, 10, 11, 13, 17)),
    ("marital-status", 7, None),
    ("occupation", 14, None),
    ("relationship", 6, None),
    ("race", 5, None),
    ("sex", 2, None),
    ("capital-gain", 2, (0, 1, 99_999)),
    ("capital-loss", 2, (0, 1, 4_356)),
    ("hours-per-week", 5, (1, 35, 40, 41, 50, 100)),
    ("native-country", 41, None),
)


def adult() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return training and test rows with the label column ``income``."""
    data = load("a9a")
    rng = np.random.default_rng(0)
    return _table(data.X, data.y, rng), _table(data.X_test, data.y_test, rng)


def _table(X: object, y: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    dense = np.zeros((len(y), sum(width for _, width, _ in GROUPS)), dtype=bool)
    rows, columns = X.nonzero()  # type: ignore[attr-defined]
    dense[rows, columns] = True
    table, first = {}, 0
    for name, width, bounds in GROUPS:
        group = dense[:, first : first + width]
        first += width
        level = np.where(group.any(axis=1), group.argmax(axis=1), -1)
        if bounds is None:
            names = np.array([*(f"{name}-{k + 1}" for k in range(width)), "?"], dtype=object)
            table[name] = names[level]
        else:
            low, high = np.array(bounds[:-1]), np.array(bounds[1:])
            numbers = rng.integers(low[level], high[level]).astype(str).astype(object)
            table[name] = np.where(level < 0, "?", numbers)
    return pd.DataFrame({**table, "income": np.where(y > 0, ">50K", "<=50K")})
