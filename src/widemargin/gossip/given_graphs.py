"""Graphs given by the user: of networkx, or as a matrix of links."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .families import Pairs


class GivenGraph(NamedTuple):
    """A graph that was given; ``labels`` are the names of its sites, or None."""

    n_sites: int
    pairs: Pairs
    labels: tuple[Hashable, ...] | None


def read_graph(graph: Any) -> GivenGraph:
    """Read an undirected graph, ignoring the weights of its links."""
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
    if graph.is_directed():
        raise ValueError(
            "The graph must be undirected: neighbours send to each other. Got a directed graph of "
            "networkx; use `graph.to_undirected()` if links are to lead both ways."
        )
    labels = tuple(graph.nodes)
    number = {label: site for site, label in enumerate(labels)}
    ends = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64)
    ends = ends.reshape(-1, 2)
    return GivenGraph(len(labels), (ends[:, 0], ends[:, 1]), labels)


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
    first, second = (np.asarray(end, dtype=np.int64) for end in matrix.nonzero())
    n_sites = int(matrix.shape[0])
    one_way = np.setdiff1d(first * n_sites + second, second * n_sites + first)
    if one_way.size:
        a, b = divmod(int(one_way[0]), n_sites)
        raise ValueError(
            "The graph must be undirected: neighbours send to each other. The matrix links "
            f"{one_way.size} pairs one way only, such as {a} to {b}; use `A + A.T` if links are "
            "to lead both ways."
        )
    return GivenGraph(n_sites, (first, second), None)
