"""The checkpoint folder that belongs to a fit."""

from __future__ import annotations

from typing import Any

from .. import __version__
from ..kernel.divide.checkpoints import Checkpoints, identity_of
from ..kernel.divide.strategies import Strategy
from .exact_fit import FitInputs
from .validation import ValidationSet

# Settings that change how a fit runs, but not what its levels are.
NO_MATTER = ("n_jobs", "verbose", "max_time", "checkpoint", "engine", "warm_start")


def checkpoints_of(
    estimator: Any,
    inputs: FitInputs,
    strategy: Strategy,
    validation: ValidationSet | None,
    seed: int,
) -> Checkpoints:
    """Find the folder by all that shapes the levels: data, settings, seed."""
    settings = shaping_settings(estimator, strategy, seed)
    arrays = [inputs.rows, inputs.training.codes, inputs.weights]
    if inputs.previous is not None:
        arrays.append(inputs.previous)
    if validation is not None:
        arrays += [validation.X, validation.codes]
    return Checkpoints(estimator.checkpoint, identity_of(arrays, settings))


def shaping_settings(estimator: Any, strategy: Strategy, seed: int) -> dict[str, Any]:
    """Return the settings that shape the levels of a fit."""
    settings = estimator.get_params(deep=False)
    for name in NO_MATTER:
        del settings[name]
    levels = strategy.get_params()
    del levels["stop_level"]  # the same levels, stopped elsewhere
    settings["strategy"] = [type(strategy).__name__, levels]
    settings["random_state"] = seed
    if callable(estimator.kernel):
        settings["kernel"] = "function"  # what it computes is among the data
    return {**settings, "estimator": type(estimator).__name__, "version": __version__}
