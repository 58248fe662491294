"""Other ways to predict with the local models of a level, for [DC] Tables 1 and 6.

``members`` is an array of shape (parts, rows): the decision of each part's model alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logit

from widemargin.core.resources import thread_count
from widemargin.kernel.model import prediction
from widemargin.kernel.model.level_model import LevelModel

CALIBRATION_ROWS, LARGEST_SLOPE = 500, 50.0


def level_model(classifier: Any) -> LevelModel:
    """Return the decision function of a binary classifier, with its parts."""
    return prediction.level_model(classifier, 0)


def local_decisions(model: LevelModel, X: Any) -> np.ndarray:
    """Evaluate every part's model alone."""
    return model.local_decisions(X, thread_count(None))


def naive_sum(members: np.ndarray) -> np.ndarray:
    """Add the decisions up: [DC] Eqn. (5)."""
    return members.sum(axis=0)


def vote(members: np.ndarray) -> np.ndarray:
    """Count the parts for either class: bagging."""
    return np.sign(members).sum(axis=0)


def committee(members: np.ndarray, slopes: np.ndarray, prior: float) -> np.ndarray:
    r"""Combine as a Bayesian committee machine: log odds of :math:`\prod_k p_k / p^{K-1}`.

    Member k takes a row for positive with log odds ``slopes[k] · decision + logit(prior)``. There
    is no free constant: the models have no bias, so a member knows nothing (decision 0) away from
    its rows, and must return the prior there. K − 1 of the K priors cancel.
    """
    return np.asarray(slopes @ members + logit(prior))


def committee_slopes(model: LevelModel, X: Any, positive: np.ndarray, prior: float) -> np.ndarray:
    """Fit the slope of every member on at most 500 of the training rows that are nearest to it."""
    assert model.router is not None
    group = model.router.assign(X, thread_count(None))
    random = np.random.default_rng(0)
    slopes = np.zeros(model.n_parts)  # zero for a part that is nearest to no row
    for k in np.unique(group):
        own = np.flatnonzero(group == k)
        if len(own) > CALIBRATION_ROWS:
            own = random.choice(own, CALIBRATION_ROWS, replace=False)
        slopes[k] = _slope(model.alone(k).decide(X[own], thread_count(None)), positive[own], prior)
    return slopes


def _slope(decision: np.ndarray, positive: np.ndarray, prior: float) -> float:
    """Maximise the likelihood of a sigmoid through the prior, with Platt's cautious targets."""
    ahead, behind = int(positive.sum()), int((~positive).sum())
    target = np.where(positive, (ahead + 1) / (ahead + 2), 1 / (behind + 2))

    def loss(slope: float) -> float:
        odds = slope * decision + logit(prior)
        return float(np.sum(np.logaddexp(0.0, odds) - target * odds))

    return float(minimize_scalar(loss, bounds=(0.0, LARGEST_SLOPE), method="bounded").x)
