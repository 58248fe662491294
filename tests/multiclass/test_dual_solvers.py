"""The dual solvers, against an outside solver and against each other."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from multiclass_cases import case_of
from multiclass_cases import solved as solved_by

from multiclass_oracle import objective, optimum
from widemargin.core.history import CERTIFIED, History
from widemargin.core.outcome import Outcome
from widemargin.engines import LocalEngine
from widemargin.multiclass.solvers.class_bundles import Pass
from widemargin.multiclass.solvers.dual_ascent import AllTogether, Independent

FORMULATIONS = ["ww", "cs", "llw", "ovr"]


def blobs(n=40, d=5, k=4, seed=0, constant=1.0):
    """Return rows with an uneven number per class, the constant feature last."""
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), random.integers(0, k, n - k) ** 2 % k])
    X = random.normal(size=(k, d))[codes] + random.normal(size=(n, d))
    return np.ascontiguousarray(X), codes.astype(np.int64), np.full(n, constant)


def problem_of(formulation, C=1.0, seed=0, sparse=False, dtype=np.float64, threads=1, **shape):
    X, codes, constant = blobs(seed=seed, **shape)
    n_classes = int(codes.max()) + 1
    kind = {"sparse": sparse, "dtype": dtype, "threads": threads}
    return case_of(X, codes, n_classes, formulation, C, constant[0], **kind)


def dense(weights):
    return weights.toarray() if sp.issparse(weights) else np.asarray(weights)


def solved(problem, tol=1e-8, max_iter=20000, name="dual", start=None, **budget):
    return solved_by(problem, name, start, tol=tol, max_iter=max_iter, **budget)


# Every formulation with every solver that knows it.
SOLVERS = [*((f, "dual") for f in FORMULATIONS), ("ww", "tournament")]


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_objective_is_an_outside_solvers(formulation, C):
    problem = problem_of(formulation, C)
    found = solved(problem)
    best = optimum(
        problem.all_features, problem.codes, problem.n_classes, problem.bound, formulation
    )
    assert found.outcome is Outcome.CONVERGED
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert found.certificate.dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_a_tournament_meets_the_outside_solver(k):
    problem = problem_of("ww", k=k, n=50)
    best = optimum(problem.all_features, problem.codes, k, problem.bound, "ww")
    found = solved(problem, name="tournament")
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_rows_may_have_weights_of_their_own(formulation):
    problem = problem_of(formulation)
    problem.bound[:] = np.random.default_rng(1).uniform(0.0, 2.0, problem.n_rows)
    problem.bound[::7] = 0.0
    best = optimum(
        problem.all_features, problem.codes, problem.n_classes, problem.bound, formulation
    )
    assert solved(problem).certificate.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_rows_of_zeros_cost_what_they_must(formulation):
    problem = problem_of(formulation, constant=0.0)
    problem.X[3:6] = 0.0
    X = problem.X
    best = optimum(X, problem.codes, problem.n_classes, problem.bound, formulation)
    found = solved(problem)
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert found.certificate.relative_gap <= 1e-8
    assert not found.iterate.duals[3:6].toarray().any()


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_certificate_is_that_of_the_weights(formulation):
    problem = problem_of(formulation, n=60)
    found = solved(problem, tol=1e-2)
    W = dense(found.iterate.weights)
    value = objective(W, problem.all_features, problem.codes, problem.bound, formulation)
    assert found.certificate.primal == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("sparse", "dtype"), [(True, np.float64), (False, np.float32)])
def test_sparse_and_single_rows_give_the_same_objective(formulation, sparse, dtype):
    reference = solved(problem_of(formulation))
    other = solved(problem_of(formulation, sparse=sparse, dtype=dtype))
    assert other.certificate.primal == pytest.approx(reference.certificate.primal, rel=1e-6)


@pytest.mark.parametrize(("formulation", "name"), SOLVERS)
def test_threads_do_not_matter(formulation, name):
    one = solved(problem_of(formulation, n=60, k=9, threads=1), tol=1e-3, name=name)
    two = solved(problem_of(formulation, n=60, k=9, threads=2), tol=1e-3, name=name)
    assert np.array_equal(dense(one.iterate.weights), dense(two.iterate.weights))
    assert (one.iterate.duals != two.iterate.duals).nnz == 0


@pytest.mark.parametrize(("formulation", "name"), SOLVERS)
def test_weights_in_lists_are_the_weights_in_blocks(formulation, name):
    """Without memory for dense weights, features keep lists that grow as classes come in."""
    problem = problem_of(formulation, n=90, d=12, k=9, sparse=True)
    blocks = solved(problem, tol=1e-6, name=name)
    lists = solved(problem, tol=1e-6, name=name, memory=0)
    assert lists.certificate.primal == pytest.approx(blocks.certificate.primal, rel=1e-6)
    np.testing.assert_allclose(
        dense(lists.iterate.weights), dense(blocks.iterate.weights), atol=3e-3
    )


@pytest.mark.parametrize("name", ["dual", "printed"])
def test_weights_of_lee_lin_wahba_sum_to_zero(name):
    found = solved(problem_of("llw", C=3.0, n=60), tol=1e-2, max_iter=300, name=name)
    W = dense(found.iterate.weights)
    assert np.max(np.abs(W.sum(axis=0))) <= 1e-12 * np.max(np.abs(W))


def test_the_printed_algorithm_goes_to_the_same_optimum_slowly():
    problem = problem_of("llw", C=1.0, n=100, k=10)
    best = solved(problem, tol=1e-3)
    printed = solved(problem, tol=1e-3, max_iter=3000, name="printed")
    assert printed.outcome is Outcome.CONVERGED
    assert printed.certificate.primal == pytest.approx(best.certificate.primal, rel=2e-3)
    after_20 = [solved(problem, tol=1e-9, max_iter=20, name=name) for name in ("printed", "dual")]
    ours, theirs = (each.certificate.relative_gap for each in reversed(after_20))
    assert theirs > 5 * ours


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_start_at_the_optimum_does_nothing(formulation):
    problem = problem_of(formulation)
    first = solved(problem, tol=1e-6)
    again = solved(problem, tol=1e-5, start=first.iterate.duals)
    assert again.iterations == 0
    assert again.certificate.primal == pytest.approx(first.certificate.primal, rel=1e-5)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_start_from_a_larger_C_is_cut_to_the_bounds(formulation):
    large = solved(problem_of(formulation, C=5.0), tol=1e-4)
    problem = problem_of(formulation, C=0.5)
    best = solved(problem)
    found = solved(problem, start=large.iterate.duals)
    assert found.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_foreign_start_is_no_worse_than_none(formulation):
    problem = problem_of(formulation, C=100.0, n=60)
    foreign = sp.csr_array(np.full((problem.n_rows, problem.n_classes), 50.0))
    if formulation != "ovr":
        foreign = sp.csr_array(foreign.toarray() * (problem.codes[:, None] != np.arange(4)))
    history = History(CERTIFIED)
    solved(problem, tol=1e-3, start=foreign, history=history)
    assert history.table()["dual"][0] >= 0.0


@pytest.mark.parametrize("before", FORMULATIONS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_start_of_other_labels_or_another_formulation_leads_to_the_optimum(formulation, before):
    first = problem_of(before, C=0.5)
    problem = problem_of(formulation, C=0.5)
    codes = problem.codes.copy()
    codes[:10] = (codes[:10] + 1) % problem.n_classes
    problem = replace(problem, codes=codes)
    found = solved(problem, start=solved(first, tol=1e-3).iterate.duals)
    best = optimum(problem.all_features, codes, problem.n_classes, problem.bound, formulation)
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    assert found.certificate.dual <= best * (1 + 1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_multipliers_keep_their_bounds(formulation):
    found = solved(problem_of(formulation, C=0.7, n=60), tol=1e-3)
    duals = found.iterate.duals.toarray()
    assert duals.min() >= 0.0
    most = duals.sum(axis=1).max() if formulation == "cs" else duals.max()
    assert most <= 0.7 * (1 + 1e-12)


def test_budgets_are_kept_and_told():
    problem = problem_of("ww", C=1e4, n=300, d=8, k=6)
    few = solved(problem, tol=1e-9, max_iter=3)
    assert few.outcome is Outcome.ITERATIONS
    assert few.iterations <= 3
    late = solved(problem, tol=1e-12, max_time=0.05)
    assert late.outcome is Outcome.TIME
    assert late.certificate.relative_gap < 1.0


def test_classes_without_rows_get_weights_too():
    problem = problem_of("ww")
    wider = replace(problem, n_classes=problem.n_classes + 2)
    best = optimum(problem.all_features, problem.codes, wider.n_classes, problem.bound, "ww")
    assert solved(wider).certificate.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_an_interrupt_while_weights_are_recomputed_leaves_them_whole(formulation):
    class Interrupted:
        def __init__(self, native):
            self.native, self.calls = native, 0

        def __getattr__(self, name):
            return getattr(self.native, name)

        def add_weights(self, *arguments):
            self.calls += 1
            if self.calls == 1:
                raise KeyboardInterrupt
            self.native.add_weights(*arguments)

    problem = problem_of(formulation, n=60)
    method = Independent() if formulation == "ovr" else AllTogether()
    state = method.bundles(problem.posed().in_memory, LocalEngine(1), 1 << 30)
    method.epoch(state, Pass(1, lambda: False))
    before = dense(state.weights)
    state.native = Interrupted(state.native)
    with pytest.raises(KeyboardInterrupt):
        state.refresh()
    assert np.any(before)
    np.testing.assert_allclose(dense(state.weights), before, atol=1e-12)


@pytest.mark.parametrize("formulation", ["ww", "ovr"])
def test_sparse_weights_are_given_away_and_found_again(formulation):
    """One bundle of all classes, or several whose classes are not in order."""
    problem = problem_of(formulation, n=40, d=600, k=9, sparse=True, constant=0.0)
    problem.X = sp.csr_matrix(problem.X.multiply(np.abs(problem.X.toarray()) > 4.0))
    method = Independent() if formulation == "ovr" else AllTogether()
    state = method.bundles(problem.posed().in_memory, LocalEngine(1), 0)
    method.epoch(state, Pass(1, lambda: False))
    kept = state.weights
    taken = state.take_weights()
    assert all(part.weight_count() == 0 for part in state.parts)
    assert sp.issparse(taken)
    assert taken.indices.dtype == taken.indptr.dtype == np.int32
    assert taken.has_canonical_format
    assert np.array_equal(taken.toarray(), kept.toarray())
    np.testing.assert_allclose(dense(state.weights), kept.toarray(), atol=1e-12)
