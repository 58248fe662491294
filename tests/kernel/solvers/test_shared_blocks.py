"""Problems that share blocks reach the objectives they reach alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from limits import limits
from tolerances import TOLERANCES
from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.outcome import certify
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.solvers.binary import solve_binary
from widemargin.kernel.solvers.shared_blocks import SharedBlocks, certified, leave_out

LOSSES = [Hinge(), SquaredHinge(), MarginDistribution(0.5, 0.2)]
losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
N_ROWS, TOL = 700, 1e-4


def never(gap: float) -> bool:
    return False


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
    memory = 4 * X.dtype.itemsize * block**2
    shared = SharedBlocks(X, kernel, label, threads=2, memory=memory, seed=0)
    assert shared.block == block
    # Three problems with other weights and other rows.
    out = left_out(3)
    terms = [
        leave_out(loss.terms(C * weight), each)
        for C, each in zip((0.5, 4.0, 4.0), out, strict=True)
    ]
    dual, margin = np.zeros((3, N_ROWS)), np.zeros((3, N_ROWS))
    sets = shared.solve(terms, dual, margin, np.full(3, TOL), max_sets=10_000, stop=never)
    assert np.all(sets > 0)
    proofs = certified(shared, terms, dual, margin, TOL, max_sets=10_000, stop=never)
    for p, C in enumerate((0.5, 4.0, 4.0)):
        kept = ~out[p]
        assert not dual[p, out[p]].any()
        alone = KernelProblem(X[kept], kernel, label[kept], loss.terms(C * weight[kept]))
        solved = solve_binary(alone, Duals(np.zeros(kept.sum())), "auto", *limits(tol=1e-6))
        assert proofs[p].relative_gap <= TOL
        assert proofs[p].dual == pytest.approx(solved.certificate.dual, rel=2 * TOL)
        # The certificate is the one of the problem on the rows that were kept.
        exact = alone.margins(dual[p, kept])
        np.testing.assert_allclose(margin[p, kept], exact, atol=1e-9 * np.abs(dual).sum())
        direct = certify(alone.terms, dual[p, kept], exact)
        rounding = TOLERANCES[dtype].objective_of_dual
        assert proofs[p].primal == pytest.approx(direct.primal, rel=rounding)
        # Rows that were left out have the decisions of a model that never saw them.
        values = kernel_values(kernel, X[out[p]], X[kept])
        decision = values @ (dual[p, kept] * label[kept])
        np.testing.assert_allclose(
            margin[p, out[p]] * label[out[p]], decision, atol=1e-9 * np.abs(dual).sum()
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
    shared = SharedBlocks(sparse, kernel, label, threads=1, memory=32 * 200**2, seed=0)
    terms = [leave_out(loss.terms(np.full(N_ROWS, 0.1)), out) for out in left_out(2)]
    dual, margin = np.zeros((2, N_ROWS)), np.zeros((2, N_ROWS))
    proofs = certified(shared, terms, dual, margin, 1e-3, max_sets=10_000, stop=never)
    assert max(proof.relative_gap for proof in proofs) <= 1e-3


def test_threads_change_nothing(rows: tuple) -> None:
    X, label = rows
    results = []
    for threads in (1, 3):
        shared = SharedBlocks(X, Kernel("rbf", 0.2), label, threads, memory=32 * 200**2, seed=1)
        terms = [leave_out(Hinge().terms(np.full(N_ROWS, 2.0)), out) for out in left_out(4)]
        dual, margin = np.zeros((4, N_ROWS)), np.zeros((4, N_ROWS))
        certified(shared, terms, dual, margin, 1e-3, max_sets=10_000, stop=never)
        results.append((dual, margin))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_the_solution_needs_no_work(rows: tuple) -> None:
    X, label = rows
    shared = SharedBlocks(X, Kernel("rbf", 0.2), label, 1, memory=32 * 200**2, seed=0)
    terms = [Hinge().terms(np.full(N_ROWS, 2.0))]
    dual, margin = np.zeros((1, N_ROWS)), np.zeros((1, N_ROWS))
    certified(shared, terms, dual, margin, 1e-4, max_sets=10_000, stop=never)
    before = dual.copy()
    sets = shared.solve(terms, dual, margin, np.array([1e-3]), max_sets=10_000, stop=never)
    assert sets.sum() == 0
    np.testing.assert_array_equal(dual, before)


def test_limits_are_kept(rows: tuple) -> None:
    X, label = rows
    shared = SharedBlocks(X, Kernel("rbf", 0.2), label, 1, memory=32 * 200**2, seed=0)
    terms = [Hinge().terms(np.full(N_ROWS, 100.0))] * 2
    target = np.full(2, 1e-9)
    dual, margin = np.zeros((2, N_ROWS)), np.zeros((2, N_ROWS))
    sets = shared.solve(terms, dual, margin, target, max_sets=3, stop=never)
    np.testing.assert_array_equal(sets, 3)
    told: list[float] = []
    shared.solve(
        terms, dual, margin, target, max_sets=99, stop=lambda gap: told.append(gap) or True
    )
    assert len(told) == 1
    assert told[0] > 1e-9
