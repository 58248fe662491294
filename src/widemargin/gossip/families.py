"""Graphs by name that need no chance.

========  ============================================  ========
name      neighbours of a site                          options
========  ============================================  ========
complete  everybody
ring      the site before and the site after
star      site 0, which has all others
grid      those to the left and right, above and below  columns
torus     the same; opposite edges meet                 columns
========  ============================================  ========
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
# Both ends of every pair of neighbours. Neither order nor repetition matters, and a site that is
# paired with itself is left alone.
Pairs: TypeAlias = tuple[Integers, Integers]


def complete(n_sites: int) -> Pairs:
    """Link everybody with everybody."""
    first, second = np.triu_indices(n_sites, 1)
    return first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)


def ring(n_sites: int) -> Pairs:
    """Link every site with the next, and the last with the first."""
    site = np.arange(n_sites, dtype=np.int64)
    return site, (site + 1) % n_sites


def star(n_sites: int) -> Pairs:
    """Link site 0 with all others."""
    others = np.arange(1, n_sites, dtype=np.int64)
    return np.zeros_like(others), others


def grid(n_sites: int, *, columns: int | None = None) -> Pairs:
    """Fill a grid row by row; the last row may stay short.

    By default it is as wide as it is high, or one column wider.
    """
    columns = _columns("grid", n_sites, columns)
    site = np.arange(n_sites, dtype=np.int64)
    left = site[(site % columns < columns - 1) & (site < n_sites - 1)]
    above = site[: max(n_sites - columns, 0)]
    return np.concatenate([left, above]), np.concatenate([left + 1, above + columns])


def torus(n_sites: int, *, columns: int | None = None) -> Pairs:
    """Fill a grid likewise and close its rows and its columns to rings.

    With three rows and columns or more every site has four neighbours, save in a last row of one
    or two sites.
    """
    columns = _columns("torus", n_sites, columns)
    site = np.arange(n_sites, dtype=np.int64)
    row_start = site - site % columns
    row_length = np.minimum(columns, n_sites - row_start)
    right = row_start + (site - row_start + 1) % row_length
    below = np.where(site + columns < n_sites, site + columns, site % columns)
    return np.concatenate([site, site]), np.concatenate([right, below])


FAMILIES: dict[str, Callable[..., Pairs]] = {
    "complete": complete,
    "ring": ring,
    "star": star,
    "grid": grid,
    "torus": torus,
}


def check_whole(family: str, option: str, value: object, low: int, high: int) -> None:
    """Raise unless an option is a whole number within bounds."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= value <= high:  # type: ignore[operator]
        raise ValueError(
            f"`{option}` of {family!r} must be an integer from {low} to {high} for this number of "
            f"sites; got {value!r}."
        )


def _columns(family: str, n_sites: int, columns: int | None) -> int:
    if columns is None:
        return math.isqrt(n_sites - 1) + 1
    check_whole(family, "columns", columns, 1, n_sites)
    return int(columns)
