"""Rows that have settled in all problems are set aside, and checked in the end."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from widemargin.core.losses import Hinge, MarginDistribution
from widemargin.core.outcome import certify
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.solvers import settled_rows as settling
from widemargin.kernel.solvers.row_groups import SharedProblem
from widemargin.kernel.solvers.settled_rows import settled_rows, worth_settling
from widemargin.kernel.solvers.shared_blocks import SHARE_OF_MEMORY, SharedBlocks

N_ROWS, CLASSES, BLOCK, TOL = 2000, 3, 250, 1e-4
KERNEL = Kernel("rbf", 0.1)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        N_ROWS, 6, n_informative=6, n_redundant=0, n_classes=CLASSES, class_sep=2.0, random_state=0
    )


def one_vs_rest(code: np.ndarray) -> list[SharedProblem]:
    terms = Hinge().terms(np.full(N_ROWS, 5.0))
    return [SharedProblem(np.where(code == k, 1.0, -1.0), terms) for k in range(CLASSES)]


def pairs(code: np.ndarray) -> list[SharedProblem]:
    problems = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        mine = np.flatnonzero((code == a) | (code == b))
        terms = Hinge().terms(np.full(len(mine), 5.0))
        problems.append(SharedProblem(np.where(code[mine] == a, 1.0, -1.0), terms, mine))
    return problems


class Solved:
    """Problems after a descent, and how many rows were active when."""

    def __init__(self, X, problems, *, threads=2, most_blocks=10_000) -> None:
        own = problems[0].rows is not None
        memory = int((3 if own else 1) * 8 * BLOCK**2 / SHARE_OF_MEMORY) + 64
        blocks = SharedBlocks(X, KERNEL, threads, memory, seed=0, own_rows=own)
        self.dual, self.margin = ([np.zeros(len(p.label)) for p in problems] for _ in range(2))
        self.active: list[int] = []
        blocks.solve(
            problems,
            self.dual,
            self.margin,
            np.full(len(problems), TOL),
            max_sets=100_000,
            stop=lambda gap: len(self.active) >= most_blocks,
            record=lambda *state: self.active.append(int(blocks.active.sum())),
        )
        self.entries, self.all_active = blocks.entries, bool(blocks.active.all())
        exact = blocks.margins.of(problems, self.dual)
        self.off = max(np.abs(a - b).max() for a, b in zip(exact, self.margin, strict=True))
        self.gaps = [
            certify(p.terms, dual, at).relative_gap
            for p, dual, at in zip(problems, self.dual, exact, strict=True)
        ]


@pytest.mark.parametrize("make", [one_vs_rest, pairs])
def test_fewer_kernel_values_and_the_same_certificate(make, rows, monkeypatch) -> None:
    X, code = rows
    some = Solved(X, make(code))
    assert min(some.active) < 0.8 * N_ROWS
    assert some.all_active
    assert max(some.gaps) <= TOL
    assert some.off < 1e-8
    monkeypatch.setattr(settling, "DISTANCE", np.inf)
    every = Solved(X, make(code))
    assert min(every.active) == N_ROWS
    assert some.entries < 0.8 * every.entries


@pytest.mark.parametrize("make", [one_vs_rest, pairs])
def test_rows_set_aside_by_mistake_are_found(make, rows, monkeypatch) -> None:
    X, code = rows
    monkeypatch.setattr(settling, "DISTANCE", -1.5)
    monkeypatch.setattr(settling, "LARGEST_GAP", 2.0)
    wrong = Solved(X, make(code))
    back = wrong.active.index(N_ROWS, int(np.argmin(wrong.active)))
    assert len(wrong.active) > back + 1  # the check of all rows opened a gap
    assert max(wrong.gaps) <= TOL
    assert wrong.off < 1e-8


def test_margins_are_right_wherever_the_descent_is_stopped(rows) -> None:
    X, code = rows
    whole = Solved(X, one_vs_rest(code)).active
    during = int(np.argmin(whole)) + 1
    stopped = Solved(X, one_vs_rest(code), most_blocks=during)
    assert min(stopped.active) < N_ROWS
    assert stopped.all_active
    assert max(stopped.gaps) > TOL
    assert stopped.off < 1e-8


def test_threads_change_nothing(rows) -> None:
    X, code = rows
    one, two = (Solved(X.astype("f4"), one_vs_rest(code), threads=n) for n in (1, 2))
    assert one.active == two.active
    np.testing.assert_array_equal(one.dual, two.dual)
    np.testing.assert_array_equal(one.margin, two.margin)


def test_a_row_settles_in_all_its_problems_or_not_at_all() -> None:
    label = np.ones(4)
    hinge = SharedProblem(label, Hinge().terms(np.ones(4)))
    odm = SharedProblem(label[:3], MarginDistribution(0.5, 0.5).terms(np.ones(3)), np.arange(3))
    dual = [np.array([0.0, 0.0, 0.1, 0.0]), np.zeros(3)]
    margin = [np.array([1.25, 1.25, 1.25, 1.15]), np.array([1.0, 1.4, 1.0])]
    # The second is near ODM's upper margin, the third has a dual, the fourth is near the hinge.
    np.testing.assert_array_equal(
        settled_rows([hinge, odm], dual, margin, 4), [True, False, False, False]
    )


def test_when_it_is_worth_it() -> None:
    target = np.full(2, 1e-3)
    assert worth_settling(np.array([0.4, 1e-4]), target)
    assert not worth_settling(np.array([0.4, 0.9]), target)
    assert not worth_settling(np.array([0.02, 1e-4]), target)
