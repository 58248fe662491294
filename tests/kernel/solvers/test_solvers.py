"""Every solver against the oracle, and against what may not matter to a solver."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from limits import limits
from oracle import OracleSolution, solve_with_clarabel
from reference import kernels
from reference.certificate import dual, primal
from reference.losses import make_loss
from reference.problems import random_problem
from tolerances import POLISHED_OBJECTIVE, TOLERANCES
from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.outcome import Outcome, Solution
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem, extreme_eigenvalues
from widemargin.kernel.solvers.binary import SOLVERS, choose, solve_binary

UPSILON, THETA, C = 0.4, 0.1, 2.0
LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "odm": MarginDistribution(UPSILON, THETA),
}
KERNELS = {
    "rbf": Kernel("rbf", gamma=0.4),
    "poly": Kernel("poly", gamma=0.5, coef0=1.0, degree=3),
    "linear": Kernel("linear"),
}
SOLVER_AND_LOSS = [
    ("blocks", "hinge"),
    ("blocks", "squared_hinge"),
    ("blocks", "odm"),
    ("coordinate", "hinge"),
    ("coordinate", "squared_hinge"),
    ("coordinate", "odm"),
    ("newton", "squared_hinge"),
    ("newton", "odm"),
]
solver_and_loss = pytest.mark.parametrize(("solver", "loss"), SOLVER_AND_LOSS)
kernel_names = pytest.mark.parametrize("kernel", KERNELS)
loss_names = pytest.mark.parametrize("loss", LOSSES)


def gram(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    X = X.astype(np.float64)
    if kernel.name == "rbf":
        return kernels.rbf(X, X, kernel.gamma)
    if kernel.name == "poly":
        return kernels.polynomial(X, X, kernel.gamma, kernel.degree, kernel.coef0)
    return kernels.linear(X, X)


def rows_and_labels(dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    """45 rows that no kernel here separates; a third of the entries are zero."""
    rng = np.random.default_rng(5)
    y = np.where(np.arange(45) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(45, 4)) + 0.5 * y[:, None]
    return (X * (rng.random(X.shape) < 0.7)).astype(dtype), y


def row_weights(weighted: bool) -> np.ndarray:
    return np.random.default_rng(6).uniform(0.2, 3.0, size=45) if weighted else np.ones(45)


@cache
def oracle(kernel: str, loss: str, weighted: bool, dtype: str) -> OracleSolution:
    X, y = rows_and_labels(dtype)
    K = gram(KERNELS[kernel], X)
    return solve_with_clarabel(K, y, loss, C, row_weights(weighted), UPSILON, THETA)


def problem_of(
    kernel: str,
    loss: str,
    weighted: bool = False,
    layout: str = "dense",
    dtype: str = "float64",
    threads: int = 1,
) -> KernelProblem:
    X, y = rows_and_labels(dtype)
    terms = LOSSES[loss].terms(C * row_weights(weighted))
    data = sp.csr_matrix(X) if layout == "csr" else X
    return KernelProblem(data, KERNELS[kernel], y, terms, threads)


def solve(solver: str, problem: KernelProblem, start: np.ndarray | None = None) -> Solution[Duals]:
    start = np.zeros(problem.n_rows) if start is None else start
    return SOLVERS[solver](problem, Duals(start), *limits(tol=1e-8))


# The grid


@solver_and_loss
@kernel_names
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_objective_is_the_oracle_s(
    solver: str, loss: str, kernel: str, weighted: bool, layout: str, dtype: str
) -> None:
    """The solver alone: no polish, and float32 rows stay float32."""
    problem = problem_of(kernel, loss, weighted, layout, dtype)
    solution = solve(solver, problem)
    expected = oracle(kernel, loss, weighted, dtype).objective
    tolerance = TOLERANCES[dtype]
    assert solution.certificate.primal == pytest.approx(expected, rel=tolerance.objective)
    assert solution.certificate.dual == pytest.approx(expected, rel=tolerance.objective)

    X, y = rows_and_labels(dtype)
    Q = kernels.signed(gram(KERNELS[kernel], X), y)
    reference = make_loss(loss, C, row_weights(weighted), UPSILON, THETA)
    net_dual = solution.iterate.net_dual
    same = {"rel": tolerance.objective_of_dual}
    assert primal(Q, net_dual, reference) == pytest.approx(solution.certificate.primal, **same)
    assert dual(Q, net_dual, reference) == pytest.approx(solution.certificate.dual, **same)
    np.testing.assert_allclose(solution.iterate.margin, Q @ net_dual, atol=1e-9)


@solver_and_loss
@kernel_names
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_problems_are_exact_to_rounding(
    solver: str, loss: str, kernel: str, weighted: bool, layout: str, dtype: str
) -> None:
    """As estimators solve them: loose ``tol``, then the polish."""
    problem = problem_of(kernel, loss, weighted, layout, dtype)
    budget, history = limits(tol=1e-2)
    result = solve_binary(problem, Duals(np.zeros(45)), solver, budget, history)
    expected = oracle(kernel, loss, weighted, dtype)
    assert result.outcome is Outcome.CONVERGED
    assert result.solver == solver
    assert result.certificate.primal == pytest.approx(expected.objective, rel=POLISHED_OBJECTIVE)
    assert result.certificate.relative_gap < 1e-12
    assert result.iterate.lowest_eigenvalue == 0.0


@loss_names
@kernel_names
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_coordinate_descent_alone_reaches_small_gaps(loss: str, kernel: str, dtype: str) -> None:
    problem = problem_of(kernel, loss, dtype=dtype)
    tol = 1e-5 if dtype == "float32" else 1e-11
    solution = SOLVERS["coordinate"](problem, Duals(np.zeros(45)), *limits(tol=tol))
    assert solution.outcome is Outcome.CONVERGED
    assert solution.certificate.relative_gap <= tol


# What may not matter


@solver_and_loss
@kernel_names
def test_start_at_the_optimum_changes_nothing(solver: str, loss: str, kernel: str) -> None:
    problem = problem_of(kernel, loss, weighted=True)
    first = solve(solver, problem)
    again = solve(solver, problem, first.iterate.net_dual)
    assert again.iterations <= 1
    np.testing.assert_allclose(
        again.iterate.net_dual, first.iterate.net_dual, rtol=1e-9, atol=1e-12
    )
    if solver == "coordinate":
        assert again.iterations == 0
        np.testing.assert_array_equal(again.iterate.net_dual, first.iterate.net_dual)


@solver_and_loss
def test_any_feasible_start_leads_to_the_optimum(solver: str, loss: str) -> None:
    problem = problem_of("rbf", loss)
    start = np.random.default_rng(0).uniform(0, C, size=45)
    expected = oracle("rbf", loss, False, "float64").objective
    assert solve(solver, problem, start).certificate.primal == pytest.approx(expected, rel=1e-6)


@solver_and_loss
@kernel_names
def test_order_of_rows(solver: str, loss: str, kernel: str) -> None:
    problem = problem_of(kernel, loss, weighted=True)
    order = np.random.default_rng(0).permutation(45)
    terms = LOSSES[loss].terms(C * row_weights(True)[order])
    moved = KernelProblem(problem.X[order], problem.kernel, problem.label[order], terms)
    a, b = (
        solve_binary(p, Duals(np.zeros(45)), solver, *limits(tol=1e-3)) for p in (problem, moved)
    )
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-12)
    margins = problem.margins(a.iterate.net_dual)[order]
    np.testing.assert_allclose(moved.margins(b.iterate.net_dual), margins, atol=1e-9)


@solver_and_loss
@kernel_names
def test_names_of_the_two_sides(solver: str, loss: str, kernel: str) -> None:
    problem = problem_of(kernel, loss)
    flipped = KernelProblem(problem.X, problem.kernel, -problem.label, problem.terms)
    a, b = (
        solve_binary(p, Duals(np.zeros(45)), solver, *limits(tol=1e-3)) for p in (problem, flipped)
    )
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-12)
    margins = problem.margins(a.iterate.net_dual)
    np.testing.assert_allclose(flipped.margins(b.iterate.net_dual), margins, atol=1e-9)


@solver_and_loss
@kernel_names
def test_weight_two_is_the_row_twice(solver: str, loss: str, kernel: str) -> None:
    X, y = rows_and_labels()
    copies = 1 + np.arange(45) % 3
    rows = np.repeat(np.arange(45), copies)
    weighted = KernelProblem(X, KERNELS[kernel], y, LOSSES[loss].terms(C * copies.astype(float)))
    repeated = KernelProblem(
        X[rows], KERNELS[kernel], y[rows], LOSSES[loss].terms(np.full(len(rows), C))
    )
    a = solve_binary(weighted, Duals(np.zeros(45)), solver, *limits(tol=1e-3))
    b = solve_binary(repeated, Duals(np.zeros(len(rows))), solver, *limits(tol=1e-3))
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-12)
    np.testing.assert_allclose(
        weighted.margins(a.iterate.net_dual)[rows], repeated.margins(b.iterate.net_dual), atol=1e-9
    )


@solver_and_loss
def test_threads_and_seed(solver: str, loss: str) -> None:
    """Threads change nothing at all; the seed nothing beyond ``tol``."""
    found = [
        SOLVERS[solver](
            problem_of("rbf", loss, threads=threads), Duals(np.zeros(45)), *limits(tol=1e-4)
        )
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(found[0].iterate.net_dual, found[1].iterate.net_dual)
    other = SOLVERS[solver](
        problem_of("rbf", loss), Duals(np.zeros(45)), *limits(tol=1e-8, seed=99)
    )
    assert other.certificate.primal == pytest.approx(found[0].certificate.primal, rel=1e-4)


# Larger than one working set: working sets, shrinking, the unshrunk check


def clouds(n_rows: int, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_rows)
    y = np.where(np.arange(n_rows) % 2 == 0, 1.0, -1.0)
    return (rng.normal(size=(n_rows, 4)) + 0.8 * y[:, None]).astype(dtype), y


@loss_names
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_certificate_counts_the_rows_that_were_dropped(loss: str, kernel: str, dtype: str) -> None:
    X, y = clouds(1500, dtype)
    terms = LOSSES[loss].terms(np.full(1500, 0.5))
    problem = KernelProblem(X, KERNELS[kernel], y, terms)
    budget, history = limits(tol=1e-5)
    solution = SOLVERS["coordinate"](problem, Duals(np.zeros(1500)), budget, history)
    assert solution.outcome is Outcome.CONVERGED
    # Dense Newton never drops a row. It has no hinge; there the gap itself is the proof.
    Q = kernels.signed(gram(KERNELS[kernel], X), y)
    reference = make_loss(loss, 0.5, np.ones(1500), UPSILON, THETA)
    upper, lower = (
        primal(Q, solution.iterate.net_dual, reference),
        dual(Q, solution.iterate.net_dual, reference),
    )
    assert upper == pytest.approx(solution.certificate.primal, rel=1e-9)
    assert upper - lower <= 1.0001e-5 * upper
    if loss != "hinge":
        exact = solve("newton", problem).certificate.primal
        assert exact * (1 - 1e-9) <= upper <= exact * (1 + 1e-5)


def test_rows_are_dropped_on_the_way() -> None:
    X, y = clouds(1500)
    problem = KernelProblem(X, KERNELS["rbf"], y, Hinge().terms(np.full(1500, 0.5)))
    budget, history = limits(tol=1e-7)
    SOLVERS["coordinate"](problem, Duals(np.zeros(1500)), budget, history)
    assert history.table()["active_rows"].min() < 1500


def test_history_ends_with_the_certificate() -> None:
    X, y = clouds(1500)
    problem = KernelProblem(X, KERNELS["rbf"], y, Hinge().terms(np.full(1500, 0.5)))
    budget, history = limits(tol=1e-7)
    solution = SOLVERS["coordinate"](problem, Duals(np.zeros(1500)), budget, history)
    history = history.table()
    assert history["primal"][-1] == pytest.approx(solution.certificate.primal, rel=1e-12)
    assert history["dual"][-1] == pytest.approx(solution.certificate.dual, rel=1e-12)


# Awkward problems


@loss_names
@pytest.mark.parametrize("row_weight", [1e-3, 0.1, 1.0, 30.0, 1e3, 1e5])
@pytest.mark.parametrize(
    "difficulty", ["plain", "contradictory", "zero_rows", "one_class", "low_rank"]
)
def test_degenerate_problems(loss: str, row_weight: float, difficulty: str) -> None:
    """Opposite labels on equal rows, all rows at their bound, singular kernels, every C."""
    X, y, weights, K, _ = random_problem(difficulty, n_rows=30, seed=2)
    kernel = Kernel("linear") if difficulty in ("zero_rows", "low_rank") else Kernel("rbf", 0.5)
    terms = LOSSES[loss].terms(row_weight * weights)
    expected = solve_with_clarabel(K, y, loss, row_weight, weights, UPSILON, THETA).objective
    for solver in ("coordinate", "newton") if loss != "hinge" else ("coordinate",):
        problem = KernelProblem(X, kernel, y, terms)
        result = solve_binary(problem, Duals(np.zeros(30)), solver, *limits(tol=1e-3))
        assert result.outcome is Outcome.CONVERGED
        assert result.certificate.primal == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
@solver_and_loss
def test_fewest_rows(solver: str, loss: str, n_rows: int) -> None:
    X, y = rows_and_labels()
    X, y = X[:n_rows], y[:n_rows]
    terms = LOSSES[loss].terms(np.ones(n_rows))
    result = solve_binary(
        KernelProblem(X, KERNELS["rbf"], y, terms),
        Duals(np.zeros(n_rows)),
        solver,
        *limits(tol=1e-3),
    )
    K = gram(KERNELS["rbf"], X)
    expected = solve_with_clarabel(K, y, loss, 1.0, None, UPSILON, THETA).objective
    assert result.certificate.primal == pytest.approx(expected, rel=1e-9)


@loss_names
def test_intercept_is_a_constant_feature(loss: str) -> None:
    X, y = rows_and_labels()
    terms = LOSSES[loss].terms(np.full(45, C))
    with_constant = KernelProblem(X, Kernel("linear", constant=1.0), y, terms)
    extended = KernelProblem(np.column_stack([X, np.ones(45)]), Kernel("linear"), y, terms)
    a, b = (
        solve_binary(p, Duals(np.zeros(45)), "auto", *limits(tol=1e-3))
        for p in (with_constant, extended)
    )
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-10)


@loss_names
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precomputed_kernel_is_the_kernel(loss: str, dtype: str) -> None:
    X, y = rows_and_labels(dtype)
    K = gram(KERNELS["rbf"], X)
    terms = LOSSES[loss].terms(np.full(45, C))
    problem = KernelProblem(K.astype(dtype), Kernel("precomputed"), y, terms)
    expected = oracle("rbf", loss, False, dtype).objective
    solution = solve("coordinate", problem)
    assert solution.certificate.primal == pytest.approx(expected, rel=1e-6)


# Indefinite kernels


@solver_and_loss
def test_shift_is_added_to_the_diagonal(solver: str, loss: str) -> None:
    X, y = rows_and_labels()
    terms = LOSSES[loss].terms(np.full(45, C))
    K = gram(KERNELS["rbf"], X)
    lifted = KernelProblem(K + 0.3 * np.eye(45), Kernel("precomputed"), y, terms)
    shifted = KernelProblem(X, KERNELS["rbf"], y, terms, shift=0.3)
    a, b = (solve(solver, problem) for problem in (lifted, shifted))
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-7)
    expected = solve_with_clarabel(K + 0.3 * np.eye(45), y, loss, C, None, UPSILON, THETA)
    assert b.certificate.primal == pytest.approx(expected.objective, rel=1e-7)
    assert b.certificate.dual == pytest.approx(expected.objective, rel=1e-7)


@pytest.mark.parametrize("n_rows", [80, 700])
@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("sigmoid", gamma=0.5, coef0=-0.5),
        Kernel("sigmoid", gamma=2.0),
        Kernel("poly", gamma=0.3, coef0=-1.0, degree=3),
        Kernel("rbf", gamma=0.05),  # its lowest eigenvalues are rounding
        Kernel("linear"),
        Kernel("linear", constant=-3.0),
    ],
    ids=lambda kernel: f"{kernel.name}{kernel.coef0:+}{kernel.constant:+}",
)
def test_extreme_eigenvalues(kernel: Kernel, n_rows: int) -> None:
    """The largest to a percent; the lowest not above the true one by more than a percent."""
    X, y = clouds(n_rows)
    problem = KernelProblem(X, kernel, y, Hinge().terms(np.ones(n_rows)))
    exact = np.linalg.eigvalsh(problem.dense_q())
    lowest, largest = extreme_eigenvalues(problem)
    scale = exact[-1] - exact[0]
    assert largest == pytest.approx(exact[-1], abs=0.01 * scale)
    assert lowest == pytest.approx(exact[0], rel=0.01, abs=1e-7 * scale)


# Choosing, stopping, recording


def test_choice_of_solver() -> None:
    small, hinge = problem_of("rbf", "odm"), problem_of("rbf", "hinge")
    large = KernelProblem(
        np.zeros((1001, 1)), KERNELS["rbf"], np.ones(1001), LOSSES["odm"].terms(np.ones(1001))
    )
    assert choose("auto", small, 2**30) == "newton"
    assert choose("auto", small, small.dense_bytes - 1) == "blocks"
    assert choose("auto", hinge, 2**30) == "blocks"
    assert choose("auto", large, 2**30) == "blocks"
    assert choose("auto", replace(large, kernel=KERNELS["linear"]), 2**30) == "newton"
    assert choose("newton", large, large.dense_bytes) == "newton"
    assert choose("newton", large, 1000) == "newton"  # by conjugate gradients
    with pytest.raises(ValueError, match="solver='newton' needs a loss with curvature"):
        choose("newton", hinge, 2**30)


@pytest.mark.parametrize("solver", ["coordinate", "newton"])
def test_time_is_up_at_once(solver: str) -> None:
    problem = problem_of("rbf", "odm")
    solution = SOLVERS[solver](problem, Duals(np.zeros(45)), *limits(tol=1e-15, max_time=1e-9))
    assert solution.outcome is Outcome.TIME
    assert "`max_time` was reached" in solution.outcome.value


@pytest.mark.parametrize("solver", ["coordinate", "newton"])
def test_iterations_are_used_up(solver: str) -> None:
    X, y = clouds(1200)
    problem = KernelProblem(X, Kernel("rbf", 2.0), y, LOSSES["odm"].terms(np.full(1200, 1e3)))
    solution = SOLVERS[solver](problem, Duals(np.zeros(1200)), *limits(tol=1e-12, max_iter=2))
    assert solution.outcome is Outcome.ITERATIONS
    assert solution.iterations == 2
    assert solution.certificate.relative_gap > 1e-12


@solver_and_loss
def test_history_is_consistent(solver: str, loss: str) -> None:
    heard: list[Mapping[str, Any]] = []
    budget, history = limits(tol=1e-8, listener=heard.append)
    solve_binary(problem_of("rbf", loss), Duals(np.zeros(45)), solver, budget, history)
    history = history.table()
    lengths = {len(column) for column in history.values()}
    assert lengths == {len(heard)}
    assert np.all(np.diff(history["seconds"]) >= 0)
    assert np.all(history["problem"] == 0)
    assert np.all(history["primal"] >= history["dual"] * (1 - 1e-12))
    gap = (history["primal"] - history["dual"]) / history["primal"]
    np.testing.assert_allclose(history["relative_gap"], gap, atol=1e-15)
    assert history["relative_gap"][-1] < 1e-8


def test_history_counts_problems_and_kernel_passes() -> None:
    X, y = clouds(1500)
    budget, history = limits(tol=1e-6)
    for k, label in enumerate((y, -y)):
        problem = KernelProblem(X, KERNELS["rbf"], label, Hinge().terms(np.ones(1500)))
        own = history.for_problem(k)
        SOLVERS["coordinate"](problem, Duals(np.zeros(1500)), budget, own)
        history.extend(own.rows)
    history = history.table()
    assert list(np.unique(history["problem"])) == [0, 1]
    for k in (0, 1):
        here = history["problem"] == k
        assert np.all(np.diff(history["iteration"][here]) >= 0)
        assert np.all(np.diff(history["passes"][here]) >= 0)
        assert 0 < history["passes"][here][-1] < 20
    assert limits(tol=1.0)[1].table()["primal"].shape == (0,)
