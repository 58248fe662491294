"""Graphs given by the user: of networkx, matrices, and lists of them."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .graphs import Pairs


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
