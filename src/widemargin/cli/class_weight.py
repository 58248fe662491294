"""The ``--class-weight`` option."""

from __future__ import annotations

from typing import Any

from widemargin.cli.messages import usage_error

__all__ = ["parse_class_weight"]


def parse_class_weight(given: list[str], y: Any) -> dict[Any, float] | str | None:
    """Translate the option to the estimator's ``class_weight``.

    Parameters
    ----------
    given : list of str
        Empty, ``["balanced"]``, or texts ``LABEL=WEIGHT``.
    y : ndarray
        The labels, to find the one that a text means.

    Returns
    -------
    dict, "balanced" or None
        Classes that are not named keep the weight 1.
    """
    import numpy as np

    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    labels = {str(label): label for label in np.unique(y).tolist()}
    weights: dict[Any, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = float("nan")
        if not equals or not 0 < weight < float("inf"):
            raise usage_error(
                "--class-weight must be `balanced` or LABEL=WEIGHT with a positive weight; "
                f"got {text!r}."
            )
        if name not in labels:
            known = ", ".join(list(labels)[:10])
            raise usage_error(f"--class-weight: no row is labelled {name!r}; found {known}.")
        if labels[name] in weights:
            raise usage_error(f"--class-weight gives {name!r} twice.")
        weights[labels[name]] = weight
    return weights
