"""A large sparse set that needs no download: rows like those of texts, labels of a linear rule."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

ROWS, FEATURES = 200_000, 50_000
DRAWS = 80  # features drawn for a row; some are drawn twice
# A feature's frequency is proportional to (rank + OFFSET) ** -POWER, as that of words.
POWER, OFFSET = 1.1, 20.0
RELEVANT = 5_000
NOISE, FLIPPED = 0.3, 0.02


def generate(rows: int = ROWS, features: int = FEATURES) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return rows of unit length, float32, and labels ±1; the same at every call.

    The label is the sign of a linear function of a tenth of the features, with Gaussian noise (0.3
    of the function's deviation), centred so that both classes are equally frequent; 2 % of the
    labels are turned.
    """
    random = np.random.default_rng(0)
    frequency = np.cumsum((np.arange(features) + OFFSET) ** -POWER)
    drawn = np.searchsorted(frequency, random.random(rows * DRAWS) * frequency[-1])
    values = random.exponential(size=rows * DRAWS).astype(np.float32)
    starts = np.arange(0, rows * DRAWS + 1, DRAWS)
    X = sp.csr_matrix((values, drawn.astype(np.int32), starts), shape=(rows, features))
    X.sum_duplicates()
    X = normalize(X)
    rule = np.zeros(features)
    relevant = random.choice(features, min(RELEVANT, features // 10), replace=False)
    rule[relevant] = random.standard_normal(len(relevant))
    score = X @ rule
    score += NOISE * score.std() * random.standard_normal(rows)
    label = np.where(score > np.median(score), 1, -1)
    label[random.random(rows) < FLIPPED] *= -1
    return X, label
