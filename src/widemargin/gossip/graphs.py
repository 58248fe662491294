"""Graphs by name, or given by the user, as pairs of neighbours; networkx draws the random ones.

==============  =================================================  ===================
name            neighbours of a site                               options
==============  =================================================  ===================
complete        all other sites
ring            the previous and the next site
star            site 0, whose neighbours are all others
grid            left and right, above and below                    columns
torus           the same, with opposite edges joined               columns
random_regular  the same number for every site                     degree
erdos_renyi     every other site with the same probability         probability
small_world     the nearest on a ring, some links redirected       degree, probability
==============  =================================================  ===================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
# Both ends of every pair of neighbours, in any order. Repeated pairs count once, and a site paired
# with itself is ignored.
Pairs: TypeAlias = tuple[Integers, Integers]
# Default of the random families with a degree.
DEGREE = 4


def complete(n_sites: int) -> Pairs:
    """Link every pair of sites."""
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
    """Fill a grid row by row; the last row may be shorter.

    By default the grid is square, or one column wider.
    """
    columns = _columns("grid", n_sites, columns)
    site = np.arange(n_sites, dtype=np.int64)
    left = site[(site % columns < columns - 1) & (site < n_sites - 1)]
    above = site[: max(n_sites - columns, 0)]
    return np.concatenate([left, above]), np.concatenate([left + 1, above + columns])


def torus(n_sites: int, *, columns: int | None = None) -> Pairs:
    """Fill a grid in the same way and close its rows and columns to rings.

    With three rows and columns or more every site has four neighbours, except in a last row of
    one or two sites.
    """
    columns = _columns("torus", n_sites, columns)
    site = np.arange(n_sites, dtype=np.int64)
    row_start = site - site % columns
    row_length = np.minimum(columns, n_sites - row_start)
    right = row_start + (site - row_start + 1) % row_length
    below = np.where(site + columns < n_sites, site + columns, site % columns)
    return np.concatenate([site, site]), np.concatenate([right, below])


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
    # Dense graphs are hard to draw, so the links that are absent are drawn instead.
    absent = np.zeros((n_sites, n_sites), dtype=bool)
    first, second = _pairs(draw(n_sites - 1 - degree, n_sites, seed=seed))
    absent[first, second] = absent[second, first] = True
    first, second = complete(n_sites)
    present = ~absent[first, second]
    return first[present], second[present]


def erdos_renyi(n_sites: int, seed: int, *, probability: float | None = None) -> Pairs:
    """Link every pair with a probability, by default 2 ln(n_sites) / n_sites.

    That is twice the threshold beyond which large graphs are connected.
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
    """Link the ``degree`` nearest on a ring, by default 4; redirect links with a probability."""
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


FAMILIES: dict[str, Callable[..., Pairs]] = {
    family.__name__: family for family in (complete, ring, star, grid, torus)
}
# Each with the option to raise if its graphs are not connected.
RANDOM_FAMILIES: dict[str, tuple[Callable[..., Pairs], str]] = {
    "random_regular": (random_regular, "degree"),
    "erdos_renyi": (erdos_renyi, "probability"),
    "small_world": (small_world, "degree"),
}


def _check_whole(family: str, option: str, value: object, low: int, high: int) -> None:
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
    _check_whole(family, "columns", columns, 1, n_sites)
    return int(columns)


def _degree(family: str, n_sites: int, degree: int | None) -> int:
    if degree is None:
        return min(DEGREE, n_sites - 1)
    _check_whole(family, "degree", degree, min(2, n_sites - 1), n_sites - 1)
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


class GivenGraph(NamedTuple):
    """A graph that was given: its links lead from the first to the second of each pair.

    ``labels`` are the names of its sites, or None; ``values`` the weights of its links, or None.
    """

    n_sites: int
    pairs: Pairs
    labels: tuple[Hashable, ...] | None
    values: NDArray[np.float64] | None = None

    def in_order_of(self, labels: tuple[Hashable, ...]) -> GivenGraph:
        """Return the graph with its sites numbered in the order of these names."""
        assert self.labels is not None
        place = {label: number for number, label in enumerate(labels)}
        if foreign := [label for label in self.labels if label not in place]:
            raise ValueError(
                "The graphs of a list must have the same nodes; the first has no node "
                f"{foreign[0]!r}."
            )
        new = np.array([place[label] for label in self.labels], dtype=np.int64)
        first, second = self.pairs
        return self._replace(pairs=(new[first], new[second]), labels=labels)


def is_named(topology: Any) -> bool:
    """Return whether this is the name of a family, or a tuple of a name and options."""
    if isinstance(topology, tuple):
        return bool(topology) and isinstance(topology[0], str)
    return isinstance(topology, str)


def is_sequence(topology: Any) -> bool:
    """Return whether this is a list of graphs, rather than a matrix written as a list of rows."""
    if not isinstance(topology, list | tuple) or is_named(topology) or not topology:
        return False
    first = topology[0]
    return is_named(first) or hasattr(first, "is_directed") or np.ndim(first) == 2


def first_graph(topology: Any) -> GivenGraph | None:
    """Return the graph that says how many sites there are and their names; None of names only."""
    rounds = topology if is_sequence(topology) else [topology]
    given = [read_graph(each) for each in rounds if not is_named(each)]
    named = (graph for graph in given if graph.labels is not None)
    return next(named, given[0] if given else None)


def read_graph(graph: Any) -> GivenGraph:
    """Read a graph of networkx or a matrix."""
    # Recognised without an import: networkx is optional.
    given = _of_networkx(graph) if hasattr(graph, "is_directed") else _of_matrix(graph)
    if given.n_sites == 0:
        raise ValueError(
            "The graph must have one node per site; it has 0 nodes. Add its nodes, or give the "
            "name of a topology."
        )
    return given


def check_size(given: GivenGraph, n_sites: int) -> None:
    """Raise unless there are as many nodes as sites."""
    if given.n_sites != n_sites:
        raise ValueError(
            f"The graph must have one node per site; it has {given.n_sites} nodes and `n_sites` "
            f"is {n_sites}. Set n_sites={given.n_sites} or give another graph."
        )


def _of_networkx(graph: Any) -> GivenGraph:
    labels = tuple(graph.nodes)
    number = {label: site for site, label in enumerate(labels)}
    edges = list(graph.edges(data="weight"))
    ends = np.array([(number[a], number[b]) for a, b, _ in edges], dtype=np.int64).reshape(-1, 2)
    weighted = bool(edges) and all(isinstance(weight, Real) for _, _, weight in edges)
    values = np.array([float(w) for _, _, w in edges]) if weighted else None
    if not graph.is_directed():
        ends = np.concatenate([ends, ends[:, ::-1]])
        values = None if values is None else np.concatenate([values, values])
    return GivenGraph(len(labels), (ends[:, 0], ends[:, 1]), labels, values)


def _of_matrix(graph: Any) -> GivenGraph:
    matrix = graph if sp.issparse(graph) else np.asarray(graph)
    if (
        len(matrix.shape) != 2
        or matrix.shape[0] != matrix.shape[1]
        or matrix.dtype.kind not in "biuf"
    ):
        raise ValueError(
            "`topology` must be a name, a tuple of a name and a dict of options, a graph of "
            "networkx, or a square matrix of numbers whose entries other than 0 are links; got "
            f"{type(graph).__name__} of shape {matrix.shape} and type {matrix.dtype}."
        )
    values = matrix.data if sp.issparse(matrix) else matrix
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "The matrix of links must be finite, with 0 where two sites are no neighbours; "
            "got NaN or infinity."
        )
    n_sites = int(matrix.shape[0])
    coordinates = sp.coo_array(matrix)
    kept = coordinates.data != 0
    first, second = (np.asarray(end[kept], dtype=np.int64) for end in coordinates.coords)
    weights = coordinates.data[kept].astype(np.float64)
    # Ones say no more than that there are links.
    return GivenGraph(n_sites, (first, second), None, None if np.all(weights == 1) else weights)
