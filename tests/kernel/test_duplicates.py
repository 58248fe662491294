"""Copies of rows: found wherever they are, merged without a trace in the solution."""

import numpy as np
import pytest
import scipy.sparse as sp

from limits import limits
from tolerances import SAME_DECISION
from widemargin import ODMClassifier, SVMClassifier
from widemargin.core import rows as rows_module
from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.outcome import Outcome
from widemargin.core.rows import copies, copies_in_own_order
from widemargin.kernel import duplicates
from widemargin.kernel.duplicates import MergedRows, merge_duplicates
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.solvers.binary import solve_binary

LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "odm": MarginDistribution(0.4, 0.1),
}
RBF = Kernel("rbf", gamma=0.5)
loss_names = pytest.mark.parametrize("loss", LOSSES)
layouts = pytest.mark.parametrize("layout", ["dense", "csr", "csr_array"])


def coarse_rows(n_rows: int = 200, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    """Rows of small whole numbers: many copies, of either label."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(n_rows) < 0.4, 1.0, -1.0)
    X = np.round(rng.normal(size=(n_rows, 3)) + 0.4 * y[:, None])
    return X.astype(dtype), y


def problem_of(
    loss: str, layout: str = "dense", dtype: str = "float64", kernel: Kernel = RBF
) -> KernelProblem:
    X, y = coarse_rows(dtype=dtype)
    weights = np.random.default_rng(2).uniform(0.2, 3.0, size=len(y))
    form = {"dense": np.asarray, "csr": sp.csr_matrix, "csr_array": sp.csr_array}[layout]
    return KernelProblem(form(X), kernel, y, LOSSES[loss].terms(weights))


def merged_rows(problem: KernelProblem) -> MergedRows:
    merged = merge_duplicates(problem)
    assert merged is not None
    return merged


# Finding


@layouts
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_copies_are_those_that_a_plain_search_finds(layout: str, dtype: str) -> None:
    merged = merged_rows(problem_of("odm", layout, dtype))
    X, y = coarse_rows()
    _, first, group = np.unique(
        np.column_stack([X, y]) + 0.0, axis=0, return_index=True, return_inverse=True
    )
    np.testing.assert_array_equal(merged.first, np.sort(first))
    np.testing.assert_array_equal(merged.first[merged.group], first[group.ravel()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_are_equal_however_they_are_written(dtype: str) -> None:
    dense = np.array([[1, 0, 2], [1, -0.0, 2], [0, 0, 0], [-0.0, 0, 0]], dtype=dtype)
    data = np.array([1, 2, 1, 0, 2, -0.0], dtype=dtype)  # the second and third row store zeros
    csr = sp.csr_matrix((data, [0, 2, 0, 1, 2, 1], [0, 2, 5, 6, 6]), shape=(4, 3))
    terms = LOSSES["odm"].terms(np.ones(4))
    for X in (dense, csr):
        merged = merged_rows(KernelProblem(X, RBF, np.ones(4), terms))
        np.testing.assert_array_equal(merged.group, [0, 0, 1, 1])


def test_unsorted_sparse_rows_are_put_in_order() -> None:
    X = sp.csr_matrix((np.array([1.0, 2.0, 2.0, 1.0]), [0, 2, 2, 0], [0, 2, 4]), shape=(2, 3))
    merged = merged_rows(KernelProblem(X, RBF, np.ones(2), LOSSES["odm"].terms(np.ones(2))))
    np.testing.assert_array_equal(merged.group, [0, 0])


@layouts
def test_rows_with_equal_hashes_are_compared(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = merged_rows(problem_of("odm", layout))
    monkeypatch.setattr(rows_module, "KEY_BITS", 1)
    collided = merged_rows(problem_of("odm", layout))
    np.testing.assert_array_equal(collided.first, expected.first)
    np.testing.assert_array_equal(collided.group, expected.group)


@pytest.mark.parametrize(("copies", "worth"), [(4, False), (5, True)])
def test_few_copies_are_left_alone(copies: int, worth: bool) -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:copies] = X[-copies:]
    problem = KernelProblem(X, RBF, np.ones(100), LOSSES["odm"].terms(np.ones(100)))
    assert (merge_duplicates(problem) is not None) == worth


@pytest.mark.parametrize("kernel", [Kernel("sigmoid"), Kernel("poly", coef0=-1.0)])
def test_kernels_that_may_be_indefinite_are_left_alone(kernel: Kernel) -> None:
    assert merge_duplicates(problem_of("odm", kernel=kernel)) is None


def test_kernel_matrices_are_left_alone() -> None:
    terms = LOSSES["odm"].terms(np.ones(30))
    problem = KernelProblem(np.ones((30, 30)), Kernel("precomputed"), np.ones(30), terms)
    assert merge_duplicates(problem) is None


# Merging


@loss_names
@layouts
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_any_dual_has_the_same_objectives(loss: str, layout: str, dtype: str) -> None:
    problem = problem_of(loss, layout, dtype)
    merged = merged_rows(problem)
    small = merged.problem
    net_dual = np.random.default_rng(3).uniform(0, 0.2, size=small.n_rows)
    spread = merged.spread(net_dual)
    np.testing.assert_allclose(merged.merge(spread), net_dual, rtol=1e-12)
    margin, small_margin = problem.margins(spread), small.margins(net_dual)
    np.testing.assert_allclose(margin, small_margin[merged.group], atol=1e-12)
    a, b = problem.certificate(spread, margin), small.certificate(net_dual, small_margin)
    assert np.isfinite(a.dual)
    assert a.primal == pytest.approx(b.primal, rel=1e-12)
    assert a.dual == pytest.approx(b.dual, rel=1e-12)


@loss_names
@layouts
def test_solution_is_certified_on_all_rows(
    loss: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(loss, layout)
    results = []
    for worthwhile in (duplicates.WORTHWHILE, 1.0):  # merged, and not
        monkeypatch.setattr(duplicates, "WORTHWHILE", worthwhile)
        result = solve_binary(problem, Duals(np.zeros(200)), "auto", *limits(tol=1e-3))
        assert result.outcome is Outcome.CONVERGED
        margin = problem.margins(result.iterate.net_dual)
        certificate = problem.certificate(result.iterate.net_dual, margin)
        assert certificate.relative_gap < 1e-10
        assert certificate.primal == pytest.approx(result.certificate.primal, rel=1e-10)
        results.append((certificate.primal, margin))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-10)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=SAME_DECISION)


@loss_names
def test_start_at_the_optimum_stays(loss: str) -> None:
    problem = problem_of(loss)
    solver, (budget, history) = "coordinate", limits(tol=1e-6)
    first = solve_binary(problem, Duals(np.zeros(200)), solver, budget, history, last_digits=False)
    for known in (None, problem.margins(first.iterate.net_dual)):
        again = solve_binary(
            problem,
            Duals(first.iterate.net_dual, known),
            solver,
            budget,
            history,
            last_digits=False,
        )
        assert again.iterations == 0
        np.testing.assert_allclose(
            again.iterate.net_dual, first.iterate.net_dual, rtol=1e-9, atol=1e-12
        )


def test_interrupt_leaves_duals_of_all_rows() -> None:
    def interrupt(*_: float) -> None:
        raise KeyboardInterrupt

    budget, history = limits(tol=1e-12, listener=interrupt)
    with pytest.raises(KeyboardInterrupt):
        solve_binary(problem_of("odm"), Duals(np.zeros(200)), "coordinate", budget, history)
    assert history.latest is not None
    assert history.latest.net_dual.shape == (200,)


# As estimators show it


@pytest.mark.parametrize(
    "model", [ODMClassifier(solver="newton"), SVMClassifier(solver="blocks")], ids=["odm", "svm"]
)
def test_all_copies_are_support_vectors(model: ODMClassifier | SVMClassifier) -> None:
    X, y = coarse_rows()
    weights = np.random.default_rng(4).uniform(0, 2, size=200) * (np.arange(200) % 7 > 0)
    model.fit(X, y, sample_weight=weights)
    coef = np.zeros(200)
    coef[model.support_] = model.dual_coef_[0]
    assert np.all(coef[weights == 0] == 0)
    rows = np.column_stack([X, y])
    for row in np.unique(rows, axis=0):
        copies = np.flatnonzero(np.all(rows == row, axis=1) & (weights > 0))
        if copies.size:  # in proportion to their weights
            share = coef[copies] / weights[copies]
            np.testing.assert_allclose(share, share[0], rtol=1e-9)


# Several classes


def rows_of_classes(n_rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return np.round(rng.normal(size=(n_rows, 2))), rng.integers(0, 5, n_rows)


def test_copies_are_of_one_class() -> None:
    X, codes = rows_of_classes()
    group, first = copies(X, codes)
    _, expected = np.unique(np.column_stack([X, codes]) + 0.0, axis=0, return_index=True)
    np.testing.assert_array_equal(first, np.sort(expected))
    np.testing.assert_array_equal(X[first[group]], X)
    np.testing.assert_array_equal(codes[first[group]], codes)


def test_equal_hashes_do_not_make_copies_of_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "KEY_BITS", 1)
    X, codes = rows_of_classes()
    group, first = copies(X, codes)
    np.testing.assert_array_equal(codes[first[group]], codes)


@layouts
def test_an_order_of_their_own_does_not_depend_on_the_given_one(layout: str) -> None:
    X, codes = rows_of_classes()
    form = {"dense": np.asarray, "csr": sp.csr_matrix, "csr_array": sp.csr_array}[layout]
    group, first = copies_in_own_order(form(X), codes)
    np.testing.assert_array_equal(X[first[group]], X)
    order = np.random.default_rng(0).permutation(len(codes))
    X_again, codes_again = X[order], codes[order]
    _, again = copies_in_own_order(X_again, codes_again)
    np.testing.assert_array_equal(X_again[again], X[first])
    np.testing.assert_array_equal(codes_again[again], codes[first])
