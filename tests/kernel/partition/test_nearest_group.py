"""The nearest of several groups, against distances written out."""

from itertools import pairwise

import numpy as np
import pytest
from rows_to_divide import KERNELS, as_csr, clouds, matrix, samples

from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import NearestGroup
from widemargin.kernel.partition.nearest_group import nearest_landmark, nearest_mean

kernels = pytest.mark.parametrize("name", KERNELS)
ROWS = np.array([3, 5, 8, 40, 41, 42, 60, 77, 90, 99, 110])
GROUP = np.array([2, 0, 0, 1, 2, 1, 0, 3, 3, 0, 2])


def means(kernel: Kernel, X: np.ndarray) -> NearestGroup:
    return nearest_mean(kernel, X[ROWS], ROWS, GROUP, matrix(kernel, X[ROWS]))


def distances_to_means(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """‖φ(x) − mean of a group‖² − κ(x, x), row by row and group by group."""
    out = np.zeros((len(Z), GROUP.max() + 1))
    for g in range(out.shape[1]):
        members = X[ROWS[g == GROUP]]
        out[:, g] = -2 * matrix(kernel, Z, members).mean(axis=1) + matrix(kernel, members).mean()
    return out


@kernels
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_nearest_mean(name: str, form: str) -> None:
    kernel = KERNELS[name]
    X, _ = clouds(120)
    Z, _ = clouds(300, seed=1)
    router = means(kernel, X)
    data = Z if form == "dense" else as_csr(Z)
    expected = distances_to_means(kernel, X, Z).argmin(axis=1)
    assert len(np.unique(expected)) > 1
    for threads in (1, 2):
        np.testing.assert_array_equal(router.assign(data, threads), expected)
    np.testing.assert_array_equal(
        router.assign_values(matrix(kernel, Z, X[router.basis_rows])), expected
    )


@kernels
def test_nearest_landmark(name: str) -> None:
    kernel = KERNELS[name]
    X, _ = clouds(120)
    Z, _ = clouds(300, seed=1)
    diagonal = kernel.diagonal(as_rows(X))[ROWS]
    router = nearest_landmark(kernel, X[ROWS], ROWS, diagonal)
    expected = (-2 * matrix(kernel, Z, X[ROWS]) + diagonal).argmin(axis=1)
    np.testing.assert_array_equal(router.assign(Z), expected)
    np.testing.assert_array_equal(router.assign_values(matrix(kernel, Z, X[ROWS])), expected)


def test_rows_of_a_training_set() -> None:
    """Some rows of a set in any form; precomputed ones in blocks, whose edges do not show."""
    kernel = KERNELS["rbf"]
    X, label = clouds(120)
    K = matrix(kernel, X)
    rows = np.array([0, 3, 7, 119])
    expected = means(kernel, X).assign(X)
    by_values = nearest_mean(Kernel("precomputed"), None, ROWS, GROUP, K[np.ix_(ROWS, ROWS)])
    for router, data, spec in [
        (means(kernel, X), X, kernel),
        (means(kernel, X), as_csr(X), kernel),
        (by_values, K, Kernel("precomputed")),
    ]:
        set_ = samples(data, label, spec)
        np.testing.assert_array_equal(router.assign_samples(set_, rows), expected[rows])
        assert router.assign_samples(set_, rows[:0]).shape == (0,)
    many = np.tile(np.arange(120), 80)  # more than two blocks of 4096
    set_ = samples(K, label, Kernel("precomputed"))
    np.testing.assert_array_equal(by_values.assign_samples(set_, many), np.tile(expected, 80))


def test_lowest_number_of_equally_near_groups() -> None:
    kernel = Kernel("linear")
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    router = nearest_landmark(kernel, X, np.arange(4), np.ones(4))
    np.testing.assert_array_equal(router.assign(np.array([[0.0], [2.0], [-2.0]])), [0, 0, 1])
    values = np.array([[0.0] * 4, [2.0, -2.0] * 2, [-2.0, 2.0] * 2])
    np.testing.assert_array_equal(router.assign_values(values), [0, 0, 1])


@pytest.mark.parametrize("form", ["dense", "csr", "values"])
def test_leaving_groups_out(form: str) -> None:
    kernel = KERNELS["laplacian"]
    X, _ = clouds(120)
    Z, _ = clouds(200, seed=1)
    router = means(kernel, X)
    if form == "csr":
        router = router.with_basis(as_csr(X))
    kept = np.array([True, False, True, True])
    fewer = router.only(kept)
    expected = distances_to_means(kernel, X, Z)[:, kept].argmin(axis=1)
    assert fewer.n_groups == 3
    assert [b - a for a, b in pairwise(fewer.group_start)] == [4, 3, 2]
    if form == "values":
        found = fewer.assign_values(matrix(kernel, Z, X[fewer.basis_rows]))
    else:
        found = fewer.assign(Z)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", ["dense", "csr", "values"])
def test_groups_taken_apart_and_joined(form: str) -> None:
    kernel = KERNELS["rbf"]
    X, _ = clouds(120)
    Z, _ = clouds(200, seed=1)
    router = means(kernel, X)
    if form == "csr":
        router = router.with_basis(as_csr(X))
    pieces = [router.only(np.arange(4) == g) for g in (2, 0, 3, 1)]
    joined = pieces[0].joined(pieces[1:])
    expected = distances_to_means(kernel, X, Z)[:, [2, 0, 3, 1]].argmin(axis=1)
    assert sorted(joined.basis_rows) == sorted(ROWS)
    if form == "values":
        found = joined.assign_values(matrix(kernel, Z, X[joined.basis_rows]))
    else:
        found = joined.assign(Z)
    np.testing.assert_array_equal(found, expected)
    alone = router.joined([])
    np.testing.assert_array_equal(alone.assign(Z), router.assign(Z))


def test_empty_groups_score_their_offset() -> None:
    """First, last and between; by rows and by values alike."""
    X = np.array([[1.0], [-1.0]])
    router = NearestGroup(
        Kernel("linear"),
        X,
        np.arange(2),
        np.array([1.0, 1.0]),
        np.array([0, 0, 1, 1, 2, 2]),
        np.array([0.1, 0.0, 0.2, 0.0, 0.15]),
    )
    Z = np.array([[0.0], [3.0], [-3.0]])
    np.testing.assert_array_equal(router.assign(Z), [2, 1, 3])
    np.testing.assert_array_equal(router.assign_values(Z @ X.T), [2, 1, 3])
    np.testing.assert_array_equal(router.assign_values(np.zeros((0, 2))), [])
