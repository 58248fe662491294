"""The references agree with Clarabel, with public peers and with each other."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import pairwise
from sklearn.svm import LinearSVC

from oracle import solve_with_clarabel
from reference import kernels
from reference.certificate import dual, gap, is_certified, primal
from reference.coordinate_descent import coordinate_descent
from reference.losses import MarginLoss, make_loss, row_weight
from reference.newton import newton, newton_point
from reference.pivoted_cholesky import (
    landmarks_by_schur_complement,
    landmarks_by_smallest_projection,
    pivoted_cholesky,
)
from reference.problems import DIFFICULTIES, random_problem
from reference.regression import conjugates, losses

Array = npt.NDArray[np.float64]
Solver = Callable[..., Array]

LOSSES = ("hinge", "squared_hinge", "odm")
SMOOTH_LOSSES = ("squared_hinge", "odm")
UPSILON, THETA = 0.4, 0.1
REGRESSIONS: dict[str, dict[str, float]] = {
    "epsilon_insensitive": {"band": 0.3},
    "squared_epsilon_insensitive": {"band": 0.2},
    "pinball": {"quantile": 0.8},
    "odm": {"band": 0.3, "upsilon": 0.4},
}


def positive(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


@st.composite
def one_row_losses(draw: st.DrawFn) -> MarginLoss:
    return make_loss(
        draw(st.sampled_from(LOSSES)),
        C=draw(positive(0.01, 1e4)),
        weights=np.array([draw(st.sampled_from([0.0, 0.3, 1.0, 5.0]))]),
        upsilon=draw(positive(0.01, 1)),
        theta=draw(st.floats(0, 0.9)),
    )


# Losses


@pytest.mark.parametrize("loss", REGRESSIONS)
@pytest.mark.parametrize("net_dual", [-1.4, -0.3, 0.0, 0.2, 1.4])
def test_conjugates_of_regression_are_largest_values(loss: str, net_dual: float) -> None:
    weight = np.array([1.5])
    residuals = np.linspace(-10, 10, 20001)[:, None]
    values = -net_dual * residuals - losses(loss, residuals, weight, **REGRESSIONS[loss])
    found = conjugates(loss, np.array([net_dual]), weight, **REGRESSIONS[loss])[0]
    if np.isinf(found):  # the values go on growing
        assert int(np.argmax(values)) in (0, len(values) - 1)
    else:
        assert found == pytest.approx(np.max(values), abs=1e-6)


@given(one_row_losses(), st.floats(-5, 5), st.floats(-50, 50))
def test_fenchel_young_inequality(loss: MarginLoss, margin: float, net_dual: float) -> None:
    """ℓ(m) + φ(γ) ≥ −mγ for all m and γ, with equality where γ = −ℓ′(m): φ is the conjugate."""
    m, gamma = np.array([margin]), np.array([net_dual])
    pieces = np.concatenate([loss.primal_loss(m), loss.phi(gamma), m * gamma])
    assert np.sum(pieces) >= -1e-12 * np.sum(np.abs(pieces))

    gamma = loss.implied_dual(m)
    pieces = np.concatenate([loss.primal_loss(m), loss.phi(gamma), m * gamma])
    assert abs(np.sum(pieces)) <= 1e-12 * np.sum(np.abs(pieces))


@pytest.mark.parametrize("name", LOSSES)
def test_phi_is_the_largest_lower_bound_over_margins(name: str) -> None:
    """φ(γ) = max over m of −mγ − ℓ(m), by search; without bound where φ is infinite."""
    loss = make_loss(name, 2.0, np.ones(1), UPSILON, THETA)
    grid = np.linspace(-40, 40, 80_001)
    values = loss.primal_loss(grid)
    for gamma in np.linspace(-3, 3, 25):
        found = np.max(-grid * gamma - values)
        phi = loss.phi(np.array([gamma]))[0]
        if np.isfinite(phi):
            assert found == pytest.approx(phi, abs=1e-6)
        else:
            far = np.array([-1e6, 1e6])
            assert np.max(-far * gamma - loss.primal_loss(far)) > 1e5


@pytest.mark.parametrize("name", LOSSES)
def test_implied_dual_is_the_negative_slope(name: str) -> None:
    weights = np.random.default_rng(0).uniform(0.1, 3, size=400)
    loss = make_loss(name, 2.0, weights, UPSILON, THETA)
    margins = np.linspace(-2, 3, 400)  # no kink of any loss lies within the difference below
    h = 1e-6
    slope = (loss.primal_loss(margins + h) - loss.primal_loss(margins - h)) / (2 * h)
    np.testing.assert_allclose(loss.implied_dual(margins), -slope, atol=1e-7)


@given(one_row_losses(), st.floats(-5, 5), st.sampled_from([0.0, 1e-3, 1.0, 40.0]))
def test_coordinate_minimiser_beats_its_surroundings(
    loss: MarginLoss, margin_without_i: float, Q_ii: float
) -> None:
    best = loss.coordinate_minimiser(0, margin_without_i, Q_ii)
    steps = np.concatenate([[0.0], np.logspace(-6, 2, 50), -np.logspace(-6, 2, 50)])
    tried = np.append(best + steps * max(1.0, abs(best)), 0.0)
    values = 0.5 * Q_ii * tried**2 + margin_without_i * tried + loss.phi(tried)
    assert np.isfinite(values[0])
    assert values[0] <= np.min(values) + 1e-12 * np.max(np.abs(values[np.isfinite(values)]))


# The oracle, against public peers


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_oracle_agrees_with_liblinear(name: str) -> None:
    X, y, _, K, _ = random_problem("zero_rows", n_rows=40, seed=3)
    weights = np.random.default_rng(3).uniform(0.2, 3, size=len(y))
    peer = LinearSVC(
        loss=name, C=0.7, fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0
    )
    w = peer.fit(X, y, sample_weight=weights).coef_[0]
    loss = make_loss(name, 0.7, weights, UPSILON, THETA)
    peer_objective = 0.5 * w @ w + np.sum(loss.primal_loss(y * (X @ w)))
    objective, _, _ = solve_with_clarabel(K, y, name, C=0.7, weights=weights)
    assert objective == pytest.approx(peer_objective, rel=1e-7)


def test_oracle_agrees_with_a_primal_descent_for_odm() -> None:
    X, y, weights, K, _ = random_problem("low_rank", n_rows=40, seed=4)
    loss = make_loss("odm", 2.0, weights, UPSILON, THETA)

    def objective_and_gradient(w: Array) -> tuple[float, Array]:
        margins = y * (X @ w)
        value = 0.5 * w @ w + np.sum(loss.primal_loss(margins))
        return float(value), w - X.T @ (y * loss.implied_dual(margins))

    peer = minimize(objective_and_gradient, np.zeros(3), jac=True, options={"gtol": 1e-8})
    objective, _, margins = solve_with_clarabel(K, y, "odm", 2.0, weights, UPSILON, THETA)
    assert objective == pytest.approx(peer.fun, rel=1e-10)
    np.testing.assert_allclose(margins, y * (X @ peer.x), atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_oracle_solves_the_stated_dual(name: str) -> None:
    """Its net dual gives its margins and, by the certificate, its objective."""
    for difficulty in DIFFICULTIES:
        _, y, weights, K, Q = random_problem(difficulty)
        objective, net_dual, margins = solve_with_clarabel(K, y, name, 3.0, weights, UPSILON, THETA)
        loss = make_loss(name, 3.0, weights, UPSILON, THETA)
        np.testing.assert_allclose(Q @ net_dual, margins, atol=1e-7)
        assert dual(Q, net_dual, loss) == pytest.approx(objective, rel=1e-9)
        assert primal(Q, net_dual, loss) == pytest.approx(objective, rel=1e-9)


def test_oracle_refuses_an_indefinite_kernel() -> None:
    with pytest.raises(ValueError, match="positive semi-definite"):
        solve_with_clarabel(np.diag([1.0, -1.0]), np.array([1.0, -1.0]), "hinge")


# The solvers, against the oracle


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("name", LOSSES)
def test_solvers_agree_with_the_oracle(name: str, difficulty: str, C: float) -> None:
    _, y, weights, K, Q = random_problem(difficulty, n_rows=18, seed=1)
    loss = make_loss(name, C, weights, UPSILON, THETA)
    expected = solve_with_clarabel(K, y, name, C, weights, UPSILON, THETA)
    solutions = [
        coordinate_descent(Q, loss, tol=1e-8),
        coordinate_descent(Q, loss, tol=1e-8, rng=np.random.default_rng(0)),
    ]
    if name in SMOOTH_LOSSES:
        solutions.append(newton(Q, loss, tol=1e-12))
    for net_dual in solutions:
        assert primal(Q, net_dual, loss) == pytest.approx(expected.objective, rel=2e-8)
        assert dual(Q, net_dual, loss) == pytest.approx(expected.objective, rel=2e-8)


@given(
    name=st.sampled_from(SMOOTH_LOSSES),
    difficulty=st.sampled_from(DIFFICULTIES),
    C=positive(1e-3, 1e4),
    upsilon=positive(0.01, 1),
    theta=st.floats(0, 0.9),
    seed=st.integers(0, 2**16),
    n_rows=st.integers(1, 40),
)
def test_newton_agrees_with_the_oracle(
    name: str, difficulty: str, C: float, upsilon: float, theta: float, seed: int, n_rows: int
) -> None:
    _, y, weights, K, Q = random_problem(difficulty, n_rows, seed)
    loss = make_loss(name, C, weights, upsilon, theta)
    expected = solve_with_clarabel(K, y, name, C, weights, upsilon, theta)
    net_dual = newton(Q, loss, tol=1e-10)
    assert primal(Q, net_dual, loss) == pytest.approx(expected.objective, rel=1e-9)
    # ℓ is curved, so the optimal dual is unique, and is the one that the margins imply.
    scale = max(1.0, np.max(np.abs(net_dual)))
    np.testing.assert_allclose(net_dual, expected.net_dual, atol=1e-4 * scale)


@pytest.mark.parametrize("solver", [coordinate_descent, newton])
def test_start_changes_the_way_and_not_the_end(solver: Solver) -> None:
    _, _, weights, _, Q = random_problem("weighted")
    loss = make_loss("odm", 1.0, weights, UPSILON, THETA)
    optimum = solver(Q, loss)
    start = np.where(weights > 0, np.random.default_rng(0).normal(size=len(Q)), 0.0)
    assert gap(Q, start, loss) > 1.0
    np.testing.assert_allclose(solver(Q, loss, start=start), optimum, atol=1e-4)
    np.testing.assert_array_equal(solver(Q, loss, start=optimum), optimum)


def test_newton_needs_its_line_search() -> None:
    """Full steps alone run in a circle here."""
    X = np.array([[2.2, 1.2], [-1.3, -0.8], [-0.6, 0.5]])
    Q = kernels.signed(kernels.linear(X, X), np.array([1.0, -1.0, 1.0]))
    loss = make_loss("odm", 100.0, np.ones(3), upsilon=0.1, theta=0.2)
    net_dual = np.zeros(3)
    for _ in range(60):
        net_dual = newton_point(Q, Q @ net_dual, loss)
        assert not is_certified(Q, net_dual, loss, tol=1e-3)
    assert is_certified(Q, newton(Q, loss), loss, tol=1e-9)


def test_newton_refuses_the_hinge() -> None:
    _, _, weights, _, Q = random_problem("plain")
    with pytest.raises(ValueError, match="second derivative"):
        newton(Q, make_loss("hinge", 1.0, weights, UPSILON, THETA))


@pytest.mark.parametrize("solver", [coordinate_descent, newton])
def test_solvers_say_when_they_did_not_converge(solver: Solver) -> None:
    _, _, weights, _, Q = random_problem("plain")
    limit = {"max_sweeps": 1} if solver is coordinate_descent else {"max_steps": 1}
    with pytest.raises(RuntimeError, match="left a gap"):
        solver(Q, make_loss("odm", 100.0, weights, UPSILON, THETA), tol=1e-14, **limit)


# The problem itself


@pytest.mark.parametrize("name", LOSSES)
def test_gap_bounds_the_distance_to_the_optimum(name: str) -> None:
    _, y, weights, K, Q = random_problem("weighted")
    loss = make_loss(name, 1.0, weights, UPSILON, THETA)
    optimum = solve_with_clarabel(K, y, name, 1.0, weights, UPSILON, THETA).objective
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0):
        net_dual = np.clip(scale * rng.normal(size=len(Q)), loss.lower, loss.upper)
        assert dual(Q, net_dual, loss) < optimum < primal(Q, net_dual, loss)
        assert not is_certified(Q, net_dual, loss, tol=1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(name: str) -> None:
    _, y, _, K, _ = random_problem("plain", n_rows=20)
    copies = np.arange(20) % 3
    rows = np.repeat(np.arange(20), copies)
    weighted = solve_with_clarabel(K, y, name, 2.0, copies, UPSILON, THETA)
    repeated = solve_with_clarabel(K[np.ix_(rows, rows)], y[rows], name, 2.0, None, UPSILON, THETA)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(weighted.margins[rows], repeated.margins, atol=1e-6)


def test_one_variable_a_row_solves_the_two_variable_dual_of_the_paper() -> None:
    """The optimality conditions of SODM, Eqn. (2), hold at ζ = γ₊, β = γ₋, with its λ and M."""
    _, _, weights, _, Q = random_problem("low_rank", n_rows=30)
    lam, M = 50.0, len(Q)
    C = row_weight(lam, weights, THETA)
    net_dual = newton(Q, make_loss("odm", C, weights, UPSILON, THETA), tol=1e-13)
    assert np.min(net_dual) < 0 < np.max(net_dual)

    c = (1 - THETA) ** 2 / (lam * UPSILON)
    identity = np.eye(M)
    H = np.block([[Q + M * c * UPSILON * identity, -Q], [-Q, Q + M * c * identity]])
    b = np.concatenate([np.full(M, THETA - 1), np.full(M, THETA + 1)])
    alpha = np.concatenate([np.maximum(net_dual, 0), np.maximum(-net_dual, 0)])
    gradient = H @ alpha + b
    assert np.min(gradient) > -1e-10
    np.testing.assert_allclose(alpha * gradient, 0, atol=1e-10)


# Kernels


def test_kernels_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    pairs = [
        (kernels.linear(X, Z), pairwise.linear_kernel(X, Z)),
        (kernels.polynomial(X, Z, 0.3, 3, 1.5), pairwise.polynomial_kernel(X, Z, 3, 0.3, 1.5)),
        (kernels.sigmoid(X, Z, 0.3, 1.5), pairwise.sigmoid_kernel(X, Z, 0.3, 1.5)),
        (kernels.rbf(X, Z, 0.3), pairwise.rbf_kernel(X, Z, 0.3)),
        (kernels.laplacian(X, Z, 0.3), pairwise.laplacian_kernel(X, Z, 0.3)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_intercept_is_a_constant_feature() -> None:
    X = np.random.default_rng(0).normal(size=(6, 2))
    extended = np.column_stack([X, np.ones(6)])
    expected = kernels.linear(extended, extended)
    np.testing.assert_allclose(kernels.with_intercept(kernels.linear(X, X)), expected)


# Landmarks


@pytest.mark.parametrize("seed", range(3))
def test_pivots_are_the_landmarks_of_the_papers(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(60, 3))
    constant_diagonal = kernels.rbf(X, X, 0.5)
    varying_diagonal = kernels.polynomial(X, X, 1.0, 3, 1.0)
    for K in (constant_diagonal, varying_diagonal):
        assert pivoted_cholesky(K, 12)[1] == landmarks_by_schur_complement(K, 12)
    assert pivoted_cholesky(constant_diagonal, 12)[1] == landmarks_by_smallest_projection(
        constant_diagonal, 12
    )


def test_each_pivot_enlarges_the_gram_determinant_most() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    K = kernels.rbf(X, X, 0.5)
    _, pivots = pivoted_cholesky(K, 6)
    for s in range(6):
        groups = [[*pivots[:s], z] for z in range(len(K))]
        determinants = [np.linalg.det(K[np.ix_(group, group)]) for group in groups]
        assert determinants[pivots[s]] == pytest.approx(max(determinants), rel=1e-9)


def test_factor_is_exact_on_pivots_and_stops_at_the_rank() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    K = kernels.rbf(X, X, 0.5)
    F, pivots = pivoted_cholesky(K, 8)
    np.testing.assert_allclose(F @ F[pivots].T, K[:, pivots], atol=1e-12)

    twice = np.vstack([X, X])
    for K, rank in ((kernels.linear(X, X), 3), (kernels.rbf(twice, twice, 0.5), 20)):
        F, pivots = pivoted_cholesky(K, len(K))
        assert len(pivots) == len(set(pivots)) == F.shape[1] == rank
        np.testing.assert_allclose(F @ F.T, K, atol=1e-10)
    assert pivoted_cholesky(np.zeros((4, 4)), 2)[1] == []
