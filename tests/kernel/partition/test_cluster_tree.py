"""Trees of clusters, against the nearest group of every node on the way."""

import numpy as np
import pytest
from rows_to_divide import KERNELS, as_csr, clouds, matrix, samples

from widemargin.kernel.partition import ClusterTree, NearestGroup
from widemargin.kernel.partition.division import Drawn
from widemargin.kernel.partition.kernel_kmeans import cluster_rows

X, LABEL = clouds(400)


def tree_of(name: str) -> ClusterTree:
    """Five groups; the second is split in four, and the last of these in three."""
    kernel = KERNELS[name]
    random = np.random.default_rng(0)
    root = cluster_rows(kernel, Drawn(np.arange(100), X[:100]), 5, random)
    second = cluster_rows(kernel, Drawn(np.arange(100, 180), X[100:180]), 4, random)
    third = cluster_rows(kernel, Drawn(np.arange(180, 240), X[180:240]), 3, random)
    tree = ClusterTree.of(root).split(np.array([1]), [second])
    return tree.split(np.array([tree.n_groups - 1]), [third])


@pytest.mark.parametrize("name", KERNELS)
def test_way_to_a_leaf(name: str) -> None:
    tree = tree_of(name)
    n = [tree.node(k).n_groups for k in range(3)]
    assert (tree.n_groups, tree.depth) == (sum(n) - 2, 3)
    first, second, third = (tree.node(k).assign(X) for k in range(3))
    expected = first - (first > 1)
    inside = first == 1
    expected[inside] = n[0] - 1 + second[inside]
    deeper = inside & (second == n[1] - 1)
    expected[deeper] = n[0] + n[1] - 2 + third[deeper]
    assert len(np.unique(expected)) > 4
    np.testing.assert_array_equal(tree.assign(X), expected)
    np.testing.assert_array_equal(tree.assign(as_csr(X), 2), expected)
    values = matrix(tree.kernel, X, X[tree.basis_rows])
    np.testing.assert_array_equal(tree.assign_values(values), expected)
    rows = np.arange(400)
    np.testing.assert_array_equal(tree.assign_samples(samples(X, LABEL), rows), expected)


def test_leaves_without_rows_are_left_out() -> None:
    tree = tree_of("rbf")
    leaf = tree.assign(X[:60])
    kept = np.bincount(leaf, minlength=tree.n_groups) > 0
    smaller = tree.only(kept)
    assert smaller.n_groups == kept.sum() < tree.n_groups
    np.testing.assert_array_equal(smaller.assign(X[:60]), (np.cumsum(kept) - 1)[leaf])


def test_a_tree_of_one_node_is_its_groups() -> None:
    root = tree_of("rbf").node(0)
    found = ClusterTree.of(root).only(np.ones(root.n_groups, dtype=np.bool_))
    assert type(found) is NearestGroup
    np.testing.assert_array_equal(found.assign(X), root.assign(X))
