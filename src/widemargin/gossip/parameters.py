"""Checks of the parameters of methods."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["require_count", "require_positive"]


def require_positive(name: str, value: Any, most: float = np.inf, instead: str = "") -> None:
    """Raise ValueError unless a value is positive, finite and at most ``most``.

    ``instead`` is what else is allowed, for the message.
    """
    if not isinstance(value, Real) or not 0 < float(value) <= most or np.isinf(float(value)):
        end = "positive and finite" if np.isinf(most) else f"in (0, {most:g}]"
        end = f"{instead} or {end}" if instead else end
        raise ValueError(f"`{name}` must be {end}; got {value!r}.")


def require_count(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless a value is a whole number from ``least``."""
    if not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"`{name}` must be a whole number from {least}; got {value!r}.")
