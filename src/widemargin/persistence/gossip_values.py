"""The objects of `widemargin.gossip` in a model file: their class and constructor arguments."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..gossip import Consensus, Gadget, NetworkFaults, Topology, Tracking
from .checks import demand

GOSSIP_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Consensus, Gadget, Tracking, NetworkFaults, Topology)
}


def parts_of(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of an object's class and the arguments of its constructor."""
    if is_dataclass(value):
        arguments = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        arguments = value.get_params(deep=False)
    return type(value).__name__, arguments


def rebuilt(name: str, arguments: dict[str, Any]) -> Any:
    """Rebuild an object; raise ValueError or TypeError if the arguments cannot be right."""
    kind = GOSSIP_KINDS[name]
    value = kind(**arguments)
    if kind is Topology:
        _check_topology(value)
    elif kind is not NetworkFaults:  # whose numbers are checked against those of the sites
        for key, argument in arguments.items():
            plain = argument is None or isinstance(argument, bool | int | float | str)
            demand(plain, f"{name}.{key}", "a number, a text or None")
    return value


def _check_topology(value: Topology) -> None:
    """Demand that every link leads to a site and has its reverse."""
    for name in ("start", "other", "reverse"):
        array = getattr(value, name)
        whole = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1
        demand(whole, f"Topology.{name}", "a vector of integers")
    start, other, reverse = value.start, value.other, value.reverse
    ascending = start.size > 1 and start[0] == 0 and bool(np.all(np.diff(start) >= 0))
    right = ascending and start[-1] == other.size == reverse.size
    demand(right, "Topology.start", "ascending from 0 to the number of links")
    for name, array, end in (("other", other, start.size - 1), ("reverse", reverse, other.size)):
        inside = array.size == 0 or (array.min() >= 0 and array.max() < end)
        demand(bool(inside), f"Topology.{name}", f"numbers below {end}")
    both_ways = bool(np.all(other[reverse] == value.site)) and bool(
        np.all(reverse[reverse] == np.arange(reverse.size))
    )
    demand(both_ways, "Topology.reverse", "the opposite link of every link")
    labels = value.labels
    named = labels is None or (isinstance(labels, tuple) and len(labels) == value.n_sites)
    demand(named, "Topology.labels", "None or a name for every site")


def links_for_graph(topology: Any, fitted: Topology) -> Any:
    """Return a graph of networkx, which a file cannot hold, as the matrix of its links."""
    if not hasattr(topology, "is_directed"):
        return topology
    ones = np.ones(fitted.n_links, dtype=np.int8)
    shape = (fitted.n_sites, fitted.n_sites)
    return sparse.csr_array((ones, fitted.other, fitted.start), shape=shape)
