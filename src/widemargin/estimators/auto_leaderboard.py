"""The table of all that a search tried, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .auto_search import Trial


def leaderboard(trials: Sequence[Trial], best: Trial | None) -> dict[str, Any]:
    """Return the trials as columns, the best first.

    Trials on more rows, and on more splits, come before others: their scores say more. Of the
    others, the higher score comes first.
    """

    def key(trial: Trial) -> tuple[bool, int, int, float]:
        return trial is not best, -trial.rung.rows, -trial.rung.splits, -trial.score

    ranked = sorted(trials, key=key)
    return {
        "rank": np.arange(1, len(ranked) + 1),
        "name": np.array([each.candidate.name for each in ranked], dtype=object),
        "params": [each.candidate.params for each in ranked],
        "rows": np.array([each.rung.rows for each in ranked], dtype=np.int64),
        "splits": np.array([each.rung.splits for each in ranked], dtype=np.int64),
        "score": np.array([each.score for each in ranked]),
        "std_score": np.array([each.scores.std() for each in ranked]),
        "seconds": np.array([each.seconds for each in ranked]),
        "converged": np.array([each.converged for each in ranked], dtype=np.bool_),
    }
