"""Clusters in the kernel's space: what they find, and that none grows too large."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rows_to_divide import (
    KERNELS,
    clouds,
    divide,
    matrix,
    part_of_rows,
    router_of,
    same_parts,
    samples,
)

from widemargin.engines import LocalEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import Clusters, ClusterTree, tree_growth
from widemargin.kernel.partition.division import Drawn
from widemargin.kernel.partition.kernel_kmeans import cluster_rows, clustering_kernel
from widemargin.kernel.partition.tree_growth import Places
from widemargin.kernel.samples import Part, whole_set

CORNERS = 8.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def labels_of(n_rows: int) -> np.ndarray:
    return np.where(np.arange(n_rows) % 3 == 0, 1.0, -1.0)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.1), Kernel("laplacian", 0.2), Kernel("linear")])
def test_clouds_apart_are_found(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    cloud = rng.permutation(np.repeat(np.arange(4), 50))
    X = CORNERS[cloud] + 0.1 * rng.normal(size=(200, 2))
    for seed in range(5):
        divided = divide(Clusters(80), samples(X, labels_of(200), kernel), 4, seed=seed)
        part = part_of_rows(divided.parts, 200)
        assert len(divided.parts) == 4
        assert len(set(zip(cloud, part, strict=True))) == 4  # each cloud is one part


@pytest.mark.parametrize("name", KERNELS)
def test_parts_are_the_routers_groups(name: str) -> None:
    """Row by row, so that a training row is asked of the part it trained in."""
    X, label = clouds(300)
    divided = divide(Clusters(100), samples(X, label, KERNELS[name]), 6)
    router = router_of(divided)
    part = part_of_rows(divided.parts, 300)
    assert router.n_groups == len(divided.parts)
    np.testing.assert_array_equal(router.assign(X), part)
    assert router.kernel.constant == 0.0
    assert set(router.basis_rows) <= set(range(300))
    np.testing.assert_array_equal(router.basis, X[router.basis_rows])


@pytest.mark.parametrize("name", KERNELS)
def test_lloyds_steps_settle(name: str) -> None:
    """Without a limit on sizes, every row of the sample is in its nearest cluster (or near it)."""
    X, _ = clouds(150)
    kernel = KERNELS[name]
    drawn = Drawn(np.arange(150), X)
    found = cluster_rows(kernel, drawn, 5, np.random.default_rng(0))
    group = np.repeat(np.arange(found.n_groups), np.diff(found.group_start))
    K = matrix(kernel, X)
    inside = K[np.ix_(found.basis_rows, found.basis_rows)]
    distance = np.array(
        [
            -2 * inside[:, group == g].mean(axis=1) + inside[np.ix_(group == g, group == g)].mean()
            for g in range(found.n_groups)
        ]
    )
    assert np.mean(distance.argmin(axis=0) == group) > 0.95


def test_intercept_moves_no_row() -> None:
    X, label = clouds(200)
    plain = divide(Clusters(100), samples(X, label, Kernel("rbf", 0.1)), 4)
    lifted = divide(Clusters(100), samples(X, label, Kernel("rbf", 0.1, constant=1.0)), 4)
    for a, b in zip(plain.parts, lifted.parts, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)
    assert router_of(lifted).kernel == router_of(plain).kernel


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_narrow_kernel_is_widened(name: str) -> None:
    """To the median distance of the sample; a wide one stays as it is."""
    X, _ = clouds(120)
    drawn = Drawn(np.arange(120), X)
    difference = X[:, None] - X[None]
    distance = (difference**2 if name == "rbf" else np.abs(difference)).sum(axis=2)
    median = np.median(distance[np.triu_indices(120, 1)])
    assert clustering_kernel(Kernel(name, 1e4), drawn).gamma == pytest.approx(1 / median)
    assert clustering_kernel(Kernel(name, 1e-4), drawn).gamma == 1e-4
    copies = Drawn(np.arange(120), np.ones((120, 2)))
    assert clustering_kernel(Kernel(name, 1e4), copies).gamma == 1e4
    divided = divide(Clusters(120), samples(X, labels_of(120), Kernel(name, 1e4)), 4)
    assert min(part.n_rows for part in divided.parts) >= 6


# Sizes


def clumped(n_rows: int, n_clump: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """Rows of which some are one and the same (scale 0) or close together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    X[:n_clump] = X[0] + scale * rng.normal(size=(n_clump, 2))
    return X[rng.permutation(n_rows)]


@pytest.mark.parametrize("n_parts", [2, 4, 16])
@pytest.mark.parametrize(
    "X",
    [
        np.ones((320, 2)),
        clumped(320, 300, seed=0, scale=0.0),
        clumped(320, 300, seed=0, scale=1e-3),
        clumped(320, 300, seed=0, scale=1e-9),
        np.repeat(np.arange(5.0), 64)[:, None],
        np.array([0.0] * 319 + [1e6])[:, None],
    ],
    ids=["one row", "copies", "clump", "tight clump", "five rows", "outlier"],
)
@pytest.mark.parametrize("name", ["rbf", "linear", "poly"])
def test_no_part_is_above_twice_the_mean(n_parts: int, X: np.ndarray, name: str) -> None:
    """A clump is split where its rows are, copies are dealt out."""
    divided = divide(Clusters(64), samples(X, labels_of(320), KERNELS[name]), n_parts)
    part_of_rows(divided.parts, 320)
    assert max(part.n_rows for part in divided.parts) <= 2 * 320 / n_parts
    assert divided.n_parts == len(divided.parts)
    assert router_of(divided).n_groups <= divided.n_parts


@settings(max_examples=60)
@given(
    st.integers(16, 120),
    st.sampled_from([2, 4, 8]),
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1e-3]),
    st.sampled_from(["rbf", "laplacian", "linear"]),
)
@example(60, 8, 1.0, 0.0, "rbf")
def test_no_part_is_above_twice_the_mean_for_any_clump(
    n_rows: int, n_parts: int, share: float, scale: float, name: str
) -> None:
    X = clumped(n_rows, int(share * n_rows), seed=n_rows, scale=scale)
    divided = divide(Clusters(64), samples(X, labels_of(n_rows), KERNELS[name]), n_parts)
    part_of_rows(divided.parts, n_rows)
    assert max(part.n_rows for part in divided.parts) <= 2 * n_rows / n_parts


def copies_in_sixteen_parts() -> list[Part]:
    """Two copies of one row in each of sixteen parts, with 28 other rows among them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X[:32] = 5.0
    set_ = samples(X, labels_of(60), Kernel("rbf", 0.5))
    owner = np.concatenate([np.arange(32) % 16, np.arange(28) % 16])
    return [piece for _, piece in whole_set(set_).pieces(owner)]


def test_copies_spread_over_parts_are_dealt_evenly() -> None:
    parts = copies_in_sixteen_parts()
    divided = Clusters(60)(LocalEngine(1), parts, 16, 8, np.random.default_rng(0))
    part_of_rows(divided.parts, 60)
    assert max(part.n_rows for part in divided.parts) <= 2 * 60 / 8


def copies_in_every_second_part(first: int = 1) -> list[Part]:
    """Copies of one row in the odd parts, of another in the even ones, 15 other rows anywhere."""
    X = np.random.default_rng(0).normal(size=(31, 2))
    X[:8], X[8:16] = 5.0, -5.0
    every_second = 2 * np.arange(8)
    owner = np.concatenate([every_second + first, every_second + 1 - first, np.arange(15)])
    return [piece for _, piece in whole_set(samples(X, labels_of(31))).pieces(owner)]


def test_copies_in_some_parts_are_dealt_evenly() -> None:
    parts = copies_in_every_second_part()
    divided = Clusters(31)(LocalEngine(1), parts, 16, 8, np.random.default_rng(0))
    part_of_rows(divided.parts, 31)
    assert max(part.n_rows for part in divided.parts) <= 2 * 31 / 8


def test_copies_are_routed_to_a_part_that_has_them() -> None:
    for first in (0, 1):
        parts = copies_in_every_second_part(first)
        divided = Clusters(31)(LocalEngine(1), parts, 16, 8, np.random.default_rng(0))
        router = router_of(divided)
        for k, part in enumerate(divided.parts[: router.n_groups]):
            np.testing.assert_array_equal(router.assign(part.samples().X), k)


def test_parts_are_counted_as_they_are() -> None:
    parts = copies_in_sixteen_parts()
    divided = Clusters(60)(LocalEngine(1), parts, 16, 8, np.random.default_rng(0))
    assert divided.n_parts == len(divided.parts)


def test_copies_are_dealt_out_by_label() -> None:
    """Labels that alternate with the deal; the part that is asked must know both."""
    X, label = np.ones((64, 2)), np.where(np.arange(64) % 2 == 0, 1.0, -1.0)
    divided = divide(Clusters(64), samples(X, label), 4)
    assert len(divided.parts) == 2
    for part in divided.parts:
        assert len(set(label[part.rows])) == 2


# Samples


def test_clusters_are_found_among_support_vectors_once_there_are_enough() -> None:
    X, label = clouds(300)
    set_ = samples(X, label)
    engine = LocalEngine(1)
    for n_support, only in [(200, True), (63, False)]:
        net_dual = np.where(np.arange(300) < n_support, 1.0, 0.0)
        whole = engine.scatter([whole_set(set_, net_dual)])
        divided = Clusters(64)(engine, whole, 1, 4, np.random.default_rng(0))
        assert (router_of(divided).basis_rows.max() < n_support) == only
        part_of_rows(divided.parts, 300)


def test_at_least_eight_rows_of_the_sample_per_cluster() -> None:
    X, label = clouds(400)
    divided = divide(Clusters(16), samples(X, label), 16)
    assert router_of(divided).basis_rows.size == 128


@pytest.mark.parametrize(("most", "n_parts", "depth"), [(16, 100, 2), (8, 512, 3)])
def test_more_clusters_than_a_sample_shows(
    monkeypatch: pytest.MonkeyPatch, most: int, n_parts: int, depth: int
) -> None:
    """A few are found on the sample and split, until none is large."""
    monkeypatch.setattr(tree_growth, "MOST_CLUSTERS", most)
    n_rows = 40 * n_parts
    X, label = np.random.default_rng(0).normal(size=(n_rows, 3)), labels_of(n_rows)
    divided = divide(Clusters(16), samples(X, label), n_parts)
    sizes = np.array([part.n_rows for part in divided.parts])
    assert sizes.sum() == n_rows
    assert 0.9 * n_parts <= len(sizes) <= 2.5 * n_parts
    assert sizes.max() <= 80  # twice the mean
    router = router_of(divided)
    assert isinstance(router, ClusterTree)
    assert router.depth >= depth
    assert np.diff(router.node_start).max() <= most
    # A training row is asked of the part it trained in.
    np.testing.assert_array_equal(router.assign(X), part_of_rows(divided.parts, n_rows))


def test_a_tree_is_the_same_wherever_rows_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_growth, "MOST_CLUSTERS", 8)
    X, label = clouds(1200)
    set_, engine = samples(X, label), LocalEngine(2)
    blocks = [piece for _, piece in whole_set(set_).pieces(np.arange(1200) // 171)]
    one = Clusters(64)(engine, [whole_set(set_)], 1, 40, random())
    many = Clusters(64)(engine, blocks, len(blocks), 40, random())
    same_parts(one, many)
    np.testing.assert_array_equal(router_of(one).offset, router_of(many).offset)


def test_counts_of_many_parts_are_added_up_in_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    X, label = clouds(1200)
    set_ = samples(X, label)
    blocks = [piece for _, piece in whole_set(set_).pieces(np.arange(1200) // 171)]
    few = Clusters(64)(LocalEngine(2), blocks, len(blocks), 40, random())
    monkeypatch.setattr(tree_growth, "MOST_COUNTS", 100)
    for ranges in (7, 64):
        monkeypatch.setattr(tree_growth, "RANGES", ranges)
        same_parts(few, Clusters(64)(LocalEngine(2), blocks, len(blocks), 40, random()))


def test_what_is_brought_here_does_not_grow_with_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of all answers of the engine, for ten times the rows in as many clusters."""
    monkeypatch.setattr(tree_growth, "MOST_CLUSTERS", 8)

    class Weighed(LocalEngine):
        brought = 0

        def reduce(self, parts: Any, fn: Any, combine: Any) -> Any:
            return self.weighed(super().reduce(parts, fn, combine))

        def visit(self, parts: Any, i: int, fn: Any, value: Any) -> Any:
            return self.weighed(super().visit(parts, i, fn, value))

        def weighed(self, value: Any) -> Any:
            self.brought += len(pickle.dumps(value))
            return value

    brought = []
    for n_rows in (2_000, 20_000):
        X, label = clouds(n_rows)
        engine = Weighed(1)
        Clusters(64)(engine, [whole_set(samples(X, label))], 1, 40, np.random.default_rng(0))
        brought.append(engine.brought)
    assert brought[1] < 1.3 * brought[0]


def test_places_are_forgotten() -> None:
    X, label = clouds(400)
    divide(Clusters(64), samples(X, label), 16)
    assert not tree_growth._remembered


def test_a_process_that_has_not_looked_begins_at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a task that is run again on another machine."""
    monkeypatch.setattr(tree_growth, "MOST_CLUSTERS", 8)
    X, label = clouds(1200)
    known = divide(Clusters(64), samples(X, label), 40)
    monkeypatch.setattr(tree_growth, "_memory_of", lambda token: {})
    same_parts(known, divide(Clusters(64), samples(X, label), 40))


def test_a_task_that_is_run_again_does_not_use_a_later_tree() -> None:
    X, label = clouds(300)
    set_ = samples(X, label)
    kernel = KERNELS["rbf"]
    root = ClusterTree.of(cluster_rows(kernel, Drawn(np.arange(100), X[:100]), 3, random()))
    own = np.flatnonzero(root.assign(X) == 1)
    below = cluster_rows(kernel, Drawn(own[:40], X[own[:40]]), 4, random())
    tree = root.split(np.array([1]), [below])
    whole = whole_set(set_)
    before, after = (Places("a test", each, 1) for each in (root, tree))
    try:
        expected = before.leaves(whole)
        later = after.leaves(whole)
        np.testing.assert_array_equal(before.leaves(whole), expected)
        np.testing.assert_array_equal(after.leaves(whole), later)
    finally:
        tree_growth._remembered.clear()


def test_too_many_clusters_for_the_rows() -> None:
    X, label = clouds(20)
    with pytest.raises(ValueError, match=r"11 clusters need .* at least 22 rows; got 20. Lower"):
        divide(Clusters(64), samples(X, label), 11)


def test_one_part_is_all_rows() -> None:
    X, label = clouds(50)
    divided = divide(Clusters(64), samples(X, label), 1)
    assert divided.router is None
    np.testing.assert_array_equal(divided.parts[0].rows, np.arange(50))


def test_kernel_with_a_negative_diagonal() -> None:
    """tanh(γ‖x‖² − 50) is about −1 for all pairs of rows, which then coincide."""
    X, label = clouds(60)
    divided = divide(Clusters(64), samples(X, label, Kernel("sigmoid", 0.1, -50.0)), 2)
    part_of_rows(divided.parts, 60)
