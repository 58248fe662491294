"""Every linear solver finds the objective of a regression that an outside solver finds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from linear_problems import CASES, Case, dense, posed, rows_and_signal, run_of

from oracle import solve_regression_with_clarabel
from widemargin.core.losses import Loss
from widemargin.core.outcome import Solution
from widemargin.core.regression_losses import (
    DeviationBand,
    EpsilonInsensitive,
    Pinball,
    SquaredEpsilonInsensitive,
)
from widemargin.engines import LocalEngine
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers import (
    augmented_lagrangian,
    dsvrg,
    dual,
    newton,
    pegasos,
    sampled_svrg,
    starts,
    svrg,
)

LOSSES: dict[str, tuple[Loss, dict[str, float]]] = {
    "epsilon_insensitive": (EpsilonInsensitive(0.1), {"band": 0.1}),
    "squared_epsilon_insensitive": (SquaredEpsilonInsensitive(0.1), {"band": 0.1}),
    "pinball": (Pinball(0.8), {"quantile": 0.8}),
    "odm": (DeviationBand(0.3, 0.2), {"band": 0.2, "upsilon": 0.3}),
}
SMOOTH: dict[str, Callable[..., Solution]] = {
    "newton": newton.solve,
    "dual": dual.solve,
    "dual_then_newton": dual.solve_then_newton,
    "svrg": svrg.solve,
    "dsvrg": lambda *a, **k: dsvrg.solve(*a, n_parts=4, n_strata=4, **k),
    "sampled_svrg": lambda *a, **k: sampled_svrg.solve(*a, sample_size=30, **k),
}
WITH_KINKS: dict[str, Callable[..., Solution]] = {
    "augmented_lagrangian": augmented_lagrangian.solve,
    "dual": dual.solve,
    "dual_then_newton": dual.solve_then_newton,
}
SOLVER_AND_LOSS = [
    *((s, loss) for loss in ("squared_epsilon_insensitive", "odm") for s in SMOOTH),
    *((s, loss) for loss in ("epsilon_insensitive", "pinball") for s in WITH_KINKS),
]


def problem_of(case: Case) -> LinearProblem:
    """Make noisy targets of rows that have very different lengths."""
    random = np.random.default_rng(3)
    X, signal = rows_and_signal(case, random)
    target = signal + 0.3 * random.standard_t(3, case.n_rows) + 0.2
    label = np.ones(case.n_rows, dtype=np.int8)
    return posed(case, X, label, LOSSES[case.loss][0], random, target)


def solver_of(solver: str, loss: str) -> Callable[..., Solution]:
    kinds = WITH_KINKS if loss in ("epsilon_insensitive", "pinball") else SMOOTH
    return kinds[solver]


@cache
def optimum(case: Case) -> float:
    """Ask Clarabel for the objective."""
    problem = problem_of(case)
    assert problem.target is not None
    X, settings = dense(problem), LOSSES[case.loss][1]
    return solve_regression_with_clarabel(
        X @ X.T, problem.target, case.loss, case.C, problem.weight, **settings
    ).objective


def objective(case: Case, w: np.ndarray) -> float:
    """Evaluate the objective with the kernel machines' code."""
    problem = problem_of(case)
    weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
    terms = replace(LOSSES[case.loss][0].terms(case.C * weight), offset=problem.target)
    return float(0.5 * w @ w + terms.primal(dense(problem) @ w).sum())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.sparse=} {c.dtype} {c.weighted=}")
@pytest.mark.parametrize(("solver", "loss"), SOLVER_AND_LOSS)
def test_objective_is_the_oracles_and_certified(solver: str, loss: str, case: Case) -> None:
    case = case._replace(loss=loss)
    problem, run = problem_of(case), run_of(tol=5e-7, max_iter=30_000)
    net_dual = np.zeros(problem.n_rows)
    found = solver_of(solver, loss)(problem, np.zeros(problem.size), *run, net_dual)
    assert found.outcome.converged
    best = optimum(case)
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert found.certificate.dual <= best * (1 + 1e-9)
    # What is claimed of w and of the duals is true of them.
    assert objective(case, found.iterate) == pytest.approx(found.certificate.primal, rel=1e-12)
    assert problem.certificate(found.iterate, net_dual).relative_gap <= 1e-6


@pytest.mark.parametrize(("solver", "loss"), SOLVER_AND_LOSS)
def test_dense_and_sparse_rows_and_any_number_of_threads_give_the_same(
    solver: str, loss: str
) -> None:
    answers = []
    for sparse, threads in [(False, 1), (False, 2), (True, 1), (True, 2)]:
        case = Case(loss, sparse=sparse, threads=threads, n_rows=600, dtype="float32")
        problem, run = problem_of(case), run_of(tol=1e-7, max_iter=3000, seed=5)
        answers.append(solver_of(solver, loss)(problem, np.zeros(problem.size), *run).iterate)
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[2], answers[3])
    np.testing.assert_allclose(answers[0], answers[2], atol=1e-7 * np.abs(answers[0]).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_is_the_objectives(loss: str) -> None:
    problem = problem_of(Case(loss, weighted=True))
    w = np.random.default_rng(1).normal(size=problem.size)
    width = 1e-6
    numerical = [
        (problem.evaluate(w + e).objective - problem.evaluate(w - e).objective) / (2 * width)
        for e in width * np.eye(problem.size)
    ]
    np.testing.assert_allclose(problem.evaluate(w).gradient, numerical, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_answer_as_rows_in_one_place(loss: str) -> None:
    problem = problem_of(Case(loss, n_rows=300, weighted=True))
    parts = [np.arange(k, 300, 3) for k in range(3)]
    blocks = dsvrg.on_engine(problem, parts, LocalEngine())
    solve = newton.solve if problem.constants.smooth else augmented_lagrangian.solve
    together, apart = run_of(tol=1e-8), run_of(tol=1e-8)
    w = solve(problem, np.zeros(problem.size), *together).iterate
    found = solve(blocks, np.zeros(problem.size), *apart)
    assert found.outcome.converged
    np.testing.assert_allclose(found.iterate, w, atol=1e-4 * np.abs(w).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_a_multiple_of_known_duals_is_feasible_and_no_worse_than_zero(loss: str) -> None:
    problem = problem_of(Case(loss))
    smaller = replace(problem, constants=problem.constants.times(0.1))
    run = run_of(tol=1e-6, max_iter=3000)
    net_dual = np.zeros(problem.n_rows)
    w = dual.solve(problem, np.zeros(problem.size), *run, net_dual).iterate
    started = starts.best_multiple(smaller, net_dual, w)
    np.testing.assert_array_equal(started, smaller.nearest(started))
    assert smaller.certificate(np.zeros(problem.size), started).dual >= 0


def test_a_gradient_method_approaches_the_optimum_of_an_absolute_loss() -> None:
    case = Case("epsilon_insensitive", C=0.1)
    problem, run = problem_of(case), run_of(tol=2e-2, max_iter=3000)
    found = pegasos.solve(problem, np.zeros(problem.size), *run)
    assert found.outcome.converged
    assert found.certificate.primal <= optimum(case) * 1.021


def test_targets_are_one_per_row() -> None:
    problem = problem_of(Case())
    with pytest.raises(ValueError, match="`target` needs one entry per row"):
        replace(problem, target=np.zeros(3)).native  # noqa: B018
