"""Graphs by name that are drawn at random, by networkx.

==============  =================================================  ===================
name            neighbours of a site                               options
==============  =================================================  ===================
random_regular  the same number for every site                     degree
erdos_renyi     every other site with the same probability         probability
small_world     the nearest on a ring; some links lead elsewhere   degree, probability
==============  =================================================  ===================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from .families import Pairs, check_whole, complete

# Of the families with a degree, where nothing else is asked for.
DEGREE = 4


def random_regular(n_sites: int, seed: int, *, degree: int | None = None) -> Pairs:
    """Draw a graph whose sites have ``degree`` neighbours each, by default 4."""
    degree = _degree("random_regular", n_sites, degree)
    if n_sites * degree % 2:
        raise ValueError(
            f"`degree` of 'random_regular' must be even, since `n_sites`={n_sites} is odd; "
            f"got {degree}. Take {degree - 1} or {degree + 1}."
        )
    draw = _networkx("random_regular").random_regular_graph
    if 2 * degree < n_sites:
        return _pairs(draw(degree, n_sites, seed=seed))
    # Dense graphs are hard to draw; the links that they lack are as easy as those of a sparse one.
    absent = np.zeros((n_sites, n_sites), dtype=bool)
    first, second = _pairs(draw(n_sites - 1 - degree, n_sites, seed=seed))
    absent[first, second] = absent[second, first] = True
    first, second = complete(n_sites)
    present = ~absent[first, second]
    return first[present], second[present]


def erdos_renyi(n_sites: int, seed: int, *, probability: float | None = None) -> Pairs:
    """Link every pair with a probability, by default 2 ln(n_sites) / n_sites.

    That is twice the probability from which on large graphs are connected.
    """
    if probability is None:
        probability = min(1.0, 2 * math.log(n_sites) / n_sites) if n_sites > 2 else 1.0
    elif not (isinstance(probability, Real) and 0 < probability <= 1):
        raise ValueError(f"`probability` of 'erdos_renyi' must be in (0, 1]; got {probability!r}.")
    draw = _networkx("erdos_renyi").fast_gnp_random_graph
    return _pairs(draw(n_sites, float(probability), seed=seed))


def small_world(
    n_sites: int, seed: int, *, degree: int | None = None, probability: float = 0.1
) -> Pairs:
    """Link the ``degree`` nearest on a ring, by default 4; move links with a probability."""
    if not (isinstance(probability, Real) and 0 <= probability <= 1):
        raise ValueError(f"`probability` of 'small_world' must be in [0, 1]; got {probability!r}.")
    degree = _degree("small_world", n_sites, degree)
    draw = _networkx("small_world").watts_strogatz_graph
    if degree == n_sites - 1:
        return complete(n_sites)
    if degree % 2:
        raise ValueError(
            "`degree` of 'small_world' must be even, half of it on either side; "
            f"got {degree}. Take {degree - 1} or {degree + 1}."
        )
    return _pairs(draw(n_sites, degree, float(probability), seed=seed))


# Each with the option that makes its graphs connected if it is raised.
RANDOM_FAMILIES: dict[str, tuple[Callable[..., Pairs], str]] = {
    "random_regular": (random_regular, "degree"),
    "erdos_renyi": (erdos_renyi, "probability"),
    "small_world": (small_world, "degree"),
}


def _degree(family: str, n_sites: int, degree: int | None) -> int:
    if degree is None:
        return min(DEGREE, n_sites - 1)
    check_whole(family, "degree", degree, min(2, n_sites - 1), n_sites - 1)
    return int(degree)


def _networkx(family: str) -> Any:
    try:
        import networkx
    except ImportError as error:
        raise ImportError(
            f"topology={family!r} needs networkx. Install it with: pip install 'widemargin[gossip]'"
        ) from error
    return networkx


def _pairs(graph: Any) -> Pairs:
    ends = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]
