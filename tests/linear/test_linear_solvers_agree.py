"""Every linear solver finds the objective that an outside solver finds, and proves it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from linear_problems import CASES, LOSSES, SMOOTH, Case, dense, optimum, problem_of, run_of

from widemargin.core.outcome import Solution
from widemargin.linear.solvers import (
    augmented_lagrangian,
    dsvrg,
    dual,
    newton,
    sampled_svrg,
    svrg,
)

SOLVERS: dict[str, Callable[..., Solution]] = {
    "newton": newton.solve,
    "dual": dual.solve,
    "dual_then_newton": dual.solve_then_newton,
    "svrg": svrg.solve,
    "dsvrg": lambda *a, **k: dsvrg.solve(*a, n_parts=4, n_strata=4, **k),
    "dsvrg_random": lambda *a, **k: dsvrg.solve(*a, n_parts=4, partition="random", **k),
    "sampled_svrg": lambda *a, **k: sampled_svrg.solve(*a, sample_size=30, **k),
    "augmented_lagrangian": augmented_lagrangian.solve,
}
FOR_THE_HINGE = ("dual", "dual_then_newton", "augmented_lagrangian")
SOLVER_AND_LOSS = [
    (solver, loss)
    for solver in SOLVERS
    for loss in LOSSES
    if (loss in SMOOTH and solver != "augmented_lagrangian")
    or (loss == "hinge" and solver in FOR_THE_HINGE)
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.sparse=} {c.dtype} {c.weighted=}")
@pytest.mark.parametrize(("solver", "loss"), SOLVER_AND_LOSS)
def test_objective_is_the_oracles_and_certified(solver: str, loss: str, case: Case) -> None:
    case = case._replace(loss=loss)
    problem, run = problem_of(case), run_of(tol=5e-7, max_iter=3000)
    net_dual = np.zeros(problem.n_rows)
    found = SOLVERS[solver](problem, np.zeros(problem.size), *run, net_dual)
    assert found.outcome.converged
    best = optimum(case)
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert found.certificate.dual <= best * (1 + 1e-9)
    # What is claimed of w and of the duals is true of them.
    assert objective(case, found.iterate) == pytest.approx(found.certificate.primal, rel=1e-12)
    proof = problem.certificate(found.iterate, net_dual)
    assert proof.relative_gap <= 1e-6
    assert run.history.latest is found.iterate
    assert run.history.best.relative_gap <= run.budget.tol


@pytest.mark.parametrize("solver", [s for s, loss in SOLVER_AND_LOSS if loss == "odm"])
def test_large_C(solver: str) -> None:
    case = Case(C=10.0)
    problem, run = problem_of(case), run_of(tol=5e-7, max_iter=5000)
    found = SOLVERS[solver](problem, np.zeros(problem.size), *run)
    assert found.outcome.converged
    assert found.certificate.primal == pytest.approx(optimum(case), rel=1e-6)


@pytest.mark.parametrize(("solver", "loss"), SOLVER_AND_LOSS)
def test_dense_and_sparse_rows_and_any_number_of_threads_give_the_same(
    solver: str, loss: str
) -> None:
    answers = []
    for sparse, threads in [(False, 1), (False, 2), (True, 1), (True, 2)]:
        case = Case(loss, sparse=sparse, threads=threads, n_rows=600, dtype="float32")
        problem, run = problem_of(case), run_of(tol=1e-7, max_iter=3000, seed=5)
        answers.append(SOLVERS[solver](problem, np.zeros(problem.size), *run).iterate)
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[2], answers[3])
    # The same steps, their sums added up in another order.
    np.testing.assert_allclose(answers[0], answers[2], atol=1e-8 * np.abs(answers[0]).max())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_is_the_objectives(loss: str, sparse: bool) -> None:
    problem = problem_of(Case(loss, sparse=sparse, weighted=True))
    w = np.random.default_rng(1).normal(size=problem.size)
    width = 1e-6
    numerical = [
        (problem.evaluate(w + e).objective - problem.evaluate(w - e).objective) / (2 * width)
        for e in width * np.eye(problem.size)
    ]
    np.testing.assert_allclose(problem.evaluate(w).gradient, numerical, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_at_the_optimum_does_next_to_nothing(loss: str) -> None:
    for solver, its_loss in SOLVER_AND_LOSS:
        if its_loss != loss:
            continue
        problem = problem_of(Case(loss))
        net_dual = np.zeros(problem.n_rows)
        first = run_of(tol=1e-7, max_iter=5000)
        w = SOLVERS[solver](problem, np.zeros(problem.size), *first, net_dual).iterate
        again = run_of(tol=1e-5, max_iter=5000)
        assert SOLVERS[solver](problem, w, *again, net_dual).outcome.converged
        assert again.history.iterations <= 2, solver


def test_rows_without_weight_are_refused() -> None:
    problem = problem_of(Case())
    for bad in (0.0, -1.0, np.nan):
        weight = np.ones(problem.n_rows)
        weight[3] = bad
        with pytest.raises(ValueError, match="`weight` must be positive"):
            replace(problem, weight=weight)


def objective(case: Case, w: np.ndarray) -> float:
    """Evaluate the objective with the kernel machines' code."""
    problem = problem_of(case)
    weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
    terms = LOSSES[case.loss].terms(case.C * weight)
    return float(0.5 * w @ w + terms.primal(problem.label * (dense(problem) @ w)).sum())
