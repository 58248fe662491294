"""The graph of a network: which sites are neighbours, in which rounds, and how fast they agree."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from .graphs import (
    FAMILIES,
    RANDOM_FAMILIES,
    GivenGraph,
    Integers,
    Pairs,
    check_size,
    is_named,
    is_sequence,
    read_graph,
)
from .mixing import averaging_time

Floats: TypeAlias = NDArray[np.float64]

# Number of random graphs that are drawn before giving up on a connected one.
DRAWS = 20
# Sites times links up to which distances are computed from every site, in about a second.
EXACT_DIAMETER = 40_000_000


class Weights(NamedTuple):
    """Weights of a graph: ``link`` of shape (n_links,) and ``own`` of shape (n_sites,)."""

    link: Floats
    own: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """The sites and the links between them, each link once per direction.

    A directed link has its opposite in the arrays too, over which nothing is ever sent.

    Attributes
    ----------
    start : array of int64 of shape (n_sites + 1,)
        Site ``i`` sends over the links ``start[i]`` to ``start[i + 1] - 1``.
    other : array of int64 of shape (n_links,)
        The site that receives over each link, ascending for every site.
    reverse : array of int64 of shape (n_links,)
        The link in the opposite direction.
    labels : tuple or None
        Names of the sites in the graph that was given.
    active : array of bool of shape (period, n_links) or None
        Whether messages travel over each link in each round of a period; None: always.
    given : array of shape (period, n_links) or None
        The shares that a site sends over each link, if the graph that was given has them.
    """

    start: Integers
    other: Integers
    reverse: Integers
    labels: tuple[Hashable, ...] | None = None
    active: NDArray[np.bool_] | None = None
    given: Floats | None = None

    @classmethod
    def of_pairs(
        cls, n_sites: int, pairs: Pairs, labels: tuple[Hashable, ...] | None = None
    ) -> Topology:
        """Link pairs of sites in both directions; repeated pairs count once, equal sites not."""
        first, second = pairs
        apart = first != second
        both = np.concatenate([pairs, pairs[::-1]], axis=1)[:, np.concatenate([apart, apart])]
        ones = np.ones(both.shape[1], dtype=np.int8)
        links = sp.coo_array((ones, tuple(both)), shape=(n_sites, n_sites)).tocsr()
        # The transpose of the matrix of link numbers has the number of the reverse at each link.
        numbers = np.arange(links.nnz, dtype=np.int64)
        numbered = sp.csr_array((numbers, links.indices, links.indptr), shape=links.shape)
        start, other = links.indptr.astype(np.int64), links.indices.astype(np.int64)
        reverse = numbered.T.tocsr().data
        return cls(start, other, reverse, labels)

    @classmethod
    def of_rounds(cls, n_sites: int, rounds: Sequence[GivenGraph]) -> Topology:
        """Combine the graphs of the rounds of a period; their links lead from first to second."""
        first, second = (np.concatenate([g.pairs[end] for g in rounds]) for end in (0, 1))
        labels = next((graph.labels for graph in rounds if graph.labels is not None), None)
        union = cls.of_pairs(n_sites, (first, second), labels)
        number = union.site * n_sites + union.other  # ascending
        active = np.zeros((len(rounds), len(number)), dtype=np.bool_)
        given = np.zeros(active.shape) if all(g.values is not None for g in rounds) else None
        for row, graph in enumerate(rounds):
            first, second = graph.pairs
            apart = first != second
            link = np.searchsorted(number, first[apart] * n_sites + second[apart])
            active[row, link] = True
            if given is not None and graph.values is not None:
                given[row, link] = graph.values[apart]
        always = len(rounds) == 1 and bool(active.all())
        return replace(union, active=None if always else active, given=given)

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return len(self.start) - 1

    @property
    def n_links(self) -> int:
        """Number of links that carry messages, two for every pair of undirected neighbours."""
        return int(self.used.sum())

    @property
    def period(self) -> int:
        """Number of rounds after which the links are the same again."""
        return 1 if self.active is None else len(self.active)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Whether each link carries messages in some round."""
        if self.active is None:
            return np.ones(len(self.other), dtype=np.bool_)
        return np.asarray(self.active.any(axis=0), dtype=np.bool_)

    @property
    def directed(self) -> bool:
        """Whether some link leads one way only, in some round at least."""
        return self.active is not None and bool((self.active != self.active[:, self.reverse]).any())

    @property
    def degree(self) -> Integers:
        """Number of sites that every site sends to."""
        return np.bincount(self.site[self.used], minlength=self.n_sites).astype(np.int64)

    @cached_property
    def site(self) -> Integers:
        """The site that sends over each link."""
        return np.repeat(np.arange(self.n_sites, dtype=np.int64), np.diff(self.start))

    @cached_property
    def component(self) -> Integers:
        """The strongly connected component that each site is in, numbered from 0."""
        _, component = csgraph.connected_components(self._matrix, connection="strong")
        return np.asarray(component, dtype=np.int64)

    def parts_of(self, members: NDArray[np.bool_]) -> list[Integers]:
        """Return the sites of each connected component of the subgraph of these members."""
        sites = np.flatnonzero(members)
        links = self._matrix[sites][:, sites]
        _, part = csgraph.connected_components(links, connection="strong")
        return [sites[part == number] for number in np.unique(part)]

    @cached_property
    def diameter(self) -> int:
        """Largest number of links between two sites.

        An upper bound in large graphs: the largest distances to and from site 0 together.
        """
        if self.n_links == self.n_sites * (self.n_sites - 1):
            return int(self.n_sites > 1)
        matrix, exact = self._matrix, self.n_sites * self.n_links <= EXACT_DIAMETER
        find = partial(csgraph.dijkstra, unweighted=True, indices=None if exact else 0)
        if exact:
            return int(find(matrix).max())
        return int(find(matrix).max()) + int(find(matrix.T.tocsr()).max())

    def weights(self, kind: str = "metropolis", number: int = 0) -> Weights:
        """Return the weights by which neighbours average.

        Parameters
        ----------
        kind : {"metropolis", "random_walk", "given"}, default="metropolis"
            A Metropolis weight is 1 / (1 + the larger of the two degrees, the numbers of links that
            sites send over in the round); with undirected links the matrix is symmetric and doubly
            stochastic. A random walk divides evenly between the neighbours and the site itself; the
            shares that a site receives need not sum to 1. "given": the entries of the matrix that
            was given as the graph.
        number : int, default=0
            The round.

        Returns
        -------
        link : array of shape (n_links,)
            The share that a site sends over each link.
        own : array of shape (n_sites,)
            The share that it keeps.
        """
        row = number % self.period
        active = self.used if self.active is None else self.active[row]
        partners = np.bincount(self.site[active], minlength=self.n_sites)
        shares: Floats = 1.0 / (1.0 + partners.astype(np.float64))
        if kind == "random_walk":
            return Weights(np.where(active, shares[self.site], 0.0), shares)
        if kind == "metropolis":
            link = np.where(active, np.minimum(shares[self.site], shares[self.other]), 0.0)
            sent = np.bincount(self.site, link, minlength=self.n_sites).astype(np.float64)
            return Weights(link, 1.0 - sent)
        if kind == "given":
            return self._given_weights(row)
        raise ValueError(f"`kind` must be 'metropolis', 'random_walk' or 'given'; got {kind!r}.")

    def _given_weights(self, row: int) -> Weights:
        if self.given is None:
            raise ValueError(
                "`weights`='given' must have the shares as entries of the matrix, or as `weight` "
                "of the edges, that `topology` is; got a graph without them. Take 'metropolis'."
            )
        link = self.given[row]
        sent = np.bincount(self.site, link, minlength=self.n_sites).astype(np.float64)
        if link.min(initial=0.0) < 0 or sent.max(initial=0.0) > 1.0 + 1e-9:
            raise ValueError(
                "With `weights`='given', the entries of a row of the matrix are the shares that a "
                "site sends: they must be 0 or more and sum to at most 1 beside the diagonal; got "
                f"{link.min(initial=0.0):g} as the least and {sent.max(initial=0.0):g} as the "
                "largest sum."
            )
        return Weights(link, np.maximum(1.0 - sent, 0.0))

    def matrices(self) -> list[sp.csr_array]:
        """Return the links of every round of a period, as entries of matrices."""
        shape = (self.n_sites, self.n_sites)
        rounds = []
        for row in range(self.period):
            active = self.used if self.active is None else self.active[row]
            value = np.ones(len(self.other)) if self.given is None else self.given[row]
            ends = (self.site[active], self.other[active])
            rounds.append(sp.coo_array((value[active], ends), shape=shape).tocsr())
        return rounds

    def mixing_time(self, kind: str = "metropolis") -> float:
        """Return the rounds of averaging in which disagreement shrinks by a factor of e.

        Parameters
        ----------
        kind : {"metropolis", "random_walk", "given"}, default="metropolis"
            The weights.

        Returns
        -------
        float
            ``period / ln(1 / s)`` where ``s`` is the second largest modulus of an eigenvalue of
            the weight matrix, or of the product of those of a period; 0 if one round suffices.
            ``solver="consensus"`` does not average with weights; see
            :func:`widemargin.gossip.mixing.consensus_time`.
        """
        return averaging_time(self, kind)

    @property
    def _matrix(self) -> sp.csr_array:
        used = self.used
        ones = np.ones(int(used.sum()), dtype=np.int8)
        shape = (self.n_sites, self.n_sites)
        return sp.coo_array((ones, (self.site[used], self.other[used])), shape=shape).tocsr()

    def __repr__(self) -> str:
        return f"Topology(n_sites={self.n_sites}, n_links={self.n_links})"


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
    >>> from widemargin.gossip.topology import graph_of
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
        return _connected(Topology.of_rounds(n_sites, _rounds_of(topology, n_sites, seed)))
    if is_named(topology):
        return _of_name(topology, n_sites, seed)
    given = read_graph(topology)
    check_size(given, n_sites)
    return _connected(Topology.of_rounds(n_sites, [given]))


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


def _connected(graph: Topology) -> Topology:
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
