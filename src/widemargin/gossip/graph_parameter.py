"""The graph that a ``topology`` parameter asks for: a name, a graph, or a list of them."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from .given_graph import GivenGraph, check_size, is_named, is_sequence, read_graph
from .graphs import FAMILIES, RANDOM_FAMILIES, Integers
from .topology import Topology

# Number of random graphs that are drawn before giving up on a connected one.
DRAWS = 20


def graph_of(topology: Any, n_sites: int, seed: int = 0) -> Topology:
    """Return the graph of a ``topology`` parameter.

    Parameters
    ----------
    topology : str, tuple, networkx graph, array, sparse matrix or list
        The name of a family, such as "ring"; a tuple of a name and a dict of options, such as
        ``("random_regular", {"degree": 4})``; a graph of networkx; or a square matrix whose entries
        other than 0 are links, from the site of the row to that of the column. Sites of a given
        graph are numbered in its order. Links of a site to itself are dropped. Links of a directed
        graph, or of a matrix that is not symmetric, lead one way. A list of these has the graph of
        every round: the first in rounds 0, k, 2k, … of a list of k.
    n_sites : int
        Number of sites; that of a given graph must be the same.
    seed : int, default=0
        Seed of the random families, which are drawn until connected.

    Returns
    -------
    Topology
        A connected graph. Of a list, the links of all rounds together connect it.

    Examples
    --------
    >>> from widemargin.gossip import graph_of
    >>> ring = graph_of("ring", 10)
    >>> ring
    Topology(n_sites=10, n_links=20)
    >>> ring.other[ring.start[0] : ring.start[1]].tolist()
    [1, 9]
    >>> round(ring.mixing_time(), 1)
    7.3
    """
    if not isinstance(n_sites, Integral) or isinstance(n_sites, bool) or n_sites < 1:
        raise ValueError(f"`n_sites` must be an integer of at least 1; got {n_sites!r}.")
    n_sites = int(n_sites)
    if is_sequence(topology):
        return connected(Topology.of_rounds(n_sites, _rounds_of(topology, n_sites, seed)))
    if is_named(topology):
        return _of_name(topology, n_sites, seed)
    given = read_graph(topology)
    check_size(given, n_sites)
    return connected(Topology.of_rounds(n_sites, [given]))


def _rounds_of(graphs: Sequence[Any], n_sites: int, seed: int) -> list[GivenGraph]:
    """Read the graph of every round; random families draw another one each."""
    rounds: list[GivenGraph] = []
    labels: tuple[Hashable, ...] | None = None
    for number, each in enumerate(graphs):
        if is_named(each):
            drawn = _of_name(each, n_sites, seed + number)
            rounds.append(GivenGraph(n_sites, (drawn.site, drawn.other), None))
            continue
        graph = read_graph(each)
        check_size(graph, n_sites)
        if labels is not None and graph.labels is not None:
            graph = graph.in_order_of(labels)
        labels = labels or graph.labels
        rounds.append(graph)
    return rounds


def _of_name(topology: Any, n_sites: int, seed: int) -> Topology:
    if isinstance(topology, str):
        return _named(topology, n_sites, seed, {})
    if len(topology) != 2 or not isinstance(topology[1], Mapping):
        raise ValueError(
            "A tuple as `topology` must hold a name and a dict of options, such as "
            f"('random_regular', {{'degree': 4}}); got {topology!r}."
        )
    return _named(topology[0], n_sites, seed, topology[1])


def _named(name: str, n_sites: int, seed: int, options: Mapping[str, Any]) -> Topology:
    fixed = FAMILIES.get(name)
    draw, remedy = RANDOM_FAMILIES.get(name, (None, ""))
    family = fixed or draw
    if family is None:
        names = ", ".join(map(repr, [*FAMILIES, *RANDOM_FAMILIES]))
        raise ValueError(f"`topology` must be one of {names}, or a graph; got {name!r}.")
    parameters = inspect.signature(family).parameters.values()
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    if unknown := [option for option in options if option not in known]:
        takes = f"the options {known}" if known else "no options"
        raise ValueError(f"topology={name!r} takes {takes}; got {unknown}.")
    if draw is None:
        return Topology.of_pairs(n_sites, family(n_sites, **options))
    for number in range(DRAWS):
        chance = int(np.random.default_rng([seed, number]).integers(2**31))
        graph = Topology.of_pairs(n_sites, family(n_sites, chance, **options))
        if not graph.component.any():
            return graph
    raise ValueError(
        f"The graph must be connected; none of {DRAWS} graphs drawn by topology={name!r} with "
        f"{n_sites} sites and options {dict(options)} was. Raise `{remedy}`."
    )


def connected(graph: Topology) -> Topology:
    """Return a graph; raise unless all of its sites hear of each other."""
    n_components = int(graph.component.max()) + 1
    if n_components == 1:
        return graph
    parts = graph.parts_of(np.ones(graph.n_sites, dtype=np.bool_))
    names = graph.labels or range(graph.n_sites)
    strongly, there = ("strongly ", ", there and back") if graph.directed else ("", "")
    raise ValueError(
        f"The graph must be {strongly}connected, or sites never hear of each other; it has "
        f"{n_components} components: {listed(parts, names)}. Add links between them{there}."
    )


def listed(parts: Sequence[Integers], names: Sequence[Any]) -> str:
    """Name the sites of components, shortened for a message."""
    described = []
    for members in parts[:5]:
        shown = ", ".join(repr(names[int(site)]) for site in members[:4])
        rest = f" and {len(members) - 4} more" if len(members) > 4 else ""
        described.append(f"[{shown}{rest}]")
    rest = f" and {len(parts) - 5} more" if len(parts) > 5 else ""
    return f"{', '.join(described)}{rest}"
