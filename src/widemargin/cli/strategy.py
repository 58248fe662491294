"""From command-line options to a strategy."""

from __future__ import annotations

import sys
from typing import Any

from widemargin.cli.messages import usage_error

__all__ = ["OPTIONS", "strategy_with"]

# Parameters of the strategies and the options that set them.
OPTIONS = {
    "levels": "--levels",
    "fan_in": "--fan-in",
    "stop_level": "--stop-level",
    "validation_fraction": "--validation-fraction",
    "n_strata": "--strata",
    "n_sample": "--sample",
}


def strategy_with(name: str | None, given: dict[str, Any], *, undivided: str | None = None) -> Any:
    """Return what the estimator takes as ``strategy``, or end with a usage error.

    Parameters
    ----------
    name : str or None
        As given; None leaves the choice to the estimator.
    given : dict
        Parameters of the strategy; None where they were left out.
    undivided : str or None
        The option, if any, by which rows are trained on without a kernel, and so never divided.

    Returns
    -------
    Strategy, str or None
        An object where parameters were given; otherwise the name, which the estimator checks.
    """
    given = {key: value for key, value in given.items() if value is not None}
    if not given:
        return name
    from widemargin.kernel.divide.strategies import STRATEGIES

    option = OPTIONS[min(given)]
    if undivided is not None:
        raise usage_error(f"{option} is no setting of {undivided}, which never divides the rows.")
    if name is None or name in ("auto", "exact"):
        raise usage_error(
            f"{option} says how the rows are divided; give a --strategy that divides them too: "
            f"{', '.join(STRATEGIES)}."
        )
    if name not in STRATEGIES:
        return name
    foreign = sorted(set(given) - set(STRATEGIES[name]().get_params()))
    if foreign:
        raise usage_error(f"{OPTIONS[foreign[0]]} is no setting of --strategy {name}.")
    strategy = STRATEGIES[name](**given)
    try:
        # Before the data are read; how many rows there are is told by the fit.
        strategy._validate_params()
        strategy.plan(sys.maxsize)
    except ValueError as error:
        raise usage_error(str(error)) from None
    return strategy
