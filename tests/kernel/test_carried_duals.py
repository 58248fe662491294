"""Duals and margins that go from one training set to the next."""

import numpy as np
import pytest

from widemargin.core.losses import Hinge
from widemargin.core.outcome import Certificate
from widemargin.kernel.carried_duals import CertifiedDuals, SolvedProblems
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals
from widemargin.kernel.problems import KernelProblems, binary_tasks

KERNEL = Kernel("rbf", 0.5, constant=1.0)


def posed(X, codes, scheme):
    tasks = binary_tasks(codes, int(codes.max()) + 1, scheme)
    return KernelProblems(tasks, KERNEL, X, np.ones(len(codes)), Hinge())


def solved(problems, seed=0):
    random, duals = np.random.default_rng(seed), []
    for k in range(len(problems)):
        problem = problems.problem(k, 1)
        net_dual = random.random(problem.n_rows) * (random.random(problem.n_rows) < 0.5)
        duals.append(Duals(net_dual, problem.margins(net_dual)))
    proofs = [Certificate(1.0 + k, 1.0) for k in range(len(problems))]
    classes = np.arange(int(problems.tasks.codes.max()) + 1)
    return SolvedProblems(classes, problems.tasks, problems.weights, problems.loss, duals, proofs)


@pytest.mark.parametrize(("n_classes", "scheme"), [(2, "ovr"), (3, "ovr"), (4, "ovo")])
def test_margins_follow_rows_that_come_and_go(n_classes, scheme):
    random = np.random.default_rng(1)
    X, codes = random.normal(size=(60, 3)), np.arange(60) % n_classes
    before = posed(X[:50], codes[:50], scheme)
    state = solved(before)
    gone = np.array([3, 17, 18, 40])
    state = state.without(gone, KERNEL, X[:50], 1)
    origin = np.concatenate([np.delete(np.arange(50), gone), np.full(10, -1)])
    now = np.concatenate([np.delete(np.arange(50), gone), np.arange(50, 60)])
    after = posed(X[now], codes[now], scheme)
    for k, start in enumerate(state.carried_to(np.arange(n_classes), after, origin)):
        problem, new = after.problem(k, 1), origin[after.rows_of(k)] < 0
        assert np.all(start.net_dual[new] == 0)
        assert np.all(np.isnan(start.margin[new]))
        exact = problem.margins(start.net_dual)
        assert np.abs(start.margin - exact)[~new].max() < 1e-12
        assert not isinstance(start, CertifiedDuals)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_two_classes_and_a_third_that_comes_and_goes(scheme):
    random = np.random.default_rng(2)
    X, codes = random.normal(size=(40, 3)), np.repeat([0, 1, 2], [15, 15, 10])
    two, three = posed(X[:30], codes[:30], scheme), posed(X, codes, scheme)
    origin = np.concatenate([np.arange(30), np.full(10, -1)])
    state = solved(two)
    starts = state.carried_to(np.arange(3), three, origin)
    # Problems of the first two classes have the duals, those of the third alone start from zero.
    known = [0, 1] if scheme == "ovr" else [0]
    for k, start in enumerate(starts):
        problem = three.problem(k, 1)
        if k in known:
            assert np.array_equal(start.net_dual[:30], state.duals[0].net_dual)
            exact = problem.margins(start.net_dual)
            assert np.abs(start.margin - exact)[:30].max() < 1e-12
        else:
            assert not start.net_dual.any()
    # A pair that has no row of the third class is as it was, and has its certificate.
    assert isinstance(starts[0], CertifiedDuals) == (scheme == "ovo")
    back = solved(three).without(np.arange(30, 40), KERNEL, X, 1)
    (start,) = back.carried_to(np.arange(2), two, np.arange(30))
    exact = two.problem(0, 1).margins(start.net_dual)
    assert start.net_dual.any()
    assert np.abs(start.margin - exact).max() < 1e-12


def test_other_weights_need_another_certificate():
    random = np.random.default_rng(3)
    X, codes = random.normal(size=(20, 3)), np.arange(20) % 2
    problems = posed(X, codes, "ovr")
    state = solved(problems)
    (start,) = state.carried_to(np.arange(2), problems, np.arange(20))
    assert isinstance(start, CertifiedDuals)
    assert start.certificate == Certificate(1.0, 1.0)
    other = KernelProblems(problems.tasks, KERNEL, X, np.full(20, 2.0), Hinge())
    (start,) = state.carried_to(np.arange(2), other, np.arange(20))
    assert not isinstance(start, CertifiedDuals)
