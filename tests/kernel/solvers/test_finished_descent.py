"""Problems that resist descent: huge C, noisy labels; finished by Newton's method in rounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.limits import limits

from widemargin import ODMClassifier, SVMClassifier
from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.outcome import Outcome, certify
from widemargin.kernel import problem as problem_module
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem, extreme_eigenvalues
from widemargin.kernel.solvers import block_descent, finished_descent, proximal_newton
from widemargin.kernel.solvers.finished_descent import FEWEST_SETS, Patience
from widemargin.kernel.solvers.newton import solve as dense_newton

LOSSES = [Hinge(), SquaredHinge(), MarginDistribution(0.5, 0.2)]


def noise(
    n_rows: int, n_features: int, C: float, loss: Loss, *, seed: int = 0, kernel: str = "rbf"
) -> KernelProblem:
    """Pose a problem whose labels have nothing to do with the rows."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, n_features))
    label = np.where(random.random(n_rows) < 0.5, -1.0, 1.0)
    terms = loss.terms(C * random.uniform(0.5, 2.0, n_rows))
    return KernelProblem(X, Kernel(kernel, gamma=1 / n_features), label, terms)


def zeros(problem: KernelProblem) -> Duals:
    return Duals(np.zeros(problem.n_rows))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize(("n_features", "C"), [(3, 1e4), (5, 1e6), (20, 1e6)])
def test_noise_converges_with_huge_C(loss: Loss, n_features: int, C: float) -> None:
    """The certificate holds for the duals that are returned, which lie inside the domain."""
    problem = noise(400, n_features, C, loss)
    solution = proximal_newton.solve(problem, zeros(problem), *limits(tol=1e-3))
    assert solution.outcome is Outcome.CONVERGED
    net_dual = solution.iterate.net_dual
    assert np.array_equal(problem.terms.nearest(net_dual), net_dual)
    own = certify(problem.terms, net_dual, problem.margins(net_dual))
    assert own.primal == pytest.approx(solution.certificate.primal, rel=1e-6)
    assert solution.certificate.dual <= own.primal * (1 + 1e-10)  # they are sums of many values
    assert solution.certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("loss", LOSSES[1:], ids=lambda loss: loss.name)
def test_agrees_with_dense_newton(loss: Loss) -> None:
    problem = noise(300, 5, 100.0, loss)
    ours = proximal_newton.solve(problem, zeros(problem), *limits(tol=1e-10))
    other = dense_newton(problem, zeros(problem), *limits(tol=1e-10))
    assert ours.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-9)


def test_starts_anywhere() -> None:
    problem = noise(300, 5, 1e4, Hinge())
    start = Duals(0.5 * problem.terms.bound)
    solution = proximal_newton.solve(problem, start, *limits(tol=1e-6), steps=7)
    assert solution.outcome is Outcome.CONVERGED
    assert solution.iterations > 7


def test_limits_end_a_solve() -> None:
    problem = noise(300, 5, 1e6, Hinge())
    few = proximal_newton.solve(problem, zeros(problem), *limits(max_iter=3))
    assert (few.outcome, few.iterations) == (Outcome.ITERATIONS, 3)
    late = proximal_newton.solve(problem, zeros(problem), *limits(max_time=1e-9))
    assert late.outcome is Outcome.TIME


def test_rows_without_weight_stay_out() -> None:
    problem = noise(200, 3, 1e4, Hinge())
    bound = problem.terms.bound.copy()
    bound[::5] = 1e-250
    problem.terms = replace(problem.terms, bound=bound)
    solution = proximal_newton.solve(problem, zeros(problem), *limits())
    assert solution.outcome is Outcome.CONVERGED
    assert np.all(solution.iterate.net_dual[::5] <= 1e-250)


def test_descent_gives_up_by_counted_work() -> None:
    """Not before its fewest sets; sooner while the gap is wide; never by the clock."""
    patience = Patience(1e9)
    assert not patience.over(FEWEST_SETS - 1, 10_000, 0, 1.0)
    assert not patience.over(900, 160, 0, 0.9)  # 2.3e8 multiply-adds, a quarter is 2.5e8
    assert patience.over(900, 160, 2 * 10**7, 0.9)
    assert patience.over(1000, 160, 0, 0.9)
    assert not patience.over(1000, 160, 0, 0.1)
    assert patience.over(4000, 160, 0, 0.1)


def test_a_slow_descent_is_finished() -> None:
    """Where descent alone leaves most of the gap; and the same again, to the bit."""
    problem = noise(1200, 5, 1e6, Hinge())
    alone = block_descent.solve(problem, zeros(problem), *limits(max_iter=2000))
    assert alone.certificate.relative_gap > 0.1
    first, second = (finished_descent.solve(problem, zeros(problem), *limits()) for _ in range(2))
    assert first.outcome is Outcome.CONVERGED
    assert np.array_equal(first.iterate.net_dual, second.iterate.net_dual)


def test_little_memory_leaves_it_to_descent() -> None:
    problem = noise(600, 5, 1e6, Hinge())
    limited = limits(memory=2**20, max_iter=1500)
    solution = finished_descent.solve(problem, zeros(problem), *limited)
    assert solution.outcome is Outcome.ITERATIONS
    assert solution.iterations == 1500


def test_descent_goes_on_while_it_improves() -> None:
    """The dual of pure noise rises slowly below a primal that is far off: that is no stall."""
    problem = noise(600, 5, 1e6, Hinge())
    duals = [
        block_descent.solve(problem, zeros(problem), *limits(max_iter=most))
        for most in (1000, 2000)
    ]
    assert [each.outcome for each in duals] == [Outcome.ITERATIONS] * 2
    assert duals[1].certificate.dual > 1.05 * duals[0].certificate.dual


def test_float32_rows_reach_a_small_gap() -> None:
    """Kernel values in float32 do not allow it; descent turns to float64."""
    problem = noise(300, 2, 1e3, MarginDistribution(0.5, 0.2))
    problem = replace(problem, X=problem.X.astype(np.float32))
    solution = block_descent.solve(problem, zeros(problem), *limits(tol=1e-7, max_iter=10**6))
    assert solution.outcome is Outcome.CONVERGED


@pytest.mark.parametrize("n_rows", [300, 600, 1100])
@pytest.mark.parametrize("kind", [SVMClassifier, ODMClassifier])
def test_estimators_converge_on_noise(kind: type, n_rows: int) -> None:
    """By default: without a limit on iterations, and without a warning."""
    random = np.random.default_rng(1)
    X, y = random.standard_normal((n_rows, 10)), random.integers(0, 2, n_rows)
    model = kind(C=1e6).fit(X, y)
    assert model.converged_
    assert model.relative_gap_ <= 1e-3


def test_eigenvalues_take_one_matrix_of_kernel_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a few steps of them where memory does not hold the matrix."""
    problem = noise(700, 5, 1.0, Hinge(), kernel="sigmoid")
    products = []
    original = KernelProblem.margins

    def counted(self: KernelProblem, net_dual: np.ndarray) -> np.ndarray:
        products.append(1)
        return original(self, net_dual)

    monkeypatch.setattr(problem_module.KernelProblem, "margins", counted)
    held = extreme_eigenvalues(problem, memory=2**30)
    assert not products
    streamed = extreme_eigenvalues(problem)
    assert len(products) <= 30
    assert held == pytest.approx(streamed, rel=1e-6)
