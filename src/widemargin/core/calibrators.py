r"""Calibrators: increasing functions that turn decisions into probabilities.

A calibrator belongs to one column of decisions and is fitted to rows that the model behind the
decisions was not trained on. All columns are fitted together and kept as plain arrays, in the
dictionary that estimators call ``calibration_``:

===============  =================================================================================
``method``       'sigmoid' or 'isotonic'
``scheme``       what the columns are, see :mod:`.class_probabilities`
``slope``        sigmoid, (n_columns,): :math:`a \ge 0` of :math:`1 / (1 + e^{-(a f + b)})`
``offset``       sigmoid, (n_columns,): :math:`b`
``start``        isotonic, (n_columns + 1,): where the knots of each column begin and end
``decision``     isotonic, (n_knots,): decisions, ascending within a column
``probability``  isotonic, (n_knots,): their probabilities; linear in between, constant outside
===============  =================================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .arrays import Array

METHODS = ("sigmoid", "isotonic")
# Newton steps for a sigmoid; about eight are needed.
STEPS = 100
# A column is fitted when no derivative exceeds this share of its total weight.
ACCURACY = 1e-10
# Added to the curvature, per unit of weight, where all decisions are equal.
RIDGE = 1e-12
# A step is halved until the loss falls by at least this share of what its slope promises,
SUFFICIENT = 1e-4
# at most this often; a rise by rounding, relative to the loss, is none.
HALVINGS = 40
ROUNDING = 1e-14

Calibration = dict[str, Any]


def fit_calibrators(
    method: str,
    scheme: str,
    decisions: Array,
    positive: NDArray[np.bool_],
    weight: Array,
    prior: float = 1.0,
) -> Calibration:
    """Fit one calibrator per column.

    Parameters
    ----------
    method : {'sigmoid', 'isotonic'}
        Form of the calibrators.
    scheme : str
        What the columns are; kept with the calibrators.
    decisions : array of shape (n_rows, n_columns)
        Decisions on rows that were not trained on.
    positive : array of bool, broadcast to the shape of ``decisions``
        Whether a row belongs to the class that a positive decision speaks for.
    weight : array, broadcast to the shape of ``decisions``
        Weights of the rows; zero where a row says nothing about a column.
    prior : float
        Rows of either class that the data are thought to lack, see :func:`_targets`.
    """
    positive = np.broadcast_to(positive, decisions.shape)
    weight = np.broadcast_to(weight, decisions.shape)
    high, low = _targets(positive, weight, prior)
    if method == "sigmoid":
        slope, offset = _sigmoids(decisions, np.where(positive, high, low), weight)
        return {"method": method, "scheme": scheme, "slope": slope, "offset": offset}
    return {"method": method, "scheme": scheme} | _isotonics(decisions, positive, weight, high, low)


def calibrated(calibration: Calibration, decisions: Array) -> Array:
    """Return the probability of the positive class in every column."""
    if calibration["method"] == "sigmoid":
        return np.asarray(expit(decisions * calibration["slope"] + calibration["offset"]))
    start = calibration["start"]
    out = np.empty(decisions.shape)
    for k in range(decisions.shape[1]):
        knots = slice(start[k], start[k + 1])
        out[:, k] = np.interp(
            decisions[:, k], calibration["decision"][knots], calibration["probability"][knots]
        )
    return out


def _targets(positive: NDArray[np.bool_], weight: Array, prior: float) -> tuple[Array, Array]:
    """Return Platt's targets of positive and negative rows, by column.

    With :math:`N_+` and :math:`N_-` rows they are :math:`(N_+ + 1) / (N_+ + 2)` and
    :math:`1 / (N_- + 2)` instead of 1 and 0, for a ``prior`` of one row of either class.
    """
    above = np.where(positive, weight, 0.0).sum(axis=0)
    below = np.where(positive, 0.0, weight).sum(axis=0)
    return (above + prior) / (above + 2.0 * prior), prior / (below + 2.0 * prior)


def _sigmoids(decisions: Array, target: Array, weight: Array) -> tuple[Array, Array]:
    r"""Minimise the cross-entropy to the targets over slope and offset, by a damped Newton method.

    J. Platt, "Probabilistic outputs for support vector machines", 1999, with the safeguards of
    H.-T. Lin, C.-J. Lin and R. C. Weng, "A note on Platt's probabilistic outputs for support vector
    machines", Machine Learning 68, 2007. Departures: (1) all columns at once; (2) decisions are
    divided by their root mean square first; (3) a slope that would be negative is zero, which is
    the optimum among those that are not, as the problem is convex.
    """
    total = weight.sum(axis=0)
    share = weight / np.where(total > 0, total, 1.0)
    scale = np.sqrt((share * decisions**2).sum(axis=0))
    scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
    f = decisions / scale
    mean = np.where(total > 0, (share * target).sum(axis=0), 0.5)
    flat = np.log(mean) - np.log1p(-mean)  # the offset where the slope is zero
    a, b = np.zeros_like(flat), flat.copy()
    loss = _cross_entropy(a, b, f, target, share)
    moving = np.ones(flat.shape, dtype=np.bool_)
    for _ in range(STEPS):
        p = expit(a * f + b)
        error, curvature = share * (p - target), share * p * (1.0 - p)
        ga, gb = (error * f).sum(axis=0), error.sum(axis=0)
        moving &= np.maximum(np.abs(ga), np.abs(gb)) > ACCURACY
        if not moving.any():
            break
        haa = (curvature * f * f).sum(axis=0) + RIDGE
        hab, hbb = (curvature * f).sum(axis=0), curvature.sum(axis=0) + RIDGE
        determinant = haa * hbb - hab * hab
        da = np.where(moving, -(hbb * ga - hab * gb) / determinant, 0.0)
        db = np.where(moving, -(haa * gb - hab * ga) / determinant, 0.0)
        descent, step = ga * da + gb * db, np.ones_like(a)
        for _ in range(HALVINGS):
            trial = _cross_entropy(a + step * da, b + step * db, f, target, share)
            short = trial > loss * (1.0 + ROUNDING) + SUFFICIENT * step * descent
            if not short.any():
                break
            step = np.where(short, 0.5 * step, step)
        moving &= ~short  # a step that cannot be short enough: rounding leaves nothing to gain
        step = np.where(moving, step, 0.0)
        a, b, loss = a + step * da, b + step * db, np.where(moving, trial, loss)
    rising = a > 0
    return np.where(rising, a / scale, 0.0), np.where(rising, b, flat)


def _cross_entropy(a: Array, b: Array, f: Array, target: Array, share: Array) -> Array:
    z = a * f + b
    return np.asarray((share * (np.logaddexp(0.0, z) - target * z)).sum(axis=0))


def _isotonics(
    decisions: Array, positive: NDArray[np.bool_], weight: Array, high: Array, low: Array
) -> Calibration:
    """Fit increasing steps, kept within Platt's targets: no finite set of rows proves 0 or 1."""
    from sklearn.isotonic import IsotonicRegression

    knots, values, sizes = [], [], [0]
    for k in range(decisions.shape[1]):
        used = np.flatnonzero(weight[:, k] > 0)
        if used.size == 0:
            at, probability = np.zeros(1), np.full(1, 0.5)
        else:
            steps = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            steps.fit(decisions[used, k], positive[used, k].astype(float), weight[used, k])
            at = np.asarray(steps.X_thresholds_, dtype=np.float64)
            probability = np.clip(steps.y_thresholds_, min(low[k], 0.5), max(high[k], 0.5))
        knots.append(at)
        values.append(probability)
        sizes.append(at.size)
    return {
        "start": np.cumsum(sizes).astype(np.int64),
        "decision": np.concatenate(knots),
        "probability": np.concatenate(values).astype(np.float64),
    }
