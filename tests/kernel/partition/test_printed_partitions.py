"""Partitions as the papers print them, against their formulas written naively."""

import numpy as np
import numpy.typing as npt
import pytest
from rows_to_divide import (
    KERNELS,
    Array,
    Numbers,
    as_csr,
    clouds,
    divide,
    matrix,
    part_of_rows,
    router_of,
    same_parts,
    samples,
)

from reference import landmarks as reference
from widemargin.engines import LocalEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import (
    Clusters,
    InputSpaceStrata,
    LandmarkStrata,
    RandomParts,
    strata,
)
from widemargin.kernel.partition.division import Drawn
from widemargin.kernel.partition.kernel_kmeans import cluster_rows
from widemargin.kernel.samples import whole_set

ALL = {
    "random": RandomParts(printed=True),
    "landmarks": LandmarkStrata(8, printed=True),
    "input space": InputSpaceStrata(8, printed=True),
    "clusters": Clusters(60, printed=True),
}


@pytest.mark.parametrize("name", ALL)
def test_labels_do_not_count(name: str) -> None:
    X, label = clouds(150)
    same_parts(divide(ALL[name], samples(X, label), 4), divide(ALL[name], samples(X, -label), 4))
    same_parts(
        divide(ALL[name], samples(X, label), 4), divide(ALL[name], samples(X, np.ones(150)), 4)
    )


@pytest.mark.parametrize("name", ALL)
def test_the_same_parts_wherever_rows_lie(name: str) -> None:
    X, label = clouds(300)
    one = divide(ALL[name], samples(X, label), 4)
    same_parts(one, divide(ALL[name], samples(as_csr(X), label), 4))
    set_, engine = samples(X, label), LocalEngine(2)
    blocks = [piece for _, piece in whole_set(set_).pieces(np.arange(300) // 73)]
    same_parts(one, ALL[name](engine, blocks, len(blocks), 4, np.random.default_rng(0)))


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_landmarks_are_chosen_among_all_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strata, "CANDIDATE_BYTES", 8 * 4 * 40)  # 40 candidates otherwise
    X, label = clouds(200)
    K = matrix(KERNELS[name], X)
    set_ = samples(X, label, KERNELS[name])
    whole, random = [whole_set(set_)], np.random.default_rng(0)
    found = LandmarkStrata(4, printed=True).strata(LocalEngine(1), whole, 1, random)
    chosen = reference.landmarks(K, 4)
    assert found.basis_rows.tolist() == chosen
    assert name == "linear" or chosen[0] == 0  # z₁ = x₁
    part = part_of_rows(divide(LandmarkStrata(4, printed=True), set_, 5).parts, 200)
    assert reference.spread(reference.strata(K, chosen), part, 5) <= 1


def lloyd(K: Array, group: Numbers) -> Numbers:
    """Kernel k-means as everybody prints it, from an assignment, until no row moves."""
    while True:
        names = np.unique(group)
        distance = [
            [
                K[i, i] - 2 * K[i, group == g].mean() + K[np.ix_(group == g, group == g)].mean()
                for g in names
            ]
            for i in range(len(K))
        ]
        moved = names[np.argmin(distance, axis=1)]
        if np.array_equal(moved, group):
            return np.unique(group, return_inverse=True)[1]
        group = moved


@pytest.mark.parametrize("gamma", [0.4, 30.0])
def test_kernel_kmeans_is_lloyds_from_a_random_assignment(gamma: float) -> None:
    """The kernel is not widened, however narrow, and clusters are not balanced."""
    X, _ = clouds(80)
    kernel = Kernel("rbf", gamma)
    found = cluster_rows(kernel, Drawn(np.arange(80), X), 5, np.random.default_rng(7), printed=True)
    expected = lloyd(matrix(kernel, X), np.random.default_rng(7).integers(5, size=80))
    assert found.kernel == kernel
    group = np.empty(80, dtype=np.int64)
    group[found.basis_rows] = np.repeat(np.arange(found.n_groups), np.diff(found.group_start))
    np.testing.assert_array_equal(group, expected)


def test_every_row_goes_to_its_nearest_centre() -> None:
    """The second step: distances of all rows to the centres of the sampled ones."""
    X, label = clouds(200)
    kernel = Kernel("rbf", 5.0)
    divided = divide(Clusters(50, printed=True), samples(X, label, kernel), 6)
    router = router_of(divided)
    assert router.kernel == kernel
    assert router.basis_rows.size == np.unique(router.basis_rows).size == 50  # m, and no more
    K = matrix(kernel, X)
    members = np.split(router.basis_rows, router.group_start[1:-1])
    distance = [-2 * K[:, own].mean(axis=1) + K[np.ix_(own, own)].mean() for own in members]
    part = part_of_rows(divided.parts, 200)
    np.testing.assert_array_equal(part, np.argmin(distance, axis=0))
    assert divided.n_parts <= 6


def test_clusters_are_not_balanced() -> None:
    """Of 190 rows, 180 coincide: ours deals them out, print leaves them together."""
    X = np.r_[np.zeros((180, 2)), np.random.default_rng(0).normal(size=(10, 2)) + 9]
    label = np.where(np.arange(190) % 2 == 0, 1.0, -1.0)
    set_ = samples(X, label, Kernel("rbf", 0.05))
    assert max(part.n_rows for part in divide(Clusters(190, printed=True), set_, 4).parts) >= 180
    assert max(part.n_rows for part in divide(Clusters(190), set_, 4).parts) <= 95


@pytest.mark.parametrize("n_support", [12, 90])
def test_later_levels_sample_support_vectors_alone(n_support: int) -> None:
    """Also where there are fewer than the sample has rows."""
    X, label = clouds(200)
    set_ = samples(X, label)
    dual: npt.NDArray[np.float64] = np.zeros(200)
    support = np.sort(np.random.default_rng(3).choice(200, n_support, replace=False))
    dual[support] = 0.5
    whole = [whole_set(set_, dual)]
    divided = Clusters(40, printed=True)(LocalEngine(1), whole, 1, 3, np.random.default_rng(0))
    sampled = router_of(divided).basis_rows
    assert np.isin(sampled, support).all()
    assert sampled.size == min(40, n_support)


def test_kmeans_of_all_rows_in_input_space() -> None:
    X, label = clouds(120)
    whole, random = [whole_set(samples(X, label))], np.random.default_rng(2)
    found = InputSpaceStrata(5, printed=True).strata(LocalEngine(1), whole, 1, random)
    random = np.random.default_rng(2)
    random.integers(2**31)  # which row comes into the sample of all rows
    centres = X[np.sort(random.choice(120, 5, replace=False))]
    while True:
        group = np.argmin(((X[:, None] - centres) ** 2).sum(axis=2), axis=1)
        means = np.array([X[group == g].mean(axis=0) for g in np.unique(group)])
        if means.shape == centres.shape and np.allclose(means, centres, atol=1e-14):
            break
        centres = means
    np.testing.assert_allclose(found.basis, centres, atol=1e-12)
    np.testing.assert_array_equal(found.assign(X), group)


def test_fewer_distinct_rows_than_clusters() -> None:
    X = np.repeat(np.eye(3), 20, axis=0)
    label = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    for division in ALL.values():
        part_of_rows(divide(division, samples(X, label), 4).parts, 60)
