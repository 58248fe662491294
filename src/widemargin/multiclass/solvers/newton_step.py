"""How far to go along a direction: to where the slope has all but vanished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ...core.arrays import Array

# Share of the first slope that may be left.
SLOPE_LEFT = 0.1
# Newton's steps are rarely too short by more than this, in powers of two.
MOST_DOUBLINGS = 10
# Rounding is all that is left of an interval that was cut so often.
MOST_CUTS = 60


class Slopes(Protocol):
    """Losses along a direction."""

    def look_along(self, direction: Array) -> None:
        """Prepare for slopes along a direction."""
        ...

    def slope(self, step: float, width: float) -> float:
        """Return the derivative a step along it."""
        ...


def best_step(losses: Slopes, w: Array, gradient: Array, direction: Array, width: float) -> float:
    """Return a step with hardly a slope at its end; 0 if the direction does not lead down."""
    first = float(np.vdot(gradient, direction))
    if not first < 0.0:
        return 0.0
    losses.look_along(direction)
    along, squared = float(np.vdot(w, direction)), float(np.vdot(direction, direction))

    def slope(step: float) -> float:
        return along + step * squared + losses.slope(step, width)

    enough = SLOPE_LEFT * -first
    near, slope_near, far, slope_far = 0.0, first, 1.0, slope(1.0)
    for _ in range(MOST_DOUBLINGS):
        if slope_far >= -enough:
            break
        near, slope_near, far = far, slope_far, 2 * far
        slope_far = slope(far)
    if slope_far <= enough:
        return far
    return _false_position(slope, (near, slope_near), (far, slope_far), enough)


def _false_position(
    slope: Callable[[float], float],
    near: tuple[float, float],
    far: tuple[float, float],
    enough: float,
) -> float:
    """Cut an interval at whose ends the slope has different signs; ends are (step, slope).

    An end that stays twice has its slope halved (Illinois rule), or it would stay for good.
    """
    step, stayed = near[0], 0
    for _ in range(MOST_CUTS):
        step = (near[0] * far[1] - far[0] * near[1]) / (far[1] - near[1])
        found = slope(step)
        if abs(found) <= enough or not near[0] < step < far[0]:
            break
        if found < 0:
            near = step, found
            far = far[0], far[1] / 2 if stayed > 0 else far[1]
            stayed = 1
        else:
            far = step, found
            near = near[0], near[1] / 2 if stayed < 0 else near[1]
            stayed = -1
    return step
