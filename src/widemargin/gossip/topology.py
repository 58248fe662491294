"""The graph of a network: which sites are neighbours, and how fast they agree."""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, eigsh

from ..core.resources import single_threaded_blas
from .graphs import FAMILIES, RANDOM_FAMILIES, Integers, Pairs, check_size, read_graph

Floats: TypeAlias = NDArray[np.float64]

# Number of sites up to which all eigenvalues are computed.
DENSE_SITES = 1000
# The Lanczos method is used on well connected graphs, whose second eigenvalue is below this. It is
# slow on the others, whose matrices have sparse factors instead.
WELL_CONNECTED = 0.999
# Distance from the end of the spectrum at which the matrix is factorised without being singular.
BEYOND = 1e-8
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
    """

    start: Integers
    other: Integers
    reverse: Integers
    labels: tuple[Hashable, ...] | None = None

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

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return len(self.start) - 1

    @property
    def n_links(self) -> int:
        """Number of links, two for every pair of neighbours."""
        return len(self.other)

    @property
    def degree(self) -> Integers:
        """Number of neighbours of every site."""
        return np.diff(self.start)

    @cached_property
    def site(self) -> Integers:
        """The site that sends over each link."""
        return np.repeat(np.arange(self.n_sites, dtype=np.int64), self.degree)

    @cached_property
    def component(self) -> Integers:
        """The connected component that each site is in, numbered from 0."""
        _, component = csgraph.connected_components(self._matrix, directed=False)
        return np.asarray(component, dtype=np.int64)

    def parts_of(self, members: NDArray[np.bool_]) -> list[Integers]:
        """Return the sites of each connected component of the subgraph of these members."""
        sites = np.flatnonzero(members)
        _, part = csgraph.connected_components(self._matrix[sites][:, sites], directed=False)
        return [sites[part == number] for number in np.unique(part)]

    @cached_property
    def diameter(self) -> int:
        """Largest number of links between two sites.

        An upper bound in large graphs: twice the largest distance from site 0.
        """
        if self.n_links == self.n_sites * (self.n_sites - 1):
            return int(self.n_sites > 1)
        exact = self.n_sites * self.n_links <= EXACT_DIAMETER
        distance = csgraph.dijkstra(
            self._matrix, directed=True, unweighted=True, indices=None if exact else 0
        )
        return int(distance.max()) * (1 if exact else 2)

    def weights(self, kind: str = "metropolis") -> Weights:
        """Return the weights by which neighbours average.

        Parameters
        ----------
        kind : {"metropolis", "random_walk"}, default="metropolis"
            A Metropolis weight is 1 / (1 + the larger of the two degrees); the matrix is symmetric
            and doubly stochastic. A random walk divides evenly between the neighbours and the site
            itself; the shares that a site receives need not sum to 1.

        Returns
        -------
        link : array of shape (n_links,)
            The share that a site sends over each link.
        own : array of shape (n_sites,)
            The share that it keeps.
        """
        shares: Floats = 1.0 / (1.0 + self.degree.astype(np.float64))
        if kind == "random_walk":
            return Weights(shares[self.site], shares)
        if kind == "metropolis":
            link = np.minimum(shares[self.site], shares[self.other])
            sent = np.bincount(self.site, link, minlength=self.n_sites).astype(np.float64)
            return Weights(link, 1.0 - sent)
        raise ValueError(f"`kind` must be 'metropolis' or 'random_walk'; got {kind!r}.")

    def mixing_time(self, kind: str = "metropolis") -> float:
        """Return the rounds of averaging in which disagreement shrinks by a factor of e.

        Parameters
        ----------
        kind : {"metropolis", "random_walk"}, default="metropolis"
            The weights.

        Returns
        -------
        float
            ``1 / ln(1 / s)`` where ``s`` is the second largest modulus of an eigenvalue of the
            weight matrix; 0 if one round suffices.
        """
        with single_threaded_blas():  # threads cost more than they save on short products
            modulus = self._second_modulus(kind)
        # Rounding makes eigenvalues of 0 slightly positive.
        return 0.0 if modulus < 1e-12 else -1.0 / math.log(modulus)

    def _second_modulus(self, kind: str) -> float:
        """Return the second largest modulus of an eigenvalue of the weight matrix."""
        n, (link, own) = self.n_sites, self.weights(kind)
        if n == 1:
            return 0.0
        # A random walk crosses a link equally often in both directions. Scaled by the square roots
        # of these frequencies, its matrix is symmetric and has the same eigenvalues.
        link = np.sqrt(link * link[self.reverse])
        matrix = sp.csr_array((link, self.other, self.start), shape=(n, n))
        matrix = matrix + sp.diags_array(own)
        if n <= DENSE_SITES:
            values = scipy.linalg.eigvalsh(matrix.toarray())
            return float(max(values[-2], -values[0]))
        # The eigenvector of eigenvalue 1.
        stationary = 1.0 / np.sqrt(own) if kind == "random_walk" else np.ones(n)
        second = _largest(matrix, stationary / np.linalg.norm(stationary))
        # Gershgorin: no eigenvalue is below 2 min(own) − 1, and few graphs come near it.
        if 1.0 - 2.0 * own.min() <= second:
            return second
        return max(second, _largest(-matrix, None))

    @property
    def _matrix(self) -> sp.csr_array:
        ones = np.ones(self.n_links, dtype=np.int8)
        return sp.csr_array((ones, self.other, self.start), shape=(self.n_sites, self.n_sites))

    def __repr__(self) -> str:
        return f"Topology(n_sites={self.n_sites}, n_links={self.n_links})"


def graph_of(topology: Any, n_sites: int, seed: int = 0) -> Topology:
    """Return the graph of a ``topology`` parameter.

    Parameters
    ----------
    topology : str, tuple, networkx graph, array or sparse matrix
        The name of a family, such as "ring"; a tuple of a name and a dict of options, such as
        ``("random_regular", {"degree": 4})``; an undirected graph of networkx; or a square
        symmetric matrix whose entries other than 0 are links. Sites of a given graph are numbered
        in its order. Links of a site to itself are dropped.
    n_sites : int
        Number of sites; that of a given graph must be the same.
    seed : int, default=0
        Seed of the random families, which are drawn until connected.

    Returns
    -------
    Topology
        A connected graph.

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
    if isinstance(topology, str):
        return _named(topology, n_sites, seed, {})
    if isinstance(topology, tuple) and topology and isinstance(topology[0], str):
        if len(topology) != 2 or not isinstance(topology[1], Mapping):
            raise ValueError(
                "A tuple as `topology` must hold a name and a dict of options, such as "
                f"('random_regular', {{'degree': 4}}); got {topology!r}."
            )
        return _named(topology[0], n_sites, seed, topology[1])
    given = read_graph(topology)
    check_size(given, n_sites)
    return _connected(Topology.of_pairs(n_sites, given.pairs, given.labels))


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
    raise ValueError(
        f"The graph must be connected, or sites never hear of each other; it has {n_components} "
        f"components: {listed(parts, names)}. Add links between them."
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


def _largest(matrix: sp.csr_array, known: Floats | None) -> float:
    """Return the largest eigenvalue, leaving out that of a known eigenvector, which is 1."""
    n = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(n)

    def product(vector: Floats) -> Floats:
        image: Floats = matrix @ vector
        return image if known is None else image - known * (known @ vector)

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    find = {"v0": start, "return_eigenvectors": False}
    # A rough value is found quickly, and is never above the true one.
    if eigsh(operator, k=1, which="LA", tol=1e-3, **find)[0] < WELL_CONNECTED:
        return float(eigsh(operator, k=1, which="LA", tol=1e-7, **find)[0])
    count = 1 if known is None else 2
    return float(eigsh(matrix.tocsc(), k=count, sigma=1.0 + BEYOND, **find).min())
