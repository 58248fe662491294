"""Ascent accelerated by proximal points, against an outside solver and against ascent alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from multiclass_cases import case_of, solved

from multiclass_oracle import objective, optimum
from widemargin import MulticlassSVMClassifier
from widemargin.core.outcome import Outcome
from widemargin.multiclass.solvers import choose, proximal

FORMULATIONS = ["llw", "ww", "cs"]


def texts(n=300, d=400, k=12, seed=0):
    """Return sparse rows of unit length, a few words each, some of them the class's own."""
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), random.integers(0, k, n - k)])
    words = random.zipf(1.3, (n, 12)) % d
    words[:, :2] = (codes[:, None] * 17 + random.integers(0, 5, (n, 2))) % d
    X = np.zeros((n, d))
    np.add.at(X, (np.arange(n)[:, None], words), 1.0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), codes


def problem_of(formulation, C, n=60, d=30, k=5, threads=1, dtype=np.float64, constant=1.0):
    X, codes = texts(n, d, k)
    return case_of(X, codes, k, formulation, C, constant, sparse=True, dtype=dtype, threads=threads)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_objective_is_an_outside_solvers(formulation, C):
    problem = problem_of(formulation, C)
    found = solved(problem, "proximal", tol=1e-5, max_iter=30_000)
    best = optimum(
        problem.all_features, problem.codes, problem.n_classes, problem.bound, formulation
    )
    assert found.outcome is Outcome.CONVERGED
    assert found.certificate.dual <= best * (1 + 1e-7)
    assert found.certificate.primal == pytest.approx(best, rel=2e-5)


def test_it_takes_fewer_epochs_than_ascent_alone():
    problem = problem_of("llw", 1000.0, n=300, d=400, k=12)
    alone = solved(problem, "dual", tol=1e-2, max_iter=20_000)
    found = solved(problem, "proximal", tol=1e-2, max_iter=20_000)
    assert found.outcome is alone.outcome is Outcome.CONVERGED
    assert found.certificate.dual <= alone.certificate.primal
    assert alone.certificate.dual <= found.certificate.primal
    assert 2 * found.iterations < alone.iterations


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_certificate_is_that_of_weights_and_multipliers(formulation):
    problem = problem_of(formulation, 100.0)
    found = solved(problem, "proximal", tol=1e-2, max_iter=10_000)
    W = np.asarray(sp.csr_array(found.iterate.weights).toarray())
    value = objective(W, problem.all_features, problem.codes, problem.bound, formulation)
    assert found.certificate.primal == pytest.approx(value, rel=1e-12)
    duals = found.iterate.duals.toarray()
    assert duals.min() >= 0.0
    assert np.all((duals.sum(axis=1) if formulation == "cs" else duals.max(axis=1)) <= 100.0)
    signs = -duals
    if formulation == "llw":
        signs -= signs.mean(axis=1, keepdims=True)
    else:
        signs[np.arange(len(signs)), problem.codes] = duals.sum(axis=1)
    implied = signs.T @ problem.all_features
    bound = duals.sum() - 0.5 * np.vdot(implied, implied)
    assert found.certificate.dual == pytest.approx(bound, rel=1e-9)


def test_weights_of_lee_lin_wahba_sum_to_zero():
    W = solved(problem_of("llw", 300.0), "proximal", tol=1e-2).iterate.weights
    assert np.max(np.abs(W.sum(axis=0))) <= 1e-11 * np.max(np.abs(W))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_matter(dtype):
    one, two = (
        solved(problem_of("llw", 300.0, n=200, d=150, threads=t, dtype=dtype), "proximal", tol=1e-2)
        for t in (1, 2)
    )
    assert np.array_equal(one.iterate.weights, two.iterate.weights)
    assert (one.iterate.duals != two.iterate.duals).nnz == 0


def test_rows_of_zeros_cost_what_they_must():
    problem = problem_of("llw", 100.0, constant=0.0)
    problem.X = sp.csr_matrix(np.where(np.arange(problem.n_rows)[:, None] < 3, 0.0, 1.0)).multiply(
        problem.X
    )
    problem.X = sp.csr_matrix(problem.X)
    problem.X.eliminate_zeros()
    best = optimum(problem.all_features, problem.codes, problem.n_classes, problem.bound, "llw")
    found = solved(problem, "proximal", tol=1e-5, max_iter=30_000)
    assert found.certificate.primal == pytest.approx(best, rel=2e-5)


def test_a_start_at_the_optimum_does_nothing():
    problem = problem_of("llw", 100.0)
    first = solved(problem, "proximal", tol=1e-4, max_iter=10_000)
    again = solved(problem, "proximal", first.iterate.duals, tol=5e-3)
    assert again.iterations == 0
    assert again.certificate.relative_gap <= 5e-3


def test_limits_end_the_solve_with_a_certificate():
    found = solved(problem_of("llw", 1000.0), "proximal", tol=1e-9, max_iter=7)
    assert found.outcome is Outcome.ITERATIONS
    assert found.iterations == 7
    assert 0 < found.certificate.relative_gap < 10


def test_auto_takes_it_for_text_with_a_large_c():
    def chosen(formulation, C, memory=2**30):
        return choose("auto", problem_of(formulation, C, d=1500).posed(), memory)

    assert chosen("llw", 1000.0) == "proximal"
    assert chosen("llw", 1.0) == "dual"
    assert chosen("ww", 1000.0) == "dual"
    needed = proximal.bytes_needed(problem_of("llw", 1000.0, d=1500).posed())
    assert chosen("llw", 1000.0, needed - 1) == "dual"


def test_too_little_memory_is_refused():
    with pytest.raises(ValueError, match="memory_limit"):
        solved(problem_of("llw", 100.0), "proximal", memory=1000)


def test_the_estimator_converges_and_refuses_one_against_the_rest():
    X, y = texts()
    model = MulticlassSVMClassifier("llw", C=1000.0, solver="proximal", tol=1e-2).fit(X, y)
    assert model.converged_
    assert model.solver_ == "proximal"
    with pytest.raises(ValueError, match="formulation='ovr'"):
        MulticlassSVMClassifier("ovr", solver="proximal").fit(X, y)
