"""Block descent that starts from clusters: when it does, and that the end is the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from limits import limits
from widemargin.core.losses import Hinge, MarginDistribution, SquaredHinge
from widemargin.core.outcome import Outcome
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.solvers import block_descent, clustered_descent

LOSSES = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "odm": MarginDistribution(0.5, 0.2)}
losses = pytest.mark.parametrize("loss", LOSSES)
LOCAL, WIDE = 60.0, 0.05


@pytest.fixture(autouse=True)
def small_problems_count_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustered_descent, "FEWEST_ROWS", 400)
    monkeypatch.setattr(clustered_descent, "CLUSTER_ROWS", 100)
    monkeypatch.setattr(block_descent, "BLOCK", 150)
    monkeypatch.setattr(block_descent, "WORKING_SET", 40)
    monkeypatch.setattr(block_descent, "WHOLE_SET", 40)


def problem_of(loss: str, gamma: float, layout: str = "dense", threads: int = 1) -> KernelProblem:
    """Nine separate clouds, each with both labels."""
    rng = np.random.default_rng(0)
    centre = np.array([[i, j] for i in range(3) for j in range(3)])[rng.integers(9, size=900)]
    X = centre + 0.2 * rng.normal(size=(900, 2))
    y = np.where(np.sin(9 * X[:, 0]) + np.cos(7 * X[:, 1]) + rng.normal(size=900) > 0, 1.0, -1.0)
    kernel = Kernel("rbf", gamma)
    terms = LOSSES[loss].terms(np.full(900, 5.0))
    if layout == "precomputed":
        gram = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
        return KernelProblem(gram, Kernel("precomputed"), y, terms, threads)
    rows = sp.csr_matrix(X) if layout == "csr" else X
    return KernelProblem(rows, kernel, y, terms, threads)


@losses
@pytest.mark.parametrize("layout", ["dense", "csr", "precomputed"])
def test_clusters_lead_to_the_same_end(loss: str, layout: str) -> None:
    problem = problem_of(loss, LOCAL, layout)
    (budget, started), (_, plain) = limits(tol=1e-6), limits(tol=1e-6)
    found = clustered_descent.solve(problem, Duals(np.zeros(900)), budget, started)
    expected = block_descent.solve(problem, Duals(np.zeros(900)), budget, plain)
    assert found.outcome is expected.outcome is Outcome.CONVERGED
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-6)
    np.testing.assert_allclose(
        found.iterate.margin, problem.margins(found.iterate.net_dual), atol=1e-9
    )
    # The start is close, and its kernel values are counted.
    assert started.table()["relative_gap"][0] < 0.5 < plain.table()["relative_gap"][0]
    assert started.table()["passes"][0] > 0.0 == plain.table()["passes"][0]


@pytest.mark.parametrize(("gamma", "used"), [(LOCAL, True), (WIDE, False)])
def test_only_a_local_kernel_starts_from_clusters(gamma: float, used: bool) -> None:
    problem, (budget, history) = problem_of("hinge", gamma), limits(tol=1e-3)
    clustered_descent.solve(problem, Duals(np.zeros(900)), budget, history)
    assert (history.table()["passes"][0] > 0) == used


def test_a_start_is_kept() -> None:
    problem = problem_of("odm", LOCAL)
    optimum = clustered_descent.solve(
        problem, Duals(np.zeros(900)), *limits(tol=1e-6)
    ).iterate.net_dual
    budget, history = limits(tol=1e-3)
    again = clustered_descent.solve(problem, Duals(optimum), budget, history)
    np.testing.assert_array_equal(again.iterate.net_dual, optimum)
    assert again.iterations == 0


@pytest.mark.parametrize(
    ("gamma", "low", "high"), [(LOCAL, 0.85, 1.0), (3.0, 0.3, 0.95), (WIDE, 0.05, 0.25)]
)
@pytest.mark.parametrize("layout", ["dense", "csr", "precomputed"])
def test_mass_within_clusters(gamma: float, low: float, high: float, layout: str) -> None:
    """Nine clouds: all of a narrow kernel's mass is within them, a ninth of a wide one's."""
    problem = problem_of("hinge", gamma, layout)
    random = np.random.default_rng(1)
    assert low < clustered_descent.mass_within_clusters(problem, 9, random) <= high


@losses
def test_threads_do_not_change_a_bit(loss: str) -> None:
    one, two = (
        clustered_descent.solve(
            problem_of(loss, LOCAL, threads=threads), Duals(np.zeros(900)), *limits(tol=1e-4)
        )
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.iterate.net_dual, two.iterate.net_dual)


def test_time_may_run_out_in_the_clusters() -> None:
    problem = problem_of("hinge", LOCAL)
    budget, history = limits(tol=1e-9, max_time=1e-9)
    solution = clustered_descent.solve(problem, Duals(np.zeros(900)), budget, history)
    assert solution.outcome is Outcome.TIME


def test_an_interrupt_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(clustered_descent, "_descend_cluster", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clustered_descent.solve(problem_of("hinge", LOCAL), Duals(np.zeros(900)), *limits(tol=1e-3))


def test_clusters_are_counted_for_those_who_watch() -> None:
    told: list[Mapping[str, Any]] = []
    budget, history = limits(tol=1e-3, listener=told.append)
    clustered_descent.solve(problem_of("hinge", LOCAL), Duals(np.zeros(900)), budget, history)
    counts = [each for each in told if each.get("counted") == "clusters"]
    assert counts[-1]["done"] == counts[-1]["of"] >= 9
