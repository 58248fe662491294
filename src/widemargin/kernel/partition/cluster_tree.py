"""Clusters of clusters: a row finds its cluster by a few groups at a time.

Nodes of the tree are :class:`NearestGroup` rules one after another; node 0 is the root. A group of
a node is a leaf, which is a cluster, or leads to a further node, whose groups divide its rows. So a
row meets the groups on its way alone, and not those of all clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..samples import Source
from .nearest_group import NearestGroup, Numbers, sample_blocks

NO_NODE = -1


@dataclass(frozen=True)
class ClusterTree(NearestGroup):
    """Groups of all nodes, in the order of the nodes.

    Leaves are numbered in the order of the groups. A group keeps its position when others are
    split, because new nodes come last.
    """

    node_start: Numbers  # (n_nodes + 1,): node k is groups ``node_start[k]`` to the next
    child: Numbers  # of every group: the node it leads to, or NO_NODE for a leaf

    @classmethod
    def of(cls, root: NearestGroup) -> ClusterTree:
        """Make a tree of one node."""
        if isinstance(root, ClusterTree):
            return root
        n_groups = root.n_groups
        child = np.full(n_groups, NO_NODE, dtype=np.int64)
        return cls.with_nodes(root, np.array([0, n_groups]), child)

    @classmethod
    def with_nodes(cls, groups: NearestGroup, node_start: Numbers, child: Numbers) -> ClusterTree:
        """Arrange the groups of all nodes in a tree."""
        fields = {name: getattr(groups, name) for name in NearestGroup.__dataclass_fields__}
        return cls(**fields, node_start=node_start, child=child)

    @property
    def n_groups(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.child == NO_NODE))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.node_start.size) - 1

    @property
    def leaves(self) -> Numbers:
        """Positions of the leaves among the groups."""
        return np.flatnonzero(self.child == NO_NODE)

    @property
    def leaf_number(self) -> Numbers:
        """Number of every group's leaf; of groups that are none, that of the leaf before."""
        return np.cumsum(self.child == NO_NODE) - 1

    @property
    def depth(self) -> int:
        """Number of nodes on the longest way from the root to a leaf."""
        level = np.ones(self.n_nodes, dtype=np.int64)
        parents = np.flatnonzero(self.child != NO_NODE)
        for group in parents:  # nodes come after that of their parent
            above = np.searchsorted(self.node_start, group, side="right") - 1
            level[self.child[group]] = level[above] + 1
        return int(level.max())

    def node(self, k: int) -> NearestGroup:
        """Return the groups of one node."""
        first, last = self.node_start[k], self.node_start[k + 1]
        begin, end = self.group_start[first], self.group_start[last]
        return NearestGroup(
            self.kernel,
            None if self.basis is None else self.basis[begin:end],
            self.basis_rows[begin:end],
            self.coef[begin:end],
            self.group_start[first : last + 1] - begin,
            self.offset[first:last],
        )

    def assign(self, X: Any, threads: int = 1) -> Numbers:
        """Return the leaf of each row."""
        return self.leaf_number[self.positions(X, None, threads)]

    def assign_values(self, values: NDArray[Any]) -> Numbers:
        """Return the leaf of each row, given its kernel values with all basis rows."""
        return self.leaf_number[self.positions_by_values(values, None)]

    def positions(self, X: Any, at: Numbers | None, threads: int = 1) -> Numbers:
        """Return the position of each row's leaf; the way begins at a group, or at the root."""

        def near(k: int, rows: Numbers) -> Numbers:
            whole = rows.size == X.shape[0]
            return self.node(k).assign(X if whole else X[rows], threads)

        return self._descended(X.shape[0], at, near)

    def positions_by_values(self, values: NDArray[Any], at: Numbers | None) -> Numbers:
        """Return the same, given kernel values with all basis rows."""

        def near(k: int, rows: Numbers) -> Numbers:
            begin, end = self.group_start[self.node_start[[k, k + 1]]]
            return self.node(k).assign_values(values[rows, begin:end])

        return self._descended(values.shape[0], at, near)

    def positions_of(
        self, samples: Source, rows: Numbers, at: Numbers | None, threads: int = 1
    ) -> Numbers:
        """Return the same for some rows of a training set."""
        found = [np.zeros(0, dtype=np.int64)]
        for here in sample_blocks(samples, rows.size):
            begin = None if at is None else at[here]
            if samples.pairwise:
                values = samples.values(rows[here], self.basis_rows)
                found.append(self.positions_by_values(values, begin))
            else:
                found.append(self.positions(samples.take(rows[here]).X, begin, threads))
        return np.concatenate(found)

    def _descended(
        self, n_rows: int, at: Numbers | None, near: Callable[[int, Numbers], Numbers]
    ) -> Numbers:
        found = near(0, np.arange(n_rows)) if at is None else at.copy()
        while True:
            below = self.child[found]
            waiting = np.flatnonzero(below != NO_NODE)
            if waiting.size == 0:
                return found
            order = waiting[np.argsort(below[waiting], kind="stable")]
            nodes, first = np.unique(below[order], return_index=True)
            for k, rows in zip(nodes, np.split(order, first[1:]), strict=True):
                found[rows] = self.node_start[k] + near(int(k), rows)

    def split(self, leaves: Numbers, nodes: list[NearestGroup]) -> ClusterTree:
        """Let leaves, given by their numbers, lead to further nodes."""
        if not nodes:
            return self
        child = np.concatenate([self.child, *(np.full(n.n_groups, NO_NODE) for n in nodes)])
        child[self.leaves[leaves]] = self.n_nodes + np.arange(len(nodes))
        ends = self.node_start[-1] + np.cumsum([node.n_groups for node in nodes])
        start = np.concatenate([self.node_start, ends])
        return ClusterTree.with_nodes(self.joined(nodes), start, child)

    def only(self, kept: NDArray[np.bool_]) -> NearestGroup:
        """Leave out leaves that no row goes to; a tree of one node becomes its groups."""
        group = np.ones(self.child.size, dtype=np.bool_)
        group[self.leaves] = kept
        if self.n_nodes == 1:
            return self.node(0).only(kept)
        before = np.concatenate([[0], np.cumsum(group)])
        start, child = before[self.node_start], self.child[group]
        return ClusterTree.with_nodes(super().only(group), start, child)
