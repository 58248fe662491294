"""Small problems in one call: against the solvers of single problems, and how a fit uses them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from widemargin import ODMClassifier, SVMClassifier, _native
from widemargin.core.budget import Budget
from widemargin.core.history import History
from widemargin.core.losses import Hinge, Loss, MarginDistribution, SquaredHinge
from widemargin.core.rows import as_rows
from widemargin.kernel import small_fit
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import COLUMNS, Duals
from widemargin.kernel.problems import KernelProblems, binary_tasks
from widemargin.kernel.small_fit import SmallFit, is_small
from widemargin.kernel.solvers import small_problems
from widemargin.kernel.solvers.binary import solve_binary
from widemargin.kernel.solvers.block_descent import EXPENSIVE_ROW
from widemargin.kernel.solvers.small_problems import EXACT_ROWS, MOST_ROWS

LOSSES = {
    "hinge": Hinge(),
    "squared hinge": SquaredHinge(),
    "odm": MarginDistribution(upsilon=0.5, theta=0.2),
}
losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
schemes = pytest.mark.parametrize("scheme", ["ovr", "ovo"])
# One working set; several working sets.
sizes = pytest.mark.parametrize("n_rows", [150, 700])
CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)


def four_classes(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n_rows, 8, n_informative=6, n_classes=4, n_clusters_per_class=1, random_state=0
    )


def problems_of(
    n_rows: int, loss: Loss, scheme: str, *, C: float = 1.0, constant: float = 0.5
) -> KernelProblems:
    X, y = four_classes(n_rows)
    weights = C * np.random.default_rng(0).uniform(0.5, 2.0, n_rows)
    kernel = Kernel("rbf", 0.2, constant=constant)
    return KernelProblems(binary_tasks(y, 4, scheme), kernel, X, weights, loss)


def fit_of(problems: KernelProblems, **limits: object) -> SmallFit:
    budget = Budget(**{"max_iter": 10_000, **limits})  # type: ignore[arg-type]
    return SmallFit("fit", problems, "auto", budget, History.of(COLUMNS, budget))


@losses
@schemes
@sizes
def test_optimum_of_single_problems(loss: Loss, scheme: str, n_rows: int) -> None:
    """With weights and an intercept; the certificate is that of margins computed anew."""
    problems = problems_of(n_rows, loss, scheme)
    fit = fit_of(problems, tol=1e-3)
    fit.run_all()
    assert not fit.histories  # none was solved on its own
    for k, solution in enumerate(fit.solved):
        problem = problems.problem(k, 1)
        net_dual = solution.iterate.net_dual
        exact = problem.certificate(net_dual, problem.margins(net_dual))
        assert exact.relative_gap <= 1e-3
        assert solution.certificate.primal == pytest.approx(exact.primal, rel=1e-11)
        assert solution.certificate.dual == pytest.approx(exact.dual, rel=1e-11)
        budget = Budget(tol=1e-8, max_iter=10_000)
        zero = Duals(np.zeros(problem.n_rows))
        alone = solve_binary(problem, zero, "auto", budget, History.of(COLUMNS, budget))
        best = alone.certificate.primal
        assert best * (1 - 1e-8) <= exact.primal <= best * (1 + 1e-3)
        np.testing.assert_array_equal(
            fit.coefficients()[k], problems.coefficients(k, solution.iterate.net_dual)
        )


@losses
@schemes
def test_tiny_sets_are_solved_to_rounding(loss: Loss, scheme: str) -> None:
    problems = problems_of(EXACT_ROWS, loss, scheme)
    fit = fit_of(problems, tol=1e-1)
    fit.run_all()
    assert not fit.histories
    for k, solution in enumerate(fit.solved):
        problem = problems.problem(k, 1)
        budget = Budget(tol=1e-8, max_iter=10_000)
        zero = Duals(np.zeros(problem.n_rows))
        alone = solve_binary(problem, zero, "auto", budget, History.of(COLUMNS, budget))
        decisions = (problem.margins(each.iterate.net_dual) for each in (solution, alone))
        np.testing.assert_allclose(*decisions, atol=1e-10)


@schemes
def test_threads_do_not_change_a_bit(scheme: str) -> None:
    X, y = four_classes(1200)
    models = [ODMClassifier(multi_class=scheme, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 3)]
    for each in models[1:]:
        np.testing.assert_array_equal(each.dual_coef_, models[0].dual_coef_)


@classes
def test_the_seed_does_not_change_a_bit(kind: type) -> None:
    X, y = four_classes(700)
    one, two = (kind(random_state=seed).fit(X, y) for seed in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@classes
@schemes
def test_what_a_fit_tells(kind: type, scheme: str) -> None:
    X, y = four_classes(300)
    model = kind(multi_class=scheme).fit(X, y)
    n_problems = {"ovr": 4, "ovo": 6}[scheme]
    history = model.history_
    assert list(history["problem"]) == list(range(n_problems))
    assert model.n_iter_ == history["iteration"].max()
    assert model.dual_gap_ == pytest.approx(np.sum(history["primal"] - history["dual"]))
    assert model.relative_gap_ == history["relative_gap"].max() <= 1e-3
    assert model.converged_
    assert model.solver_ == "blocks"
    rows = {"ovr": [300] * 4, "ovo": [np.sum((y == i) | (y == j)) for i, j in pairs()]}[scheme]
    np.testing.assert_array_equal(history["active_rows"], rows)


def pairs() -> list[tuple[int, int]]:
    return [(i, j) for i in range(4) for j in range(i + 1, 4)]


@losses
def test_others_go_on_one_by_one(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems that the call gives up are finished from where it left them."""
    monkeypatch.setattr(small_problems, "SETS", 2)
    fit = fit_of(problems_of(700, loss, "ovr", C=50.0), tol=1e-3)
    fit.run_all()
    assert not np.any(fit.small.finished)
    assert np.all(np.any(fit.small.coef, axis=1))
    assert fit.complete
    assert fit.attributes()["relative_gap_"] <= 1e-3
    assert all(each.outcome.converged for each in fit.solved)


@classes
def test_limits(kind: type) -> None:
    X, y = four_classes(700)
    with pytest.warns(ConvergenceWarning, match="`max_iter` was reached"):
        model = kind(max_iter=1, C=100.0).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ <= 2
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model = kind(max_time=1e-9, C=1e4, tol=1e-8).fit(X, y)
    assert not model.converged_


@classes
def test_warm_start_at_the_optimum_does_nothing(kind: type) -> None:
    X, y = four_classes(500)
    model = kind(warm_start=True).fit(X, y)
    first = model.dual_coef_
    model.fit(X, y)
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(model.dual_coef_, first)


@classes
def test_an_interrupt_keeps_what_was_found(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = four_classes(500)
    native = _native.solve_small_problems

    def interrupted(*arguments: object, **options: object) -> None:
        native(*arguments, **options)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(_native, "solve_small_problems", interrupted)
    model = kind(multi_class="ovo")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.score(X, y) > 0.8
    assert not model.converged_
    assert np.isnan(model.relative_gap_)


def test_which_sets_are_small() -> None:
    budget = Budget(max_iter=10_000)
    small = problems_of(150, Hinge(), "ovr")
    assert is_small(small, "auto", budget)
    assert not is_small(small, "blocks", budget)
    assert not is_small(small, "auto", Budget(tol=1e-10))
    assert not is_small(small, "auto", Budget(memory=100_000))
    assert not is_small(problems_of(MOST_ROWS + 1, Hinge(), "ovr"), "auto", budget)
    # Pairs have rows of two classes each.
    assert is_small(problems_of(MOST_ROWS + 1, Hinge(), "ovo"), "auto", budget)
    many = problems_of(3 * MOST_ROWS + 1, Hinge(), "ovo")
    assert many.tasks.most_rows > MOST_ROWS
    assert not is_small(many, "auto", budget)
    # More where kernel values are costly, and without a matrix of all rows.
    wide = np.tile(many.rows, (1, EXPENSIVE_ROW // 8))
    assert is_small(replace(many, rows=wide), "auto", budget)
    assert is_small(replace(many, rows=wide), "auto", replace(budget, memory=8 * many.n_rows**2))
    assert not is_small(replace(many, rows=wide), "auto", replace(budget, memory=10**8))
    assert not is_small(replace(many, rows=wide), "auto", budget, one_matrix=True)
    rest = problems_of(MOST_ROWS + 1, Hinge(), "ovr")
    assert not is_small(replace(rest, rows=wide[: rest.n_rows]), "auto", budget)


@losses
@pytest.mark.parametrize("n_rows", [150, 1500])
def test_pairs_without_a_matrix_of_all_rows(
    loss: Loss, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same solutions; rows of a class are not side by side, and one pair is of few rows."""
    shared = fit_of(problems_of(n_rows, loss, "ovo"), tol=1e-8)
    shared.run_all()
    monkeypatch.setattr(small_fit, "MOST_SHARED_ROWS", n_rows - 1)
    found = []
    for threads in (1, 3):
        apart = fit_of(problems_of(n_rows, loss, "ovo"), tol=1e-8, threads=threads)
        apart.run_all()
        assert apart.small.finished.all()
        assert apart.small.relative_gap.max() <= 1e-8
        np.testing.assert_allclose(apart.small.primal, shared.small.primal, rtol=1e-7)
        found.append(apart.coefficients())
    np.testing.assert_array_equal(*found)


@classes
def test_a_path_shares_the_matrix(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = four_classes(200)
    blocks = []
    block = Kernel.block
    monkeypatch.setattr(Kernel, "block", lambda *a, **k: blocks.append(1) or block(*a, **k))
    models = kind(tol=1e-6).fit_path(X, y, [0.1, 1.0, 10.0])
    assert len(blocks) == 1
    for model in models:
        alone = kind(**model.get_params()).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), rtol=0, atol=2e-3
        )


def test_the_call_refuses_other_shapes() -> None:
    X, y = four_classes(40)
    kernel = Kernel("rbf", 0.2)
    rows = as_rows(X)
    terms = Hinge().terms(np.ones(40))
    arguments = {
        "kernel": kernel.block(rows, rows),
        "diagonal": kernel.diagonal(rows),
        "code": y,
        "lower_margin": terms.lower_margin,
        "upper_margin": terms.upper_margin,
        "below": terms.below,
        "above": terms.above,
        "bound": terms.bound,
        "floor": terms.floor,
        "positive": np.arange(4),
        "negative": np.full(4, -1),
        "coef": np.zeros((4, 40)),
    }
    options = {"relative_gap": 1e-3, "last_digits": False, "sets": 9, "working_set": 9}
    options |= {"whole_set": 9, "threads": 1, "seed": 0, "stop": lambda: False}
    wrong = {
        "kernel": np.ones((40, 39)),
        "code": y[1:],
        "negative": np.full(3, -1),
        "coef": np.zeros((3, 40)),
    }
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=r"must|needs|one negative"):
            _native.solve_small_problems(**{**arguments, name: value}, **options)
