"""Newton in the precision of the data, no further than the tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from limits import limits
from widemargin.core.losses import MarginDistribution, SquaredHinge
from widemargin.core.outcome import Outcome
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.solvers import newton, newton_to_tolerance

LOSSES = {"odm": MarginDistribution(0.5, 0.2), "squared_hinge": SquaredHinge()}
losses = pytest.mark.parametrize("loss", LOSSES)


def problem_of(loss: str, dtype: str = "float32", weight: float = 30.0) -> KernelProblem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(dtype)
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=300) > 0, 1.0, -1.0)
    terms = LOSSES[loss].terms(rng.uniform(0.5, 2.0, 300) * weight)
    return KernelProblem(X, Kernel("rbf", 0.5, constant=1.0), y, terms)


@losses
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_certified_and_near_the_exact_solution(loss: str, dtype: str, tol: float) -> None:
    problem = problem_of(loss, dtype)
    exact = newton.solve(problem, Duals(np.zeros(300)), *limits(tol=1e-9)).certificate.primal
    solution = newton_to_tolerance.solve(problem, Duals(np.zeros(300)), *limits(tol=tol))
    assert solution.outcome is Outcome.CONVERGED
    assert solution.certificate.relative_gap <= tol
    assert exact * (1 - 1e-9) <= solution.certificate.primal <= exact * (1 + tol)
    np.testing.assert_allclose(
        solution.iterate.margin,
        problem.dense_q() @ solution.iterate.net_dual,
        atol=1e-9 * weight_of(problem),
    )
    assert np.isfinite(
        problem.terms.phi(solution.iterate.net_dual)
    ).all()  # inside the loss's domain


def weight_of(problem: KernelProblem) -> float:
    return float(np.sum(1.0 / problem.terms.below))


@losses
def test_kernel_values_given_are_the_same_problem(loss: str) -> None:
    problem = problem_of(loss, "float64")
    gram = problem.kernel.block(problem.rows, problem.rows)
    given = replace(problem, X=gram, kernel=Kernel("precomputed"))
    one, other = (
        newton_to_tolerance.solve(each, Duals(np.zeros(300)), *limits(tol=1e-3))
        for each in (problem, given)
    )
    np.testing.assert_allclose(one.iterate.net_dual, other.iterate.net_dual, atol=1e-7)


def test_where_single_precision_does_not_suffice_double_goes_on() -> None:
    """Twice the same rows, weighing so much that float32 has no Cholesky factor of them."""
    half = problem_of("odm", weight=1e9)
    twice = np.tile(np.arange(150), 2)
    problem = half.only(twice)
    assert newton_to_tolerance._newton_point(problem, np.zeros(300)) is None
    solution = newton_to_tolerance.solve(problem, Duals(np.zeros(300)), *limits(tol=1e-3))
    assert solution.certificate.relative_gap <= 1e-3


def test_time_is_heard() -> None:
    solution = newton_to_tolerance.solve(
        problem_of("odm"), Duals(np.zeros(300)), *limits(tol=1e-12, stopping=lambda: True)
    )
    assert solution.outcome is Outcome.TIME
    assert solution.iterations == 1
