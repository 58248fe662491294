"""The fitted attributes of a linear model that goes on learning, wherever its rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import Budget
from .history import LinearHistory
from .model import split_weights
from .online import absorb_all, first_state
from .problems import LinearProblems


def learn(estimator: Any, problems: LinearProblems, budget: Budget, labels: NDArray[Any]) -> None:
    """Go on learning from posed rows, and set what comes of it."""
    first = not hasattr(estimator, "curvature_")
    attributes = learnt(
        estimator, problems, budget, None if first else estimator._previous_weights(labels)
    )
    estimator.classes_ = labels
    vars(estimator).pop("calibration_", None)  # of an earlier fit
    vars(estimator).update(attributes)


def learnt(
    estimator: Any, problems: LinearProblems, budget: Budget, w: Array | None
) -> dict[str, Any]:
    """Go on learning from posed rows; return the fitted attributes after them.

    ``w`` are the weights before, None before the first rows.
    """
    first = w is None
    if w is None:
        w, past = first_state(problems, budget.memory)
    else:
        past = estimator.curvature_
    if problems.n_rows:
        w, past = absorb_all(problems, budget, w, past)
    coef, intercept = split_weights(w, problems.constant)
    return {
        "coef_": coef,
        "intercept_": intercept,
        "curvature_": past,
        "_learnt_constant": problems.constant,
        "n_samples_seen_": problems.n_rows + (0 if first else estimator.n_samples_seen_),
        "n_iter_": 1 + (0 if first else estimator.n_iter_),
        "solver_": "online",
        "converged_": False,
        "dual_gap_": np.nan,
        "relative_gap_": np.nan,
        "history_": LinearHistory().table(),
    }


def refuse_other_constant(estimator: Any, constant: float) -> None:
    """Raise ValueError where the constant feature is not that of the rows learnt before."""
    size = estimator.n_features_in_ + (constant != 0)
    if size != estimator.curvature_.shape[1]:
        changed = "fit_intercept"
    # Models saved by older versions do not hold it.
    elif getattr(estimator, "_learnt_constant", constant) != constant:
        changed = "intercept_scaling"
    else:
        return
    raise ValueError(
        f"`{changed}` has changed since the last call of `partial_fit`. Use a new estimator."
    )
