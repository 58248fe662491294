"""The margin distribution of all classes: its convex problems, and the series of them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from multiclass_cases import case_of

from multiclass_oracle import margin_distribution, margin_distribution_optimum, margins
from widemargin.core.budget import Budget
from widemargin.core.history import CERTIFIED, History
from widemargin.core.outcome import Outcome
from widemargin.multiclass import margin_distribution as series
from widemargin.multiclass import solvers
from widemargin.multiclass.problem import StoredWeights

SOLVERS = ["dual", "proximal"]
solver_names = pytest.mark.parametrize("name", SOLVERS)


def case(C=1.0, k=4, n=40, d=5, theta=0.2, upsilon=0.5, seed=0, constant=1.0, **kind):
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), random.integers(0, k, n - k) ** 2 % k])
    X = random.normal(size=(k, d))[codes] + random.normal(size=(n, d))
    kind = {"sparse": False, "dtype": np.float64, "threads": 1, **kind}
    made = case_of(X, codes.astype(np.int32), k, "odm", C, constant, **kind)
    return replace(made, theta=theta, upsilon=upsilon)


def some_rivals(made, seed=1):
    """Return other classes at random, as no series would choose them."""
    step = np.random.default_rng(seed).integers(1, made.n_classes, made.n_rows)
    return ((made.codes + step) % made.n_classes).astype(np.int32)


def solved_convex(made, name, rivals, tol=1e-8, start=None, max_iter=100_000):
    problem = replace(made.posed(), rivals=rivals)
    first = None if start is None else StoredWeights(None, start)
    budget = Budget(tol=tol, max_iter=max_iter)
    return solvers.solve(name, problem, budget, History(CERTIFIED), first)


def solved_series(made, name="dual", tol=1e-6, start=None, **budget):
    history = History(series.COLUMNS)
    budget = Budget(tol=tol, **{"max_iter": 100_000, **budget})
    return series.solve(name, made.posed(), budget, history, start), history.table()


def dense(weights):
    return weights.toarray() if sp.issparse(weights) else np.asarray(weights)


def outside(made, rivals):
    return margin_distribution_optimum(
        made.all_features,
        made.codes,
        made.n_classes,
        made.bound,
        made.theta,
        made.upsilon,
        rivals,
    )


def objective(made, weights, rivals=None):
    return margin_distribution(
        dense(weights),
        made.all_features,
        made.codes,
        made.bound,
        made.theta,
        made.upsilon,
        rivals,
    )


# The convex problems


@solver_names
@pytest.mark.parametrize("with_rivals", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize(("theta", "upsilon"), [(0.2, 0.5), (0.0, 1.0), (0.6, 0.1)])
def test_a_convex_problem_has_the_outside_solvers_optimum(name, with_rivals, C, theta, upsilon):
    made = case(C, theta=theta, upsilon=upsilon)
    rivals = some_rivals(made) if with_rivals else None
    found = solved_convex(made, name, rivals)
    best = outside(made, rivals)
    assert found.outcome is Outcome.CONVERGED
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert found.certificate.dual == pytest.approx(best, rel=1e-6)
    if with_rivals:  # or a margin too large would cost nothing
        assert best > outside(made, None) * (1 + 1e-6) or C < 20.0


@solver_names
def test_rows_may_have_weights_of_their_own(name):
    made = case()
    made.bound[:] = np.random.default_rng(1).uniform(0.0, 2.0, made.n_rows)
    made.bound[::7] = 0.0
    rivals = some_rivals(made)
    assert solved_convex(made, name, rivals).certificate.primal == pytest.approx(
        outside(made, rivals), rel=1e-6
    )


def test_rows_of_zeros_cost_what_they_must():
    made = case(constant=0.0)
    made.X[3:6] = 0.0
    found = solved_convex(made, "dual", some_rivals(made))
    assert found.certificate.primal == pytest.approx(outside(made, some_rivals(made)), rel=1e-6)
    assert not found.iterate.duals[3:6].toarray().any()


@solver_names
def test_the_certificate_is_that_of_the_weights_and_multipliers(name):
    made = case(5.0, n=60)
    rivals = some_rivals(made)
    found = solved_convex(made, name, rivals, tol=1e-2)
    value = objective(made, found.iterate.weights, rivals)
    assert found.certificate.primal == pytest.approx(value, rel=1e-12)
    a = found.iterate.duals.toarray()
    W = np.zeros((made.n_classes, made.all_features.shape[1]))
    for i, row in enumerate(made.all_features):
        W[made.codes[i]] += a[i].sum() * row
        W -= np.outer(a[i], row)
    positive, negative = np.maximum(a, 0).sum(axis=1), np.maximum(-a, 0).sum(axis=1)
    dual = -0.5 * np.sum(W**2) + np.sum(
        (1 - made.theta) * positive
        - positive**2 / (2 * made.bound)
        - (1 + made.theta) * negative
        - negative**2 / (2 * made.upsilon * made.bound)
    )
    assert found.certificate.dual == pytest.approx(dual, rel=1e-9)
    assert negative.max() > 0
    outside_rivals = a.copy()
    outside_rivals[np.arange(made.n_rows), rivals] = 0
    assert outside_rivals.min() >= 0


def test_a_visit_gains_what_it_says():
    """The dual objective of the estimate, summed up over visits, is that of the multipliers."""
    made = case(3.0, n=60)
    rivals = some_rivals(made)
    problem = replace(made.posed(), rivals=rivals).in_memory
    bundles = solvers.dual_ascent.AllTogether()
    state = bundles.bundles(problem, made.posed().engine, 2**30)
    known = state.dual_objective()[0]
    for seed in range(20):
        for active_only in (False, True):
            what = solvers.dual_ascent.Pass(seed, lambda: False, active_only)
            _, gain = bundles.epoch(state, what)
            known += gain
            assert gain >= 0
            assert state.dual_objective()[0] == pytest.approx(known, rel=1e-10)


def test_multipliers_of_other_rivals_are_made_feasible():
    made = case(3.0)
    before = solved_convex(made, "dual", some_rivals(made, seed=1)).iterate.duals
    rivals = some_rivals(made, seed=2)
    found = solved_convex(made, "dual", rivals, start=before)
    assert found.certificate.primal == pytest.approx(outside(made, rivals), rel=1e-6)
    assert solved_convex(made, "dual", rivals, start=found.iterate.duals).iterations == 0


@solver_names
@pytest.mark.parametrize(("sparse", "dtype"), [(True, np.float64), (False, np.float32)])
def test_sparse_and_single_rows_give_the_same_objective(name, sparse, dtype):
    rivals = some_rivals(case())
    reference = solved_convex(case(), name, rivals)
    other = solved_convex(case(sparse=sparse, dtype=dtype), name, rivals)
    assert other.certificate.primal == pytest.approx(reference.certificate.primal, rel=1e-6)


# The series


@solver_names
@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_falls_to_a_point_of_its_own_convex_problem(name, C, seed):
    made = case(C, upsilon=0.8, theta=0.1, k=5, n=60, seed=seed)
    found, history = solved_series(made, name)
    assert found.outcome is Outcome.CONVERGED
    objectives = np.array(found.iterate.objectives)
    assert np.all(np.diff(objectives) < 0)
    value = objective(made, found.iterate.weights)
    assert objectives[-1] == pytest.approx(value, rel=1e-12)
    assert found.certificate.primal == pytest.approx(value, rel=1e-12)
    # The best weights under the bound that is exact at the solution are no better.
    _, best = margins(made.all_features @ dense(found.iterate.weights).T, made.codes)
    assert outside(made, best) == pytest.approx(value, rel=1e-5)
    assert outside(made, best) <= value * (1 + 1e-9)
    assert history["iteration"].tolist() == sorted(history["iteration"].tolist())
    assert history["round"].tolist() == sorted(history["round"].tolist())
    assert found.iterations == history["iteration"][-1]


def test_the_first_weights_are_those_of_margins_too_small():
    made = case(5.0)
    found, _ = solved_series(made, tol=1e-8)
    first = solved_convex(made, "dual", None, tol=0.5e-8)
    assert found.iterate.objectives[0] == pytest.approx(
        objective(made, first.iterate.weights), rel=1e-7
    )
    assert found.iterate.objectives[-1] < found.iterate.objectives[0] * (1 - 1e-4)


@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_without_weight_of_large_margins_the_problem_is_convex(theta):
    made = case(2.0, theta=theta, upsilon=1e-9)
    found, _ = solved_series(made, tol=1e-8)
    assert found.certificate.primal == pytest.approx(outside(made, None), rel=1e-6)


def test_two_classes_are_one_convex_problem():
    made = case(2.0, k=2)
    found, history = solved_series(made, tol=1e-8)
    assert set(history["round"]) == {0}
    rivals = (1 - made.codes).astype(np.int32)
    assert found.certificate.primal == pytest.approx(outside(made, rivals), rel=1e-6)


def test_a_start_at_the_solution_takes_no_epoch():
    made = case(5.0, n=60)
    found, _ = solved_series(made, tol=1e-3)
    again, _ = solved_series(made, tol=1e-3, start=found.iterate)
    assert again.iterations == 0
    assert np.array_equal(dense(again.iterate.weights), dense(found.iterate.weights))


@pytest.mark.parametrize("max_iter", [1, 5, 30])
def test_a_series_cut_short_says_so_and_has_the_best_weights(max_iter):
    made = case(20.0, n=60, upsilon=1.0, theta=0.0)
    found, _ = solved_series(made, tol=1e-9, max_iter=max_iter)
    assert found.outcome is Outcome.ITERATIONS
    assert found.iterations <= max_iter + 1
    value = objective(made, found.iterate.weights)
    assert found.iterate.objectives[-1] == pytest.approx(value, rel=1e-12)
    assert np.all(np.diff(found.iterate.objectives) < 0)


def test_sparse_weights_are_evaluated_too():
    made = case(1.0, d=12, k=6, n=30, sparse=True)
    rows = made.posed().in_memory
    weights = np.random.default_rng(0).normal(size=(6, 13))
    weights[:, :9] = 0.0
    full = series.MarginPoint.at(rows, weights, 1)
    few = series.MarginPoint.at(rows, sp.csr_array(weights), 2)
    assert few.objective == pytest.approx(objective(made, weights), rel=1e-12)
    assert full.objective == pytest.approx(few.objective, rel=1e-12)
    assert np.array_equal(full.rivals, few.rivals)
    expected = margins(made.all_features @ weights.T, made.codes)[1]
    assert np.array_equal(full.rivals, expected)
