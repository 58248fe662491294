"""Newton with conjugate gradients: the dense method's optimum, at any size, within its limits."""

import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from limits import limits
from oracle import solve_with_clarabel
from reference import kernels
from tolerances import TOLERANCES
from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.outcome import Outcome
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem, extreme_eigenvalues
from widemargin.kernel.solvers import newton, newton_cg, preconditioner
from widemargin.kernel.solvers.binary import DENSE_ROWS, solve_newton

UPSILON, THETA = 0.4, 0.1
LOSSES: dict[str, Loss] = {
    "squared_hinge": SquaredHinge(),
    "odm": MarginDistribution(UPSILON, THETA),
}
RBF = Kernel("rbf", gamma=0.5)
loss_names = pytest.mark.parametrize("loss", LOSSES)


def problem_of(
    loss: str,
    n_rows: int = 300,
    C: float = 4.0,
    *,
    kernel: Kernel = RBF,
    dtype: str = "float64",
    weighted: bool = False,
    threads: int = 1,
) -> KernelProblem:
    """Two clouds that overlap; a third of the entries are zero."""
    rng = np.random.default_rng(n_rows)
    y = np.where(rng.random(n_rows) < 0.4, 1.0, -1.0)
    X = rng.normal(size=(n_rows, 4)) + 0.6 * y[:, None]
    X = (X * (rng.random(X.shape) < 0.7)).astype(dtype)
    weights = rng.uniform(0.2, 3.0, size=n_rows) if weighted else np.ones(n_rows)
    return KernelProblem(X, kernel, y, LOSSES[loss].terms(C * weights), threads)


def zeros(problem: KernelProblem) -> np.ndarray:
    return np.zeros(problem.n_rows)


@pytest.fixture
def low_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor that leaves work to the conjugate gradients."""
    monkeypatch.setattr(preconditioner, "RANK", 20)


# The optimum


@loss_names
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("low_rank")
def test_objective_is_the_oracle_s(loss: str, weighted: bool, layout: str, dtype: str) -> None:
    problem = problem_of(loss, 60, dtype=dtype, weighted=weighted)
    K = kernels.rbf(problem.X.astype(np.float64), problem.X.astype(np.float64), RBF.gamma)
    weights = (1 if loss == "odm" else 0.5) / problem.terms.below
    expected = solve_with_clarabel(K, problem.label, loss, 1.0, weights, UPSILON, THETA).objective
    if layout == "csr":
        problem = replace(problem, X=sp.csr_matrix(problem.X))
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-7))
    assert solution.outcome is Outcome.CONVERGED
    tolerance = TOLERANCES[dtype].objective
    assert solution.certificate.primal == pytest.approx(expected, rel=tolerance)
    assert solution.certificate.dual == pytest.approx(expected, rel=tolerance)
    Q = K * np.outer(problem.label, problem.label)
    np.testing.assert_allclose(solution.iterate.margin, Q @ solution.iterate.net_dual, atol=1e-9)


@loss_names
@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("linear"),
        Kernel("linear", constant=1.0),
        Kernel("poly", gamma=0.5, coef0=1.0, degree=3),
        Kernel("laplacian", gamma=0.3),
    ],
    ids=lambda kernel: f"{kernel.name}{kernel.constant:+}",
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_other_kernels_agree_with_dense_newton(loss: str, kernel: Kernel, dtype: str) -> None:
    problem = problem_of(loss, kernel=kernel, dtype=dtype)
    exact = newton.solve(problem, Duals(zeros(problem)), *limits(tol=1e-8)).certificate.primal
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-5))
    assert solution.outcome is Outcome.CONVERGED
    assert exact * (1 - 1e-9) <= solution.certificate.primal <= exact * (1 + 1e-5)


@loss_names
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.usefixtures("low_rank")
def test_float32_reaches_small_gaps_by_correction(loss: str, C: float) -> None:
    """Products in float32 alone are wrong by more than this gap; float64 margins mend it."""
    problem = problem_of(loss, 700, C, dtype="float32")
    exact = newton.solve(problem, Duals(zeros(problem)), *limits(tol=1e-12)).certificate.primal
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-9))
    assert solution.outcome is Outcome.CONVERGED
    assert solution.certificate.primal == pytest.approx(exact, rel=2e-9)


@loss_names
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precomputed_kernel_is_the_kernel(loss: str, dtype: str) -> None:
    problem = problem_of(loss, 700)
    K = kernels.rbf(problem.X, problem.X, RBF.gamma).astype(dtype)
    given = replace(problem, X=K, kernel=Kernel("precomputed", constant=0.5))
    same = replace(problem, kernel=replace(RBF, constant=0.5))
    a, b = (newton_cg.solve(p, Duals(zeros(p)), *limits(tol=1e-6)) for p in (given, same))
    assert a.outcome is b.outcome is Outcome.CONVERGED
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-6)


@loss_names
def test_shift_makes_an_indefinite_kernel_convex(loss: str) -> None:
    problem = problem_of(loss, kernel=Kernel("sigmoid", gamma=0.5, coef0=-0.5))
    lowest, _ = extreme_eigenvalues(problem)
    assert lowest < 0
    problem = replace(problem, shift=-2 * lowest)
    exact = newton.solve(problem, Duals(zeros(problem)), *limits(tol=1e-8)).certificate.primal
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-6))
    assert solution.outcome is Outcome.CONVERGED
    assert solution.certificate.primal == pytest.approx(exact, rel=2e-6)


@loss_names
def test_duals_are_zero_where_nothing_is_penalised(loss: str) -> None:
    problem = problem_of(loss, 1500)
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-6))
    wanted = problem.terms.implied_dual(solution.iterate.margin)
    assert np.count_nonzero(solution.iterate.net_dual) <= np.count_nonzero(wanted) + 5
    assert np.count_nonzero(wanted) < 1400
    if loss == "squared_hinge":
        assert solution.iterate.net_dual.min() >= 0


# What may not matter


@loss_names
def test_start_at_the_optimum_changes_nothing(loss: str) -> None:
    problem = problem_of(loss)
    first = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-6))
    for margin in (None, first.iterate.margin):
        again = newton_cg.solve(problem, Duals(first.iterate.net_dual, margin), *limits(tol=1e-6))
        assert again.iterations == 0
        np.testing.assert_array_equal(again.iterate.net_dual, first.iterate.net_dual)


@loss_names
@pytest.mark.usefixtures("low_rank")
def test_any_start_leads_to_the_optimum(loss: str) -> None:
    problem = problem_of(loss)
    start = np.random.default_rng(0).uniform(0, 4.0, size=300)
    expected = newton.solve(problem, Duals(zeros(problem)), *limits(tol=1e-8)).certificate.primal
    solution = newton_cg.solve(problem, Duals(start), *limits(tol=1e-7))
    assert solution.certificate.primal == pytest.approx(expected, rel=1e-7)


@loss_names
def test_threads_change_nothing_and_the_seed_little(loss: str) -> None:
    found = [
        newton_cg.solve(
            problem_of(loss, 1200, threads=threads), Duals(np.zeros(1200)), *limits(tol=1e-4)
        )
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(found[0].iterate.net_dual, found[1].iterate.net_dual)
    other = newton_cg.solve(
        problem_of(loss, 1200), Duals(np.zeros(1200)), *limits(tol=1e-8, seed=9)
    )
    assert other.certificate.primal == pytest.approx(found[0].certificate.primal, rel=1e-4)


# Limits


@loss_names
@pytest.mark.parametrize("columns", [5, 40, 400])
def test_memory_limit_is_kept(loss: str, columns: int) -> None:
    """A lower limit means a lower rank, at last the diagonal alone; the optimum is the same."""
    problem = problem_of(loss, 1500, dtype="float32")
    problem.rows  # noqa: B018 (packed before memory is measured)
    limit = columns * 8 * 1500
    tracemalloc.start()
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-4, memory=limit))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.outcome is Outcome.CONVERGED
    assert peak < limit + 40 * 8 * 1500  # and some vectors


def test_rank_follows_the_memory() -> None:
    assert preconditioner.affordable(50_000, 2**30) == (1000, 64)
    rank, block = preconditioner.affordable(100_000, 2**30)
    assert rank >= 900
    assert 8 * 100_000 * (rank + preconditioner.PASSING * block) + 32 * rank**2 <= 2**30
    assert preconditioner.affordable(300, 2**30) == (300, 64)
    assert preconditioner.affordable(50_000, 10**6) == (0, 0)


@loss_names
def test_time_is_up_at_once(loss: str) -> None:
    problem = problem_of(loss, 1500)
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-12, max_time=1e-9))
    assert solution.outcome is Outcome.TIME
    assert solution.certificate.primal < np.sum(problem.terms.primal(zeros(problem)))


@loss_names
@pytest.mark.usefixtures("low_rank")
def test_stopped_early_the_gap_is_a_proof(loss: str) -> None:
    problem = problem_of(loss, 700, C=100.0)
    exact = newton.solve(problem, Duals(zeros(problem)), *limits(tol=1e-8)).certificate.primal
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-12, max_iter=3))
    assert solution.outcome is Outcome.ITERATIONS
    assert solution.iterations == 3
    certificate = solution.certificate
    assert certificate.dual <= exact <= certificate.primal
    margin = problem.margins(solution.iterate.net_dual)
    primal = 0.5 * solution.iterate.net_dual @ margin + problem.terms.primal(margin).sum()
    assert certificate.primal == pytest.approx(primal, rel=1e-12)


def test_interrupt_leaves_the_latest_duals() -> None:
    def interrupt(row: Mapping[str, Any]) -> None:
        if row["iteration"] == 2:
            raise KeyboardInterrupt

    problem = problem_of("odm", 1200, C=100.0)
    budget, history = limits(tol=1e-12, listener=interrupt)
    with pytest.raises(KeyboardInterrupt):
        newton_cg.solve(problem, Duals(zeros(problem)), budget, history)
    assert history.latest is not None
    margin = problem.margins(history.latest.net_dual)
    certificate = problem.certificate(history.latest.net_dual, margin)
    assert certificate.primal < 0.5 * np.sum(problem.terms.primal(zeros(problem)))


def test_float32_products_give_way_to_float64_ones() -> None:
    """At this C the rounding of float32 is larger than the curvature of the loss."""
    problem = problem_of("squared_hinge", 700, C=1e5, dtype="float32")
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-3))
    assert solution.outcome is Outcome.CONVERGED


def test_unreachable_gap_ends() -> None:
    problem = problem_of("odm", 500, C=1e9, kernel=Kernel("linear"), dtype="float32")
    solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-17, max_iter=200))
    assert solution.outcome is Outcome.STALLED
    assert solution.iterations < 200


def test_values_that_overflow_are_not_called_converged() -> None:
    problem = problem_of("odm", kernel=Kernel("linear"))
    problem = replace(problem, X=problem.X * 1e200)
    with np.errstate(all="ignore"):
        solution = newton_cg.solve(problem, Duals(zeros(problem)), *limits(tol=1e-3))
    assert solution.outcome is Outcome.STALLED


def test_hinge_is_refused() -> None:
    problem = problem_of("odm", 20)
    hinge = replace(problem, terms=Hinge().terms(np.ones(20)))
    with pytest.raises(ValueError, match="needs a loss with curvature"):
        newton_cg.solve(hinge, Duals(np.zeros(20)), *limits(tol=1e-3))


@loss_names
def test_history_counts_passes(loss: str) -> None:
    problem, (budget, history) = problem_of(loss, 1200), limits(tol=1e-6)
    solution = newton_cg.solve(problem, Duals(zeros(problem)), budget, history)
    history = history.table()
    assert np.all(np.diff(history["passes"]) > 0)
    assert 1.0 < history["passes"][-1] < 50
    assert np.all(history["primal"] >= history["dual"] * (1 - 1e-12))  # but for their rounding
    assert history["primal"][-1] == solution.certificate.primal
    assert history["dual"][-1] == solution.certificate.dual


# Which of the two


@pytest.mark.parametrize(
    ("n_rows", "memory", "dense"),
    [(300, 2**30, True), (300, 10**6, False), (DENSE_ROWS + 1, 2**30, False)],
)
def test_size_and_memory_choose(
    n_rows: int, memory: int, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(newton, "solve", lambda *_: asked.append("dense"))
    monkeypatch.setattr(newton_cg, "solve", lambda *_: asked.append("conjugate gradients"))
    problem = problem_of("odm", n_rows)
    solve_newton(problem, Duals(zeros(problem)), *limits(tol=1e-3, memory=memory))
    assert asked == ["dense" if dense else "conjugate gradients"]
