"""Sums over groups of basis rows: the best group of every query, and each query's own group."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from rows_under_test import DTYPES, KERNELS, expected_block, expected_values, in_layout, values

from tolerances import TOLERANCES
from widemargin import _native
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

BY_NAME = {kernel.name: kernel for kernel in KERNELS}
names = pytest.mark.parametrize("name", BY_NAME)
dtypes = pytest.mark.parametrize("dtype", DTYPES)
layouts = pytest.mark.parametrize(
    ("left", "right"),
    [("dense", "dense"), ("csr32", "csr32"), ("csr64", "dense"), ("dense", "csr64")],
)
# Sizes of groups: one row each; around tiles of 3, 6 and 12 rows; empty first, last and between.
GROUPINGS = ([1] * 40, [4] * 10, [0, 0, 7, 1, 0, 13, 12, 0, 2, 5, 0], [40], [0, 40, 0])


def starts_of(sizes: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def expected_scores(
    block: np.ndarray, coef: np.ndarray, starts: np.ndarray, offset: np.ndarray
) -> np.ndarray:
    """Scores of all groups at all queries: the matrix that the native core never holds."""
    groups = [slice(a, b) for a, b in pairwise(starts)]
    return offset[:, None] + np.array([coef[g] @ block[g] for g in groups])


def error_of_sums(coef: np.ndarray, block: np.ndarray, dtype: str) -> float:
    return np.abs(coef).sum() * TOLERANCES[dtype].kernel * (1 + np.abs(block).max(initial=0.0))


@names
@dtypes
@layouts
def test_nearest_group(name: str, dtype: str, left: str, right: str) -> None:
    kernel = BY_NAME[name]
    block = expected_values(kernel, 17, dtype)[:40]
    basis = in_layout(values(17, dtype, 0)[:40], left)
    rng = np.random.default_rng(0)
    coef = rng.normal(size=40)
    for n_queries in (0, 1, 15, 17, 257):
        queries = in_layout(values(17, dtype, 1)[:n_queries], right)
        for sizes in GROUPINGS:
            starts, offset = starts_of(sizes), rng.normal(size=len(sizes))
            best, score = kernel.nearest_group(queries, basis, coef, starts, offset)
            assert (best.dtype, best.shape) == (np.int64, (n_queries,))
            assert (score.dtype, score.shape) == (np.float64, (n_queries,))
            scores = expected_scores(block[:, :n_queries], coef, starts, offset)
            allowed = error_of_sums(coef, block, dtype)
            np.testing.assert_allclose(score, scores.max(axis=0), rtol=0, atol=allowed)
            # The named group has the score; it is the best one but for rounding.
            np.testing.assert_allclose(
                scores[best, np.arange(n_queries)], score, rtol=0, atol=allowed
            )


@names
@dtypes
@layouts
def test_routed_product(name: str, dtype: str, left: str, right: str) -> None:
    kernel = BY_NAME[name]
    block = expected_values(kernel, 17, dtype)
    basis = in_layout(values(17, dtype, 0), left)
    queries = in_layout(values(17, dtype, 1), right)
    rng = np.random.default_rng(0)
    coef = rng.normal(size=257).astype(dtype).astype(np.float64)
    order = rng.permutation(257)
    for query_sizes, basis_sizes in [
        ([3, 0, 100, 47, 20], [30, 20, 0, 200, 7]),
        ([257], [257]),
        ([0, 257], [0, 257]),
        ([1] * 200, [1] * 199 + [58]),
        ([0], [257]),
        ([], []),
    ]:
        query_start, basis_start = starts_of(query_sizes), starts_of(basis_sizes)
        rows, used = order[: query_start[-1]], basis_start[-1]
        sums = kernel.routed_product(
            queries,
            basis if used else in_layout(values(17, dtype, 0)[:0], left),
            coef[:used],
            rows,
            query_start,
            basis_start,
        )
        expected = np.zeros(257)
        for g in range(len(query_sizes)):
            members = rows[query_start[g] : query_start[g + 1]]
            part = slice(basis_start[g], basis_start[g + 1])
            expected[members] = coef[part] @ block[part][:, members]
        assert sums.dtype == np.float64
        np.testing.assert_allclose(sums, expected, rtol=0, atol=error_of_sums(coef, block, dtype))
        assert not sums[np.setdiff1d(np.arange(257), rows)].any()


@names
@dtypes
@layouts
def test_threads_do_not_change_a_bit(name: str, dtype: str, left: str, right: str) -> None:
    kernel = BY_NAME[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 5)).astype(dtype) * (rng.random((1100, 5)) < 0.6)
    basis, queries = in_layout(X[:300], left), in_layout(X, right)
    coef, starts = rng.normal(size=300), np.arange(0, 301, 4)
    offset = rng.normal(size=75)
    rows, query_start = rng.permutation(1100)[:1000], np.array([0, 10, 600, 1000])

    def both(threads: int) -> list[np.ndarray]:
        return [
            *kernel.nearest_group(queries, basis, coef, starts, offset, threads),
            kernel.routed_product(
                queries, basis, coef, rows, query_start, np.array([0, 100, 107, 300]), threads
            ),
        ]

    alone = both(1)
    for threads in (2, 5):
        for found, expected in zip(both(threads), alone, strict=True):
            np.testing.assert_array_equal(found, expected)


@dtypes
@pytest.mark.parametrize("layout", ["dense", "csr32"])
def test_one_group_is_a_product(dtype: str, layout: str) -> None:
    """The same tiles in the same order: a routed product of one group is the product to the bit."""
    kernel = BY_NAME["rbf"]
    basis = in_layout(values(17, dtype, 0), layout)
    queries = in_layout(values(17, dtype, 1), layout)
    coef = np.random.default_rng(0).normal(size=257)
    whole = np.array([0, 257])
    np.testing.assert_array_equal(
        kernel.routed_product(queries, basis, coef, np.arange(257), whole, whole),
        kernel.product(queries, basis, coef[None])[0],
    )


@names
@dtypes
@pytest.mark.parametrize("layout", ["dense", "csr32"])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_lowest_of_equal_groups(name: str, dtype: str, layout: str, size: int) -> None:
    """Copies of a group tie to the bit, wherever they lie in a tile; the first of them wins."""
    X = values(17, dtype, 0)
    basis = in_layout(np.tile(X[40 : 40 + size], (9, 1)), layout)
    queries = in_layout(values(17, dtype, 1), layout)
    coef = np.tile(np.linspace(-1.0, 2.0, size), 9)
    starts = np.arange(0, 9 * size + 1, size)
    for offset, winner in [([0.0] * 9, 0), ([-1.0] * 4 + [0.0] * 5, 4)]:
        best, _ = BY_NAME[name].nearest_group(queries, basis, coef, starts, np.array(offset))
        np.testing.assert_array_equal(best, winner)


def test_groups_without_rows_score_their_offset() -> None:
    kernel, queries = Kernel("linear"), as_rows(np.array([[-1.0], [0.0], [1.0]]))
    none, one = as_rows(np.empty((0, 1))), as_rows(np.ones((1, 1)))
    best, score = kernel.nearest_group(
        queries, none, np.empty(0), np.zeros(4, np.int64), np.array([-2.0, -1.0, -1.0])
    )
    np.testing.assert_array_equal(best, [1, 1, 1])
    np.testing.assert_array_equal(score, [-1.0, -1.0, -1.0])
    # Before and after the row; a tie of both at 0 goes to the earlier group.
    for starts, groups in [([0, 0, 1], [0, 0, 1]), ([0, 1, 1], [1, 0, 0])]:
        best, score = kernel.nearest_group(queries, one, np.ones(1), np.array(starts), np.zeros(2))
        np.testing.assert_array_equal(best, groups)
        np.testing.assert_array_equal(score, [0.0, 0.0, 1.0])


@dtypes
def test_picked_queries(dtype: str) -> None:
    kernel = BY_NAME["rbf"]
    basis, queries = as_rows(values(17, dtype, 0)), as_rows(values(17, dtype, 1))
    coef = np.random.default_rng(0).normal(size=257)
    arguments = (coef, np.array([0, 100, 101, 257]), np.zeros(3))
    best, score = kernel.nearest_group(queries, basis, *arguments)
    assert len(np.unique(best)) > 1
    for rows in (np.array([], np.int64), np.array([256, 3, 3, 0]), np.arange(257)[::-1]):
        some = kernel.nearest_group(queries, basis, *arguments, query_rows=rows)
        np.testing.assert_array_equal(some[0], best[rows])
        np.testing.assert_array_equal(some[1], score[rows])


def test_small_differences_survive_in_float32_rows() -> None:
    """Sums are float64: a group that is better by 1e-9 of a large sum is found."""
    basis = as_rows(np.ones((4, 1), np.float32))
    coef = np.array([1e6, 1.0, 1e6, 1.001])
    best, score = Kernel("linear").nearest_group(
        as_rows(np.ones((1, 1), np.float32)), basis, coef, np.array([0, 2, 4]), np.zeros(2)
    )
    assert best[0] == 1
    assert score[0] == pytest.approx(1e6 + 1.001, rel=1e-15)


def test_wide_sparse_rows_over_several_tasks() -> None:
    """Past 16,384 columns a task takes 2,048 queries, of which few panels are packed at a time."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 20_000, size=(2100, 10)).ravel()
    X = sp.csr_matrix((rng.normal(size=21_000), columns, np.arange(0, 21_001, 10)), (2100, 20_000))
    kernel, queries, basis = Kernel("linear"), as_rows(X), as_rows(X[:30])
    coef, starts, offset = rng.normal(size=30), np.arange(0, 31, 3), np.zeros(10)
    block = (X[:30] @ X.T).toarray()
    scores = expected_scores(block, coef, starts, offset)
    best, score = kernel.nearest_group(queries, basis, coef, starts, offset, threads=2)
    np.testing.assert_allclose(score, scores.max(axis=0), atol=1e-12)
    np.testing.assert_allclose(scores[best, np.arange(2100)], score, atol=1e-12)
    rows, query_start = np.arange(2100), np.array([0, 2080, 2100])
    sums = kernel.routed_product(queries, basis, coef, rows, query_start, np.array([0, 10, 30]), 2)
    expected = np.where(rows < 2080, coef[:10] @ block[:10], coef[10:] @ block[10:])
    np.testing.assert_allclose(sums, expected, atol=1e-12)


def test_calls_from_worker_threads() -> None:
    kernel = BY_NAME["rbf"]
    X = values(17, "float64", 0)
    starts, offset = np.arange(0, 258, 257), np.zeros(1)

    def call(_: int) -> np.ndarray:
        rows = as_rows(X)
        return kernel.nearest_group(rows, rows, np.ones(257), starts, offset, threads=2)[1]

    expected = expected_block(kernel, X, X).sum(axis=0)
    with ThreadPoolExecutor(4) as pool:
        for score in pool.map(call, range(16)):
            np.testing.assert_allclose(score, expected, rtol=1e-12)


# Refusals: four queries and four basis rows of two features.


def nearest(**changed: object) -> None:
    rows = as_rows(np.ones((4, 2)))
    arguments: dict[str, object] = {
        "queries": rows,
        "basis": rows,
        "spec": Kernel("rbf").spec,
        "coef": np.ones(4),
        "group_start": np.array([0, 2, 4]),
        "offset": np.zeros(2),
    }
    _native.nearest_group(**{**arguments, **changed})


def routed(**changed: object) -> None:
    rows = as_rows(np.ones((4, 2)))
    arguments: dict[str, object] = {
        "queries": rows,
        "basis": rows,
        "spec": Kernel("rbf").spec,
        "coef": np.ones(4),
        "query_rows": np.array([3, 0, 1]),
        "query_start": np.array([0, 1, 3]),
        "basis_start": np.array([0, 2, 4]),
    }
    _native.routed_product(**{**arguments, **changed})


BROKEN_STARTS = [
    ([], "got an empty array"),
    ([1, 2, {}], "begins with 1"),
    ([-1, 2, {}], "begins with -1"),
    ([0, 2, 1, {}], "entry 2 is 1, the one before it 2"),
    ([0, 9, {}], "the one before it 9"),
    ([0, -1, {}], "entry 1 is -1"),
    ([0, 1, 2], "ends with 2"),
    ([0, 1, 9], "ends with 9"),
]


@pytest.mark.parametrize(
    ("call", "name", "end"),
    [(nearest, "group_start", 4), (routed, "basis_start", 4), (routed, "query_start", 3)],
)
@pytest.mark.parametrize(("starts", "message"), BROKEN_STARTS)
def test_broken_starts(call, name: str, end: int, starts: list, message: str) -> None:
    array = np.array([end if s == {} else s for s in starts], np.int64)
    with pytest.raises(ValueError, match=f"`{name}` must begin with 0.*\\({end}\\); .*{message}"):
        call(**{name: array})


@pytest.mark.parametrize("call", [nearest, routed])
def test_rows_and_coefficients_that_do_not_belong_together(call) -> None:
    call()  # as it stands, nothing is wrong
    with pytest.raises(ValueError, match=r"`coef` needs one entry per basis row \(4\); got 5"):
        call(coef=np.ones(5))
    with pytest.raises(ValueError, match="same features"):
        call(queries=as_rows(np.ones((4, 3))))
    with pytest.raises(TypeError):
        call(queries=as_rows(np.ones((4, 2), np.float32)))
    with pytest.raises(ValueError, match="precomputed kernel"):
        call(spec=Kernel("precomputed").spec)


def test_refusals_of_nearest_group() -> None:
    with pytest.raises(ValueError, match=r"`offset` needs one entry per group \(2\); got 3"):
        nearest(offset=np.zeros(3))
    with pytest.raises(ValueError, match="at least one group"):
        nearest(
            basis=as_rows(np.ones((0, 2))),
            coef=np.ones(0),
            group_start=np.array([0]),
            offset=np.zeros(0),
        )
    for bad in (-1, 4, 2**40):
        with pytest.raises(ValueError, match="row number out of range"):
            nearest(query_rows=np.array([0, bad]))


def test_refusals_of_routed_product() -> None:
    for bad in (-1, 4, 2**40):
        with pytest.raises(ValueError, match=rf"in \[0, 4\); entry 1 is {bad}"):
            routed(query_rows=np.array([0, bad, 1]))
    with pytest.raises(ValueError, match="names 3 again at entry 2"):
        routed(query_rows=np.array([3, 0, 3]))
    with pytest.raises(ValueError, match=r"`basis_start` needs one entry per .*\(3\); got 4"):
        routed(basis_start=np.array([0, 2, 2, 4]))
