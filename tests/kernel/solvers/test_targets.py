"""Every solver on problems whose rows have targets, against Clarabel."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oracle import solve_regression_with_clarabel
from widemargin.core.budget import Budget
from widemargin.core.history import History
from widemargin.core.losses import Loss
from widemargin.core.outcome import Solution
from widemargin.core.regression_losses import (
    DeviationBand,
    EpsilonInsensitive,
    Pinball,
    SquaredEpsilonInsensitive,
)
from widemargin.kernel.divide.starts import best_multiple, from_margins, mean_if_close
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import COLUMNS, Duals, KernelProblem
from widemargin.kernel.solvers import (
    block_descent,
    clustered_descent,
    finished_descent,
    newton,
    newton_cg,
    newton_to_tolerance,
    proximal_newton,
)
from widemargin.kernel.solvers.binary import solve_binary
from widemargin.kernel.solvers.row_groups import SharedProblem
from widemargin.kernel.solvers.shared_blocks import SharedBlocks

CASES: dict[str, tuple[Loss, dict[str, Any]]] = {
    "absolute": (EpsilonInsensitive(0.1), {"loss": "epsilon_insensitive", "band": 0.1}),
    "median": (EpsilonInsensitive(0.0), {"loss": "epsilon_insensitive"}),
    "pinball": (Pinball(0.9), {"loss": "pinball", "quantile": 0.9}),
    "squared": (
        SquaredEpsilonInsensitive(0.1),
        {"loss": "squared_epsilon_insensitive", "band": 0.1},
    ),
    "odm": (DeviationBand(0.3, 0.2), {"loss": "odm", "band": 0.2, "upsilon": 0.3}),
}
SMOOTH = ("squared", "odm")
every_case = pytest.mark.parametrize("case", CASES)
GAMMA = 0.7


def posed(case: str, n: int = 150, C: float = 3.0, seed: int = 0) -> tuple[KernelProblem, float]:
    """Return a problem and its optimum."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    target = 10.0 + 3 * np.sin(2 * X[:, 0]) + X[:, 1] + random.normal(size=n)
    weight = random.uniform(0.5, 2.0, n)
    loss, options = CASES[case]
    terms = replace(loss.terms(C * weight), offset=target)
    kernel = Kernel("rbf", GAMMA, constant=1.0)
    problem = KernelProblem(X, kernel, np.ones(n), terms)
    return problem, solve_regression_with_clarabel(
        problem.dense_q(), target, C=C, weights=weight, **options
    ).objective


def budget(tol: float = 1e-9) -> Budget:
    return Budget(tol=tol, max_iter=10**9)


def check(problem: KernelProblem, found: Solution[Duals], optimum: float, tol: float) -> None:
    certificate = found.certificate
    assert found.outcome.converged
    assert certificate.relative_gap <= tol
    assert certificate.dual <= optimum * (1 + 1e-9)
    assert certificate.primal == pytest.approx(optimum, rel=2 * tol + 1e-9)
    assert found.iterate.margin is not None
    np.testing.assert_allclose(
        found.iterate.margin, problem.dense_q() @ found.iterate.net_dual, atol=1e-7
    )


@every_case
@pytest.mark.parametrize(
    "solve",
    [
        block_descent.solve,
        block_descent.solve_without_blocks,
        clustered_descent.solve,
        finished_descent.solve,
        proximal_newton.solve,
    ],
    ids=lambda each: f"{each.__module__.rsplit('.')[-1]}.{each.__name__}",
)
def test_solvers_of_every_loss(case: str, solve: Callable[..., Solution[Duals]]) -> None:
    problem, optimum = posed(case)
    found = solve(problem, Duals(np.zeros(150)), budget(1e-6), History(COLUMNS))
    check(problem, found, optimum, 1e-6)


@pytest.mark.parametrize("case", SMOOTH)
@pytest.mark.parametrize("module", [newton, newton_cg, newton_to_tolerance])
def test_newton(case: str, module: Any) -> None:
    problem, optimum = posed(case)
    found = module.solve(problem, Duals(np.zeros(150)), budget(), History(COLUMNS))
    check(problem, found, optimum, 1e-9)


@every_case
@pytest.mark.parametrize("C", [0.01, 3.0, 1e4])
def test_small_problems_are_solved_to_rounding(case: str, C: float) -> None:
    problem, optimum = posed(case, C=C)
    found = solve_binary(problem, Duals(np.zeros(150)), "auto", budget(1e-3), History(COLUMNS))
    assert found.certificate.relative_gap <= 1e-9
    assert found.certificate.primal == pytest.approx(optimum, rel=1e-8)


@every_case
def test_shrinking_and_blocks_of_few_rows(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_descent, "BLOCK", 32)
    monkeypatch.setattr(block_descent, "HINGE_BLOCK_OF_FEW_ROWS", 32)
    problem, optimum = posed(case, n=400, C=0.3)
    history = History(COLUMNS)
    found = block_descent.solve(problem, Duals(np.zeros(400)), budget(1e-5), history)
    check(problem, found, optimum, 1e-5)
    assert min(history.table()["active_rows"]) < 400 or case in SMOOTH


@every_case
def test_float32_rows(case: str) -> None:
    problem, optimum = posed(case)
    single = replace(problem, X=problem.X.astype(np.float32))
    found = block_descent.solve(single, Duals(np.zeros(150)), budget(1e-3), History(COLUMNS))
    assert found.outcome.converged
    assert found.certificate.primal == pytest.approx(optimum, rel=1.1e-3)


@every_case
def test_copies_with_equal_targets_are_merged(case: str) -> None:
    problem, optimum = posed(case, n=60)
    twice = np.repeat(np.arange(60), 2)
    terms = problem.terms.at(twice)
    halves = replace(
        terms,
        below=2 * terms.below,
        above=2 * terms.above,
        bound=terms.bound / 2,
        floor=terms.floor / 2,
    )
    copied = replace(problem, X=problem.X[twice], label=np.ones(120), terms=halves)
    found = solve_binary(copied, Duals(np.zeros(120)), "blocks", budget(1e-7), History(COLUMNS))
    assert found.certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert found.iterate.net_dual[::2] == pytest.approx(found.iterate.net_dual[1::2], abs=1e-12)
    # Other targets are other rows.
    assert halves.offset is not None
    moved = replace(halves, offset=halves.offset + np.tile([0.0, 1.0], 60))
    other = replace(copied, terms=moved)
    found = solve_binary(other, Duals(np.zeros(120)), "blocks", budget(1e-7), History(COLUMNS))
    assert found.outcome.converged
    assert found.certificate.primal != pytest.approx(optimum, rel=1e-2)


@every_case
def test_starts_are_no_worse_than_zero(case: str) -> None:
    problem, optimum = posed(case)
    solved = solve_binary(problem, Duals(np.zeros(150)), "auto", budget(), History(COLUMNS))
    zero = problem.certificate(np.zeros(150), np.zeros(150)).dual
    for start in (best_multiple, from_margins, mean_if_close):
        duals = start(problem, 0.8 * solved.iterate.net_dual)
        assert duals.margin is not None
        np.testing.assert_allclose(duals.margin, problem.dense_q() @ duals.net_dual, atol=1e-7)
        dual = problem.certificate(duals.net_dual, duals.margin).dual
        assert zero < dual <= optimum * (1 + 1e-9)


@every_case
def test_shared_blocks(case: str) -> None:
    problem, optimum = posed(case)
    shared = SharedBlocks(problem.X, problem.kernel, 1, 2**20, 0)
    dual, margin = [np.zeros(150)], [np.zeros(150)]
    shared.solve(
        [SharedProblem(problem.label, problem.terms)],
        dual,
        margin,
        np.array([1e-6]),
        max_sets=10**6,
        stop=lambda gap: False,
    )
    certificate = problem.certificate(dual[0], problem.margins(dual[0]))
    assert certificate.relative_gap <= 1.1e-6
    assert certificate.primal == pytest.approx(optimum, rel=2e-6)
