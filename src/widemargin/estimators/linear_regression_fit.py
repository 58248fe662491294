"""From a regression set to a fitted linear regressor: pose, budget, run, set.

The problems are those of the classifiers, with a target in every row and one class.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.blocks import RowBlock
from ..core.budget import Budget
from ..core.losses import LossConstants
from ..core.regression_set import RegressionSet, TargetUnits
from ..core.resources import memory_bytes, thread_count
from ..core.uneven_scales import UNEVEN_PENALTY, warn_if_few_features_dominate
from ..engines import LocalEngine
from ..linear.online_model import learnt, refuse_other_constant
from ..linear.problems import LinearProblems
from .linear_fit import LEARNT, budget_of, placed, train_linear
from .path import Path

# Objectives among the columns of the history: they have the square of the targets' unit.
OBJECTIVES = ("primal", "dual")


def units_of(estimator: Any, training: RegressionSet) -> TargetUnits:
    """Return what the fit of an estimator measures targets in."""
    units: TargetUnits = estimator._units(
        training.targets, training.weights, centred=estimator.fit_intercept
    )
    return units


def loss_of(estimator: Any, units: TargetUnits) -> LossConstants:
    """Return the loss of an estimator in the units of its fit."""
    return LossConstants.of(estimator._loss(), estimator.C).in_units(units.unit)


def block_of(training: RegressionSet, units: TargetUnits) -> RowBlock:
    """Return the rows of a training set with their targets in the units of a fit."""
    weights = None if np.all(training.weights == 1.0) else training.weights
    codes = np.zeros(len(training.targets), dtype=np.int32)
    return RowBlock(uuid.uuid4().hex, training.X, codes, weights, units.inside(training.targets))


def fit(estimator: Any, training: RegressionSet) -> None:
    """Solve the problem of a training set on the estimator's engine."""
    units, seed = units_of(estimator, training), estimator._seed()
    problems = _posed(estimator, training, units, seed)
    start = estimator._previous_weights(units) if estimator.warm_start else None
    try:
        keep = partial(set_fitted, estimator, units)
        train_linear(estimator, problems, keep, budget_of(estimator, problems, seed), start=start)
    finally:
        if isinstance(estimator.engine, str):  # made for this fit, without others' parts
            problems.engine.release()


def fit_path(estimator: Any, X: Any, y: Any, Cs: Any, sample_weight: Any) -> list[Any]:
    """Return fitted copies of a regressor for ``Cs``, each from its neighbour's solution."""
    path = Path.of(estimator, X, y, Cs, sample_weight)
    first = path.models[0]
    units, seed = units_of(first, path.training), first._seed()
    problems, neighbour = _posed(first, path.training, units, seed), None
    for label, model in path.labelled():
        neighbour = train_linear(
            model,
            replace(problems, constants=loss_of(model, units)),
            partial(set_fitted, model, units),
            budget_of(model, problems, seed),
            label=label,
            neighbour=neighbour,
            keep_duals=True,
        )
    return path.models


def _posed(
    estimator: Any, training: RegressionSet, units: TargetUnits, seed: int
) -> LinearProblems:
    names = getattr(estimator, "feature_names_in_", None)
    warn_if_few_features_dominate(training.X, UNEVEN_PENALTY, names)
    return placed(estimator, block_of(training, units), 1, loss_of(estimator, units), seed)


def partial_fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Go on learning from rows that are not kept."""
    first = not hasattr(estimator, "curvature_")
    _, training = estimator._training_set(X, y, sample_weight, reset=first)
    units = (
        units_of(estimator, training) if first else TargetUnits(*estimator._learnt_units.tolist())
    )
    problems = LinearProblems.of_blocks(
        LocalEngine(thread_count(estimator.n_jobs)),
        [block_of(training, units)],
        1,
        loss_of(estimator, units),
        estimator._constant,
    )
    if not first:
        refuse_other_constant(estimator, problems.constant)
    budget = Budget(
        memory=memory_bytes(estimator.memory_limit), threads=thread_count(estimator.n_jobs)
    )
    w = None if first else estimator._previous_weights(units)
    set_fitted(estimator, units, learnt(estimator, problems, budget, w))
    estimator._learnt_units = np.array([units.origin, units.unit])


def set_fitted(estimator: Any, units: TargetUnits, attributes: dict[str, Any]) -> None:
    """Set the fitted attributes, in the units of the targets as given."""
    for name in LEARNT:
        vars(estimator).pop(name, None)
    square = units.unit**2
    history = attributes["history_"]
    history.update({name: square * history[name] for name in OBJECTIVES if name in history})
    attributes["dual_gap_"] *= square
    attributes["coef_"] = units.unit * attributes["coef_"][0]
    attributes["intercept_"] = float(units.unit * attributes["intercept_"][0] + units.origin)
    vars(estimator).update(attributes)


def inside(coef: Array, intercept: float, constant: float, units: TargetUnits) -> Array:
    """Return the weights of a fitted model as a fit in these units has them, as (1, size)."""
    if constant == 0.0:
        return np.asarray(coef[None, :] / units.unit)
    own = (intercept - units.origin) / constant
    return np.append(coef, own)[None, :] / units.unit
