"""The second-order solver of formulations that add up hinges."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from multiclass_cases import case_of
from multiclass_cases import solved as solved_by

from multiclass_oracle import objective, optimum
from widemargin.core.history import CERTIFIED, History
from widemargin.core.outcome import Outcome
from widemargin.multiclass.solvers import choose, newton_directions, newton_losses, refuse


def make_problem(
    formulation, C=1.0, n=60, d=5, k=4, constant=1.0, sparse=False, dtype=np.float64, threads=1
):
    random = np.random.default_rng(n + d + k)
    codes = np.concatenate([np.arange(k), random.integers(0, k, n - k) ** 2 % k])
    X = random.normal(size=(k, d))[codes] + random.normal(size=(n, d))
    if sparse:
        X[random.random(X.shape) < 0.6] = 0.0
    kind = {"sparse": sparse, "dtype": dtype, "threads": threads}
    return case_of(X, codes, k, formulation, C, constant, **kind)


@pytest.fixture(params=["llw", "ww"])
def problem_of(request):
    return partial(make_problem, request.param)


def best_objective(problem):
    X = problem.all_features
    return optimum(X, problem.codes, problem.n_classes, problem.bound, problem.formulation)


def solved(problem, tol=1e-8, start=None, name="newton", **budget):
    return solved_by(problem, name, start, tol=tol, **budget)


def check_against_the_outside_solver(problem):
    found, best = solved(problem), best_objective(problem)
    assert found.outcome is Outcome.CONVERGED
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert found.certificate.dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_the_objective_is_an_outside_solvers(problem_of, C, k):
    check_against_the_outside_solver(problem_of(C, k=k))


@pytest.mark.parametrize("constant", [0.0, 2.5])
@pytest.mark.parametrize(("sparse", "dtype"), [(True, np.float64), (False, np.float32)])
def test_rows_of_any_kind(problem_of, sparse, dtype, constant):
    check_against_the_outside_solver(
        problem_of(100.0, sparse=sparse, dtype=dtype, constant=constant)
    )


def test_more_features_than_rows(problem_of):
    check_against_the_outside_solver(problem_of(1e3, n=20, d=40))


def test_rows_may_have_weights_of_their_own(problem_of):
    problem = problem_of()
    problem.bound[:] = np.random.default_rng(1).uniform(0.0, 200.0, problem.n_rows)
    problem.bound[::7] = 0.0
    check_against_the_outside_solver(problem)
    assert not solved(problem).iterate.duals[::7].toarray().any()


def test_rows_of_zeros_cost_what_they_must(problem_of):
    problem = problem_of(50.0, constant=0.0)
    problem.X[3:6] = 0.0
    check_against_the_outside_solver(problem)
    assert not solved(problem).iterate.duals[3:6].toarray().any()


def test_nothing_but_zeros_is_solved_at_once(problem_of):
    problem = problem_of(constant=0.0)
    problem.X[:] = 0.0
    found = solved(problem)
    assert found.iterations == 0
    assert found.certificate.primal == found.certificate.dual == problem.fixed_loss


def test_classes_without_rows_get_weights_too(problem_of):
    problem = problem_of(10.0)
    check_against_the_outside_solver(replace(problem, n_classes=problem.n_classes + 2))


@pytest.mark.parametrize("max_iter", [0, 3, 1000])
def test_both_sides_of_the_certificate_are_those_of_what_is_returned(problem_of, max_iter):
    problem = problem_of(1e3)
    found = solved(problem, tol=1e-6, max_iter=max_iter)
    X = problem.all_features
    value = objective(found.iterate.weights, X, problem.codes, problem.bound, problem.formulation)
    assert found.certificate.primal == pytest.approx(value, rel=1e-12)
    duals = found.iterate.duals.toarray()
    assert not duals[np.arange(problem.n_rows), problem.codes].any()
    assert duals.min() >= 0.0
    assert np.all(duals <= problem.bound[:, None])
    if problem.formulation == "ww":
        duals[np.arange(problem.n_rows), problem.codes] = -duals.sum(axis=1)
    pull = duals.T @ X
    implied = pull.mean(axis=0) - pull
    lower = found.iterate.duals.sum() - 0.5 * np.sum(implied**2)
    assert 0.0 <= lower <= found.certificate.dual * (1 + 1e-9)
    if max_iter == 1000:
        assert lower == pytest.approx(found.certificate.dual, rel=1e-9)


def test_the_first_bound_is_that_of_the_start(problem_of):
    problem = problem_of(100.0, constant=0.0)
    problem.X[3:6] = 0.0
    assert solved(problem, max_iter=0).certificate.dual == problem.fixed_loss == 900.0
    first = solved(problem, tol=1e-6)
    again = solved(problem, start=first.iterate.duals, max_iter=0)
    assert again.certificate.dual == pytest.approx(first.certificate.dual, rel=1e-9)
    # A multiplier of a row's own class is none.
    own = sp.csr_array((np.full(60, 50.0), problem.codes, np.arange(61)), shape=(60, 4))
    assert solved(problem, start=own, max_iter=0).certificate.dual == problem.fixed_loss


@pytest.mark.parametrize("C", [1.0, 1e6])
@pytest.mark.parametrize("from_start", [False, True])
def test_weights_sum_to_zero(problem_of, C, from_start):
    problem = problem_of(C, n=200, d=8, k=5)
    start = solved(problem, tol=1e-3).iterate.duals if from_start else None
    for max_iter in (1, 1000):
        W = solved(problem, tol=1e-6, start=start, max_iter=max_iter).iterate.weights
        assert np.max(np.abs(W.sum(axis=0))) <= 1e-12 * np.max(np.abs(W))


def test_threads_do_not_matter(problem_of, monkeypatch):
    # Many small blocks, more than are added up at a time.
    monkeypatch.setattr(newton_losses, "SLICE_NUMBERS", 256)
    one = solved(problem_of(100.0, n=500, k=7), tol=1e-5)
    two = solved(problem_of(100.0, n=500, k=7, threads=2), tol=1e-5)
    assert np.array_equal(one.iterate.weights, two.iterate.weights)
    assert (one.iterate.duals != two.iterate.duals).nnz == 0
    assert one.iterations == two.iterations


def test_blocks_do_not_matter_but_for_rounding(problem_of, monkeypatch):
    problem = problem_of(100.0, n=500, k=7, sparse=True)
    whole = solved(problem)
    monkeypatch.setattr(newton_losses, "SLICE_NUMBERS", 256)
    blocks = solved(problem)
    assert blocks.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)


def test_steps_hardly_grow_with_C_and_epochs_do(problem_of):
    easy, hard = problem_of(1.0, n=300, k=5), problem_of(1e4, n=300, k=5)
    assert solved(hard, tol=1e-3).iterations <= 3 * solved(easy, tol=1e-3).iterations
    ascent = solved(hard, tol=1e-3, name="dual", max_iter=1000)
    assert ascent.outcome is Outcome.ITERATIONS


def test_a_start_saves_steps_and_may_come_from_another_C(problem_of):
    problem = problem_of(100.0, n=300, k=5)
    cold = solved(problem, tol=1e-3)
    again = solved(problem, tol=1e-3, start=cold.iterate.duals)
    assert again.iterations < cold.iterations
    larger = solved(problem_of(1e4, n=300, k=5), tol=1e-3)
    other = solved(problem, start=larger.iterate.duals)
    assert other.certificate.primal == pytest.approx(solved(problem).certificate.primal, rel=1e-7)


def test_budgets_are_kept_and_told(problem_of):
    problem = problem_of(1e4, n=400, d=8, k=6)
    few = solved(problem, tol=1e-9, max_iter=4)
    assert few.outcome is Outcome.ITERATIONS
    assert few.iterations == 4
    assert few.certificate.relative_gap > 1e-9
    late = solved(problem, tol=1e-9, max_time=0.0)
    assert late.outcome is Outcome.TIME
    assert late.iterations == 0


def test_the_history_only_improves_and_an_interrupt_leaves_the_best(problem_of):
    problem = problem_of(1e3, n=300)

    def interrupt(row):
        if row["iteration"] == 5:
            raise KeyboardInterrupt

    record = History(CERTIFIED, listener=interrupt)
    with pytest.raises(KeyboardInterrupt):
        solved(problem, tol=1e-6, history=record)
    history = record.table()
    assert list(history["iteration"]) == list(range(6))
    assert np.all(np.diff(history["relative_gap"]) <= 0)
    W = record.latest.weights
    value = objective(W, problem.all_features, problem.codes, problem.bound, problem.formulation)
    assert value == pytest.approx(history["primal"][-1], rel=1e-12)
    assert record.latest.duals.shape == (problem.n_rows, problem.n_classes)


def test_a_gap_below_rounding_is_given_up(problem_of):
    found = solved(problem_of(1e-4), tol=-1.0)
    assert found.outcome is Outcome.STALLED
    assert found.certificate.relative_gap <= 1e-12


def test_auto_takes_it_where_ascent_is_slow(problem_of):
    assert choose("auto", problem_of(100.0).posed()) == "newton"
    assert choose("auto", problem_of(0.01).posed()) == "dual"
    assert choose("auto", problem_of(100.0).posed(), memory=1000) == "dual"
    assert choose("auto", problem_of(1e6, d=4001).posed()) != "newton"
    assert choose("auto", replace(problem_of(100.0), formulation="cs").posed()) == "dual"
    assert choose("dual", problem_of(100.0).posed()) == "dual"


@pytest.mark.parametrize("formulation", ["cs", "ovr"])
def test_other_formulations_are_refused(formulation):
    with pytest.raises(ValueError, match=f"formulation='ww' or 'llw'; got.*{formulation}.*auto"):
        refuse("newton", formulation)


def test_what_does_not_fit_is_refused(problem_of):
    with pytest.raises(ValueError, match=r"needs .* MiB for 60 rows.*`memory_limit` is 0 MiB"):
        solved(problem_of(), memory=1000)


def test_hessians_have_a_size():
    with pytest.raises(ValueError, match=r"at most 1000 weights at a time.*got 1002. Use.*dual"):
        solved(make_problem("llw", d=1001))
    with pytest.raises(ValueError, match=r"at most 3000 weights .*got 1002 times 4 classes"):
        solved(make_problem("ww", d=1001))


@pytest.mark.parametrize("d", [newton_directions.SMALL_SIZE - 1, newton_directions.SMALL_SIZE + 1])
def test_short_and_long_rows_are_added_up_alike(d):
    check_against_the_outside_solver(make_problem("ww", 10.0, d=d, n=100))


def test_ascent_finds_the_same(problem_of):
    problem = problem_of(0.1)
    ascent = solved(problem, tol=1e-7, name="dual", max_iter=100_000)
    assert ascent.certificate.primal == pytest.approx(solved(problem).certificate.primal, rel=1e-6)
