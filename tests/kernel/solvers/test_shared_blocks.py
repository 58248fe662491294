"""Problems that share blocks reach the objectives they reach alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from limits import limits
from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.outcome import certify
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.solvers.binary import solve_binary
from widemargin.kernel.solvers.block_matrix import BlockMatrix
from widemargin.kernel.solvers.row_groups import SharedProblem, row_groups
from widemargin.kernel.solvers.shared_blocks import SHARE_OF_MEMORY, SharedBlocks, leave_out
from widemargin.kernel.solvers.shared_certificates import certified

LOSSES = [Hinge(), SquaredHinge(), MarginDistribution(0.5, 0.2)]
losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
N_ROWS, TOL = 700, 1e-4


def never(gap: float) -> bool:
    return False


def memory_for(block: int, itemsize: int = 8) -> int:
    return int(itemsize * block**2 / SHARE_OF_MEMORY) + itemsize


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(N_ROWS, 6, n_informative=4, flip_y=0.1, random_state=0)
    return X, np.where(y, 1.0, -1.0)


def left_out(n_problems: int) -> np.ndarray:
    """Return which rows each problem lacks."""
    return np.arange(N_ROWS) % n_problems == np.arange(n_problems)[:, None]


@losses
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("block", [100, N_ROWS])
def test_every_problem_is_solved(loss: Loss, dtype: str, block: int, rows: tuple) -> None:
    X, label = rows[0].astype(dtype), rows[1]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N_ROWS)
    kernel = Kernel("rbf", 0.2, constant=1.0)
    memory = memory_for(block, X.dtype.itemsize)
    shared = SharedBlocks(X, kernel, threads=2, memory=memory, seed=0)
    assert shared.next_block.largest == block
    # Three problems with other weights and other rows.
    out = left_out(3)
    problems = [
        SharedProblem(label, leave_out(loss.terms(C * weight), each))
        for C, each in zip((0.5, 4.0, 4.0), out, strict=True)
    ]
    dual, margin = np.zeros((3, N_ROWS)), np.zeros((3, N_ROWS))
    sets = shared.solve(problems, dual, margin, np.full(3, TOL), max_sets=10_000, stop=never)
    assert np.all(sets > 0)
    proofs, _ = certified(shared, problems, dual, margin, TOL, max_sets=10_000, stop=never)
    for p, C in enumerate((0.5, 4.0, 4.0)):
        kept = ~out[p]
        assert not dual[p, out[p]].any()
        alone = KernelProblem(X[kept], kernel, label[kept], loss.terms(C * weight[kept]))
        solved = solve_binary(alone, Duals(np.zeros(kept.sum())), "auto", *limits(tol=1e-6))
        assert proofs[p].relative_gap <= TOL
        assert proofs[p].dual == pytest.approx(solved.certificate.dual, rel=2 * TOL)
        # The certificate is the one of the problem on the rows that were kept.
        exact = alone.margins(dual[p, kept])
        off = 1e-9 if dtype == "float64" else 1e-7
        np.testing.assert_allclose(margin[p, kept], exact, atol=off * np.abs(dual).sum())
        direct = certify(alone.terms, dual[p, kept], exact)
        assert proofs[p].primal == pytest.approx(
            direct.primal, rel=1e-12 if dtype == "float64" else 1e-5
        )
        assert proofs[p].gap >= direct.gap * (1 - 1e-6)
        # Rows that were left out have the decisions of a model that never saw them.
        values = kernel_values(kernel, X[out[p]], X[kept])
        decision = values @ (dual[p, kept] * label[kept])
        np.testing.assert_allclose(
            margin[p, out[p]] * label[out[p]], decision, atol=off * np.abs(dual).sum()
        )


def kernel_values(kernel: Kernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    distances = ((A[:, None].astype(float) - B[None].astype(float)) ** 2).sum(axis=2)
    return np.exp(-kernel.gamma * distances) + kernel.constant


@losses
@pytest.mark.parametrize(
    "kernel", [Kernel("laplacian", 0.1), Kernel("poly", 0.2, 1.0, 2), Kernel("linear")], ids=str
)
def test_other_kernels_and_sparse_rows(loss: Loss, kernel: Kernel, rows: tuple) -> None:
    X, label = rows
    sparse = sp.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    shared = SharedBlocks(sparse, kernel, threads=1, memory=memory_for(200), seed=0)
    problems = [
        SharedProblem(label, leave_out(loss.terms(np.full(N_ROWS, 0.1)), out))
        for out in left_out(2)
    ]
    dual, margin = np.zeros((2, N_ROWS)), np.zeros((2, N_ROWS))
    proofs, _ = certified(shared, problems, dual, margin, 1e-3, max_sets=10_000, stop=never)
    assert max(proof.relative_gap for proof in proofs) <= 1e-3


def test_threads_change_nothing(rows: tuple) -> None:
    X, label = rows
    results = []
    for threads in (1, 3):
        shared = SharedBlocks(X, Kernel("rbf", 0.2), threads, memory=memory_for(200), seed=1)
        problems = [
            SharedProblem(label, leave_out(Hinge().terms(np.full(N_ROWS, 2.0)), out))
            for out in left_out(4)
        ]
        dual, margin = np.zeros((4, N_ROWS)), np.zeros((4, N_ROWS))
        certified(shared, problems, dual, margin, 1e-3, max_sets=10_000, stop=never)
        results.append((dual, margin))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_the_solution_needs_no_work(rows: tuple) -> None:
    X, label = rows
    shared = SharedBlocks(X, Kernel("rbf", 0.2), 1, memory=memory_for(200), seed=0)
    problems = [SharedProblem(label, Hinge().terms(np.full(N_ROWS, 2.0)))]
    dual, margin = np.zeros((1, N_ROWS)), np.zeros((1, N_ROWS))
    certified(shared, problems, dual, margin, 1e-4, max_sets=10_000, stop=never)
    before = dual.copy()
    sets = shared.solve(problems, dual, margin, np.array([1e-3]), max_sets=10_000, stop=never)
    assert sets.sum() == 0
    np.testing.assert_array_equal(dual, before)


def test_limits_are_kept(rows: tuple) -> None:
    X, label = rows
    shared = SharedBlocks(X, Kernel("rbf", 0.2), 1, memory=memory_for(200), seed=0)
    problems = [SharedProblem(label, Hinge().terms(np.full(N_ROWS, 100.0)))] * 2
    target = np.full(2, 1e-9)
    dual, margin = np.zeros((2, N_ROWS)), np.zeros((2, N_ROWS))
    sets = shared.solve(problems, dual, margin, target, max_sets=3, stop=never)
    np.testing.assert_array_equal(sets, 3)
    told: list[float] = []
    shared.solve(
        problems, dual, margin, target, max_sets=99, stop=lambda gap: told.append(gap) or True
    )
    assert len(told) == 1
    assert told[0] > 1e-9


@losses
def test_problems_on_some_of_the_rows(loss: Loss, rows: tuple) -> None:
    X, code = rows[0], np.arange(N_ROWS) % 3
    kernel, weight = Kernel("rbf", 0.2), np.full(N_ROWS, 2.0)
    problems = []
    for positive, negative in ((0, 1), (0, 2), (1, 2)):
        mine = np.flatnonzero((code == positive) | (code == negative))
        label = np.where(code[mine] == positive, 1.0, -1.0)
        problems.append(SharedProblem(label, loss.terms(weight[mine]), mine))
    groups = row_groups(problems, N_ROWS)
    assert sorted(len(each.problems) for each in groups) == [2, 2, 2]
    shared = SharedBlocks(X, kernel, 2, memory=3 * memory_for(150), seed=0, own_rows=True)
    assert shared.next_block.largest == 150
    dual, margin = ([np.zeros(len(each.label)) for each in problems] for _ in range(2))
    proofs, _ = certified(shared, problems, dual, margin, TOL, max_sets=10_000, stop=never)
    for each, mine, at, proof in zip(problems, dual, margin, proofs, strict=True):
        alone = KernelProblem(X[each.rows], kernel, each.label, each.terms)
        solved = solve_binary(alone, Duals(np.zeros(len(mine))), "auto", *limits(tol=1e-6))
        assert proof.relative_gap <= TOL
        assert proof.dual == pytest.approx(solved.certificate.dual, rel=2 * TOL)
        np.testing.assert_allclose(at, alone.margins(mine), atol=1e-9 * np.abs(mine).sum())


def test_the_matrix_of_a_changing_block(rows: tuple) -> None:
    X, kernel, random = rows[0], Kernel("rbf", 0.2), np.random.default_rng(0)
    everything = kernel_values(kernel, X, X)
    matrix = BlockMatrix(as_rows(X), kernel, X.dtype, 120, threads=2)
    for size in (40, 40, 90, 120, 120, 30, 70):
        kept = random.permutation(matrix.block)[: min(size // 2, len(matrix.block))]
        others = np.setdiff1d(np.arange(N_ROWS), kept)
        wanted = np.concatenate([kept, random.choice(others, size - len(kept), replace=False)])
        before = matrix.entries
        new = len(np.setdiff1d(wanted, matrix.block))
        matrix.hold(wanted)
        assert matrix.entries - before == new * size
        assert set(matrix.block) == set(wanted)
        values = everything[np.ix_(matrix.block, matrix.block)]
        np.testing.assert_allclose(matrix.values, values, atol=1e-12)
