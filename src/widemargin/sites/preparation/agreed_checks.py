"""Checks of what neighbours say was concluded, before it is adopted."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from ...core.arrays import Array
from .agreed_preparation import agreed_preparation
from .column_statistics import LONGEST_NAME, MOST_LEVELS, MOST_NAMES, Agreed, ColumnStatistics
from .preparation import Preparation

__all__ = ["are_names", "check_agreed", "unlike"]

STAGES = ("sums", "squares", "sketch")
#: Relative difference from a site's own estimate that is put down to rounding.
CLOSE = 1e-6


def check_agreed(statistics: ColumnStatistics, agreed: Any) -> None:
    """Raise ValueError unless these are conclusions that sites with this schema can have."""
    if not isinstance(agreed, dict) or list(agreed) != [s for s in STAGES if s in agreed]:
        raise ValueError("conclusions must be those of stages, in order")
    so_far: Agreed = {}
    for stage, values in agreed.items():
        if statistics.next_stage(so_far) != stage:
            raise ValueError(f"there is no stage {stage!r} now")
        if not isinstance(values, dict):
            raise ValueError("a conclusion must be a table")
        shapes = _shapes(statistics, stage, so_far)
        if values.keys() != shapes.keys():
            raise ValueError(f"the stage {stage!r} must conclude {', '.join(shapes)}")
        for name, fits in shapes.items():
            if not fits(values[name]):
                raise ValueError(f"`{name}` of the stage {stage!r} is invalid")
        so_far[stage] = values
    if statistics.next_stage(so_far) is None:
        Preparation.from_dict(agreed_preparation(statistics, so_far).to_dict())


def _shapes(
    statistics: ColumnStatistics, stage: str, so_far: Agreed
) -> dict[str, Callable[[Any], bool]]:
    told, categories = len(statistics.told), len(statistics.categories)
    if stage == "sums" and statistics.schema.n_features:
        width, declared = statistics.compared, statistics.schema.declared
        return {
            "rows": lambda v: _is_count(v) and v > 0,
            "square": lambda v: v is None if declared else _is_real(v) and v >= 0,
            "typical": lambda v: _are(_is_real, v, width) and all(x >= 0 for x in v),
            "share": lambda v: _are(_is_real, v, width) and all(0 <= x <= 1 for x in v),
        }
    if stage == "sums":
        return {
            "rows": lambda v: _is_count(v) and v > 0,
            "present": lambda v: _are(_is_count, v, told),
            "mean": lambda v: _are(_is_real, v, told),
            "names": lambda v: are_names(statistics, v),
        }
    if stage == "squares":
        names = so_far["sums"]["names"]
        known = [{*names[name], "missing"} for name in statistics.categories]
        return {
            "deviation": lambda v: _are(_is_real, v, told) and all(x >= 0 for x in v),
            "levels": lambda v: (
                _are(_is_sorted, v, categories)
                and all(len(each) <= MOST_LEVELS for each in v)
                and all(set(each) <= among for each, among in zip(v, known, strict=True))
            ),
            "rare": lambda v: _are(lambda each: type(each) is bool, v, categories),
        }
    return {"median": lambda v: _are(_is_real, v, len(statistics.gappy(so_far)))}


def are_names(statistics: ColumnStatistics, names: Any) -> bool:
    """Return whether these are names of levels that sites with this schema can tell."""
    return (
        isinstance(names, dict)
        and list(names) == statistics.categories
        and all(_is_sorted(each) and len(each) <= MOST_NAMES for each in names.values())
    )


def unlike(mine: dict[str, Any], theirs: dict[str, Any], sizes: dict[str, Array]) -> str | None:
    """Return which value of a conclusion differs from a site's own by more than rounding.

    Differences are compared with the values, or with `sizes` of what they are the means of.
    """
    for name, value in mine.items():
        other = theirs[name]
        if name in ("names", "levels", "rare"):
            if value != other:
                return name
            continue
        if value is None or not np.size(value):
            continue
        a, b = np.atleast_1d(value), np.atleast_1d(other)
        if not np.all(np.abs(a - b) <= CLOSE * np.maximum(np.abs(a), sizes.get(name, 0.0))):
            return name
    return None


def _are(fits: Callable[[Any], bool], values: Any, count: int) -> bool:
    return isinstance(values, list) and len(values) == count and all(map(fits, values))


def _is_sorted(values: Any) -> bool:
    if not isinstance(values, list):
        return False
    texts = all(isinstance(text, str) and 0 < len(text) <= LONGEST_NAME for text in values)
    return texts and values == sorted(set(values))


def _is_real(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value) and abs(value) < 1e150


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53
