"""Pegasos and plain SGD: slow, but honest about it."""

from typing import Any

import numpy as np
import pytest
from linear_problems import CASES, LOSSES, Case, optimum, problem_of, run_of

from widemargin.core.outcome import Outcome, Solution
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers import pegasos

# Errors of objective and bound that 500 epochs leave (1,500 full gradients), with three times to
# spare.
ERRORS = {
    "odm": {1: 5e-3, 8: 2e-2, None: 5e-3},
    "squared_hinge": {1: 2e-2, 8: 5e-2, None: 6e-2},
    "hinge": {1: 2e-2, 8: 3e-2, None: 2e-2},
}
OPTIONS: list[dict[str, Any]] = [
    {"batch_size": 1},
    {"batch_size": 1, "average": False},
    {"batch_size": 1, "project": True},
    {"batch_size": 8},
    {"batch_size": None},
]


def solved(
    problem: LinearProblem, epochs: int = 500, tol: float = 1e-9, **options: Any
) -> Solution:
    run = run_of(tol=tol, max_iter=epochs, seed=1)
    return pegasos.solve(problem, np.zeros(problem.size), *run, **options)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.sparse=} {c.dtype} {c.weighted=}")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objective_nears_the_oracles_and_bounds_hold(
    case: Case, loss: str, options: dict[str, Any]
) -> None:
    case, batch_size = case._replace(loss=loss), options["batch_size"]
    found = solved(problem_of(case), 1500 if batch_size is None else 500, **options)
    best, error = optimum(case), ERRORS[loss][batch_size]
    assert best * (1 - 1e-9) <= found.certificate.primal <= best * (1 + error)
    assert best * (1 - error) <= found.certificate.dual <= best * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_error_falls_with_the_epochs(loss: str) -> None:
    case = Case(loss)
    short, long = (solved(problem_of(case), epochs) for epochs in (30, 3000))
    best = optimum(case)
    assert long.certificate.primal - best < 0.1 * (short.certificate.primal - best)
    assert long.certificate.gap < 0.1 * short.certificate.gap


def test_it_stops_within_tol_and_says_when_it_could_not() -> None:
    problem = problem_of(Case("hinge"))
    found = solved(problem, epochs=10_000, tol=1e-2)
    assert found.outcome is Outcome.CONVERGED
    assert found.certificate.primal <= optimum(Case("hinge")) * (1 + 1e-2)
    assert solved(problem, epochs=5, tol=1e-6).outcome is Outcome.ITERATIONS


def test_duals_that_are_handed_over_prove_the_bound() -> None:
    for loss in LOSSES:
        problem, net_dual = problem_of(Case(loss, weighted=True)), np.full(90, 7.0)
        run = run_of(tol=1e-9, max_iter=300)
        found = pegasos.solve(problem, np.zeros(problem.size), *run, net_dual)
        proof = problem.certificate(found.iterate, net_dual)
        assert proof.relative_gap < ERRORS[loss][1]
        if loss == "hinge":
            assert problem.weight is not None
            assert np.all((net_dual >= 0) & (net_dual <= problem.weight * (1 + 1e-12)))


def test_the_optimum_is_within_the_radius() -> None:
    for loss in LOSSES:
        for C in (0.01, 1.0, 100.0):
            problem = problem_of(Case(loss, C=C))
            found = solved(problem, epochs=1000)
            assert np.linalg.norm(found.iterate) < pegasos._radius(problem)


def test_only_steps_are_counted() -> None:
    problem, run = problem_of(CASES[0]), run_of(tol=1e-9, max_iter=5)
    pegasos.solve(problem, np.zeros(problem.size), *run, project=True)
    counted = run.history.table()["gradient_evaluations"]
    np.testing.assert_array_equal(counted[:-1], 90 * np.arange(counted.size - 1))
    assert problem.evaluations == counted[-1]


def test_seed_and_threads() -> None:
    answers = []
    for sparse, threads in [(False, 1), (False, 2), (True, 1)]:
        case = Case("hinge", sparse=sparse, n_rows=600, threads=threads)
        answers.append(solved(problem_of(case), 20).iterate)
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_allclose(answers[0], answers[2], atol=1e-8)
    other = run_of(tol=1e-9, max_iter=20, seed=2)
    problem = problem_of(Case("hinge", n_rows=600))
    assert np.any(pegasos.solve(problem, np.zeros(problem.size), *other).iterate != answers[0])
