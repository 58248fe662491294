"""The network of a fit: which rows are at which site, and the rules that sites follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.fit import warn
from ..core.training_set import TrainingSet, in_own_order
from ..gossip import NetworkFaults, Stopping, Talking
from ..gossip.given_graph import GivenGraph, check_size, first_graph
from ..gossip.graph_parameter import graph_of, listed
from ..gossip.methods import GossipMethod
from ..gossip.mixing import consensus_time
from ..gossip.mixing_matrix import with_mixing_matrix
from ..gossip.simulation import check_directions
from ..gossip.topology import Topology

# Where neither the user nor the data say how many sites there are.
USUAL_SITES = 10
# Label skew above which GADGET, with one exchange a step, does not come near the optimum.
SKEWED = 0.2
# Vectors of a model's length, for every one that a message carries: on a link, beside messages that
# are late; at a site; and for a site's models of all binary problems as they become attributes.
# Push-Sum remembers what was sent, received, acknowledged and not yet acknowledged.
PER_LINK = {"consensus": 2, "gadget": 6, "gadget_printed": 6, "tracking": 6, "private": 6}
PER_SITE = 10
PER_PROBLEM = 3


@dataclass(frozen=True)
class Placement:
    """A training set over the sites of a network.

    The rows of a site are adjacent: site ``s`` has those from ``start[s]`` to ``start[s + 1] - 1``.
    """

    training: TrainingSet
    start: NDArray[np.int64]
    labels: NDArray[Any]
    topology: Topology

    @property
    def label_skew(self) -> float:
        """Largest total-variation distance between a site's class shares and those of all rows."""
        n_sites, n_classes = len(self.labels), len(self.training.classes)
        site = np.repeat(np.arange(n_sites), np.diff(self.start))
        cell = site * n_classes + self.training.codes
        weight = np.bincount(cell, self.training.weights, n_sites * n_classes)
        weight = weight.reshape(n_sites, n_classes)
        whole = weight.sum(axis=0) / weight.sum()
        held = weight[np.diff(self.start) > 0]
        shares = held / held.sum(axis=1, keepdims=True)
        return float(0.5 * np.abs(shares - whole).sum(axis=1).max())


@dataclass(frozen=True)
class NetworkRules:
    """How the sites learn, exchange messages, fail and stop."""

    method: GossipMethod
    talking: Talking
    faults: NetworkFaults
    stopping: Stopping

    def check(
        self,
        placement: Placement,
        size: int,
        n_problems: int,
        memory: int,
        rounds: int,
        mapped: int = 0,
    ) -> None:
        """Raise if the network does not fit into memory; warn if it will converge poorly.

        ``mapped`` is the number of bytes that random features of the rows take.
        """
        topology = placement.topology
        self.faults.check(topology.n_sites)
        check_directions(self.method, topology)
        self._check_memory(topology, size, n_problems, memory, mapped)
        # Components that a later site joins do no harm: no site stops before the last event.
        members = self.faults.members(topology.n_sites, rounds)
        parts = [] if members.all() else topology.parts_of(members)
        if len(parts) > 1:
            gone = np.flatnonzero(~members).tolist()
            warn(
                f"By `schedule` sites {gone} are not there in the end, and without them the "
                f"network falls into {len(parts)} components that never hear of each other: "
                f"{listed(parts, range(topology.n_sites))}. Their models will differ. Take a "
                "topology with more links, or let other sites leave."
            )
        skew = placement.label_skew
        gadget = self.method.name in ("gadget", "gadget_printed")
        if gadget and self.talking.exchanges == 1 and skew > SKEWED:
            warn(
                f"Classes are spread unevenly over the sites (label skew {skew:.2g}), where GADGET "
                "converges poorly with one exchange a step. Take solver='consensus', or "
                "exchanges=20."
            )

    def mixing_time(self, topology: Topology) -> float:
        """Return the rounds in which disagreement shrinks by a factor of e."""
        relaxation = getattr(self.method, "relaxation", None)
        if relaxation is not None:  # consensus, which does not average by weights
            return consensus_time(topology, float(relaxation))
        return topology.mixing_time(self.talking.weights)

    def _check_memory(
        self, topology: Topology, size: int, n_problems: int, limit: int, mapped: int
    ) -> None:
        """Raise if sites and links would need more bytes than allowed, before they are built."""
        late = self.talking.exchanges * self.faults.delay * (1.0 + self.faults.duplication)
        if self.method.name != "consensus":
            late *= 2  # remembered at the sender, too
        per_link = PER_LINK[self.method.name] + late
        # What is sent to a slow site waits for it.
        per_link += 1.0 / min(self.faults.speeds.values(), default=1.0) - 1.0
        links = len(topology.other)
        vectors = self.method.vectors * (per_link * links + PER_SITE * topology.n_sites)
        needed = 8 * size * (vectors + PER_PROBLEM * n_problems * topology.n_sites)
        if mapped and needed + mapped > limit:
            raise ValueError(
                f"Random features of the rows need about {mapped / 2**30:.2g} GiB, and the sites "
                f"and links {needed / 2**30:.2g} GiB, more than `memory_limit`, "
                f"{limit / 2**30:.2g} GiB. Pass float32 rows if they are float64, take fewer "
                "`n_components`, or raise `memory_limit`."
            )
        if needed > limit:
            raise ValueError(
                f"{topology.n_sites:,} sites and their {links // 2:,} links need about "
                f"{needed / 2**30:.2g} GiB for models of {size:,} weights, more than "
                f"`memory_limit`, {limit / 2**30:.2g} GiB. Take a topology with fewer links, such "
                "as 'ring' or ('random_regular', {'degree': 4}), or fewer sites, or raise "
                "`memory_limit`."
            )


def placed(
    training: TrainingSet,
    sites: Any,
    n_sites: int | None,
    topology: Any,
    seed: int,
    matrix: NDArray[np.float64] | None = None,
) -> Placement:
    """Choose the sites, their neighbours and their rows.

    ``sites`` has the site of every row that was given; None deals the rows out at random. If
    ``n_sites`` is None, the graph, the mixing ``matrix`` or ``sites`` determine it, or else it is
    10.
    """
    graph = first_graph(topology)
    if graph is not None:
        if n_sites is not None:
            check_size(graph, n_sites)
        n_sites = graph.n_sites
    elif matrix is not None and n_sites is None:
        n_sites = len(matrix)
    if sites is None:
        if n_sites is not None and n_sites > len(training.codes):
            raise ValueError(
                f"There must be a row for every site; `n_sites` is {n_sites}, and there are "
                f"{len(training.codes)} rows. Lower `n_sites`, or pass `sites` to say which rows "
                "are where: sites may have none then."
            )
        training = in_own_order(training)
        n_rows = len(training.codes)
        n_sites = min(USUAL_SITES, n_rows) if n_sites is None else n_sites
        labels = _node_names(graph, n_sites)
        # As many rows for each as for the others, or one more.
        number = np.random.default_rng([seed, 0x517E]).permutation(np.arange(n_rows) % n_sites)
    else:
        labels, of_given = _numbered(sites, training.n_given, n_sites, graph)
        kept = training.given_numbers(np.arange(len(training.codes)))
        training = in_own_order(training, of_given[kept])
        number = of_given[training.given_numbers(np.arange(len(training.codes)))]
    network = graph_of(topology, len(labels), seed)
    if matrix is not None:
        network = with_mixing_matrix(network, matrix)
    start = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(labels)))])
    return Placement(_sorted_by(number, training), start.astype(np.int64), labels, network)


def _node_names(graph: GivenGraph | None, n_sites: int) -> NDArray[Any]:
    """Return the names of sites that ``sites`` does not name: those of the graph, or numbers."""
    if graph is None or graph.labels is None:
        return np.arange(n_sites)
    return _array_of(graph.labels)


def _array_of(names: tuple[Any, ...]) -> NDArray[Any]:
    """Return names of nodes as an array: of integers where all of them are, else of text."""
    whole = all(isinstance(name, int) for name in names)
    return np.array(names if whole else [str(name) for name in names])


def _numbered(
    sites: Any, n_rows: int, n_sites: int | None, graph: GivenGraph | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the names of the sites, and the number of the site of every row given."""
    sites = np.asarray(sites)
    if sites.ndim != 1 or len(sites) != n_rows:
        raise ValueError(
            f"`sites` must hold the site of each of the {n_rows} rows; got an array of shape "
            f"{sites.shape}."
        )
    names = _names_of(sites)
    if graph is not None and graph.labels is not None:
        number_of = {name: number for number, name in enumerate(graph.labels)}
        unknown = [name for name in names.tolist() if name not in number_of]
        if not unknown:
            each = np.array([number_of[name] for name in sites.tolist()], dtype=np.int64)
            return _array_of(graph.labels), each
        if len(unknown) < len(names):
            raise ValueError(
                f"`sites` must name nodes of the graph; it has no nodes {unknown[:5]}. Its nodes "
                f"are {list(graph.labels[:5])}{', ...' if len(graph.labels) > 5 else ''}."
            )
    whole = names.dtype.kind in "iu"
    if n_sites is not None and whole and names[0] >= 0 and names[-1] < n_sites:
        return np.arange(n_sites), sites.astype(np.int64)
    if n_sites is not None and len(names) != n_sites:
        raise ValueError(
            f"`sites` must name as many sites as there are, {n_sites}, or hold numbers from 0 to "
            f"{n_sites - 1}, some of which may be missing; it names {len(names)}: "
            f"{names[:5].tolist()}{', ...' if len(names) > 5 else ''}."
        )
    return names, np.searchsorted(names, sites).astype(np.int64)


def _names_of(sites: NDArray[Any]) -> NDArray[Any]:
    if sites.dtype.kind == "f" and np.isnan(sites).any():
        raise ValueError("`sites` must name a site for every row; got NaN.")
    try:
        return np.unique(sites)
    except TypeError:
        kinds = sorted({type(name).__name__ for name in sites.tolist()})
        raise ValueError(
            f"`sites` must hold labels of one kind, text or numbers; got {', '.join(kinds)}."
        ) from None


def _sorted_by(number: NDArray[np.int64], training: TrainingSet) -> TrainingSet:
    if np.all(number[:-1] <= number[1:]):
        return training  # no copy
    order = np.argsort(number, kind="stable")
    return replace(
        training,
        X=training.X[order],
        codes=training.codes[order],
        weights=training.weights[order],
        kept=training.given_numbers(order),
    )
