r"""Small problems that share their rows: one kernel matrix, one call for all of them.

The binary problems of a small training set are solved faster than Python can pose them one by one.
So the kernel matrix of all rows is computed once, in float64, for all values of ``C``, and
``native/kernel/small_problems.hpp`` solves every problem on it by the coordinate descent of
:mod:`.block_descent`, each problem as one block. Problems are solved to ``tol`` and no further,
but for sets of at most ``EXACT_ROWS`` rows, which are solved to rounding.

Stops when :math:`(P - D) / P \le` ``tol`` for every problem, certified in float64: kernel values,
duals and margins are float64, and margins are kept up to date by adding the changes, which leaves
rounding of about 1e-14. Problems whose gap is still larger after ``SETS`` working sets (a large
``C``, an ill-conditioned kernel) are for the solvers of single problems to finish.

Pairs of classes of a larger set have no matrix of all rows. That of each class is kept, a pair
evaluates the values between its two classes, and so each value is still computed once.

Memory is :math:`8 M^2` bytes (of pairs of a larger set, that of single classes), and for each
thread the same of a problem's rows where problems have rows of their own. For :math:`M = 1000` rows
of 20 features the matrix takes 0.9 ms, a problem on all rows 0.9 (hinge) to 1.1 ms (ODM).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.budget import Budget
from ...core.losses import LossTerms
from ...core.outcome import Certificate, Outcome
from .block_descent import WORKING_SET_OF_FEW_ROWS

# Beyond this many rows of a problem its matrix no longer fits into the processor's cache, and a
# hinge needs few of its rows.
MOST_ROWS = 2048
# Pairs of classes need the values between all rows of different classes, each once.
MOST_SHARED_ROWS = 6144
# Rows of a pair where a kernel value is costly, as `EXPENSIVE_ROW` says: each is evaluated once, in
# float64, where the descent on a pair evaluates most of its values, and those within a class anew.
MOST_COSTLY_ROWS = 4096
# Training sets of at most this many rows are solved to rounding, so that equal problems written
# differently (a weight of two, or the row twice) give equal models. That takes four to five times
# as long as a gap of 1e-3: nothing beside the rest of a fit of so few rows.
EXACT_ROWS = 99
# Problems with at most this many rows are one working set: with 300 to 400 rows that took 0.7 to 1
# times the time of smaller sets.
WHOLE_SET = 400
# Working sets for each problem; usual are 2 to 30. One that needs more is ill-conditioned.
SETS = 100
# A gap that is asked for must be larger than the rounding of margins that were kept up to date.
LEAST_GAP = 1e-9
# Seed of what decides between rows that violate alike; fixed, as solutions differ within ``tol``
# only, and a small fit is to give the same model every time.
TIE_BREAKS = 0
# Below this many rows a thread costs more than it saves.
FEWEST_ROWS_FOR_THREADS = 1000


def least_memory(kept: int, largest: int, threads: int) -> int:
    """Return the bytes that kernel matrices take at most.

    These are ``kept`` values (of all rows, or within single classes), and for each thread a matrix
    of as many rows as the largest problem.
    """
    return 8 * (kept + threads * largest**2)


def threads_for(n_rows: int, budget: Budget) -> int:
    """Return the number of threads that are worth their cost."""
    return budget.threads if n_rows >= FEWEST_ROWS_FOR_THREADS else 1


def decide_folds(
    matrix: Array,
    diagonal: Array,
    codes: NDArray[np.int64],
    out: NDArray[np.int64],
    folds: list[LossTerms],
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
    coef: Array,
    relative_gap: float,
    budget: Budget,
) -> tuple[Array, Array]:
    """Solve all problems once for each fold that is left out.

    Parameters
    ----------
    matrix, diagonal : array of shape (n_rows, n_rows) and (n_rows,)
        Kernel values.
    codes, out : array of shape (n_rows,)
        The class of each row, and the fold that leaves it out, or a number that none has.
    folds : list of LossTerms
        Losses of all rows in each fold, those left out without weight.
    positive, negative : array of shape (n_problems,)
        Classes, as of :class:`SmallProblems`.
    coef : array of shape (n_problems, n_rows)
        Coefficients to start from.

    Returns
    -------
    decisions : array of shape (n_rows, n_problems)
        Those on each row by the models that left it out; 0 for rows of other classes.
    gaps : array of shape (n_problems, n_folds)
        Relative gaps, NaN where time ran out.
    """
    return _native.decide_small_folds(
        matrix,
        diagonal,
        codes,
        out,
        folds[0].lower_margin,
        folds[0].upper_margin,
        np.array([each.below for each in folds]),
        np.array([each.above for each in folds]),
        np.array([each.bound for each in folds]),
        np.array([each.floor for each in folds]),
        positive,
        negative,
        coef,
        relative_gap=relative_gap,
        sets=min(SETS, budget.max_iter),
        working_set=WORKING_SET_OF_FEW_ROWS,
        whole_set=WHOLE_SET,
        threads=threads_for(len(codes), budget),
        seed=TIE_BREAKS,
        stop=lambda: budget.out_of_time,
    )


@dataclass
class SmallProblems:
    """Binary problems on some of the same rows, and their solutions."""

    codes: NDArray[np.int64]  # (n_rows,): class of each row
    order: NDArray[np.int64]  # (n_rows,): the rows as they are in the kernel matrix
    terms: LossTerms  # of all rows
    positive: NDArray[np.int64]  # (n_problems,): class of label +1
    negative: NDArray[np.int64]  # (n_problems,): class of label −1; −1 is all others
    coef: Array  # (n_problems, n_rows): coefficients, from the start to the solution
    # (n_problems,): objectives of the solutions, working sets that they took, and their rows.
    primal: Array = field(init=False)
    dual: Array = field(init=False)
    sets: NDArray[np.int64] = field(init=False)
    sizes: NDArray[np.int64] = field(init=False)
    # (n_problems,): whether they are solved to ``tol``, or to rounding if there are few rows.
    finished: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.positive)
        self.primal, self.dual = np.full(count, np.nan), np.full(count, np.nan)
        self.sets = self.sizes = np.zeros(count, dtype=np.int64)
        self.finished = np.zeros(count, dtype=np.bool_)

    def solve(
        self,
        matrix: Array | None,
        diagonal: Array,
        budget: Budget,
        points: _native.Rows64 | None = None,
        spec: _native.KernelSpec | None = None,
    ) -> None:
        """Solve all problems; an interrupt leaves in ``coef`` what was found by then.

        ``matrix`` has the rows in ``order``, ``diagonal`` in their own order. Pairs of classes
        need no matrix: ``points`` are the rows in their own order, and ``spec`` the kernel that is
        evaluated.
        """
        order = self.order
        terms = self.terms.at(order)
        coef = np.ascontiguousarray(self.coef[:, order])
        try:
            results = _native.solve_small_problems(
                matrix,
                diagonal[order],
                self.codes[order],
                terms.lower_margin,
                terms.upper_margin,
                terms.below,
                terms.above,
                terms.bound,
                terms.floor,
                self.positive,
                self.negative,
                coef,
                relative_gap=budget.tol,
                last_digits=len(self.codes) <= EXACT_ROWS,
                sets=min(SETS, budget.max_iter),
                working_set=WORKING_SET_OF_FEW_ROWS,
                whole_set=WHOLE_SET,
                threads=threads_for(len(self.codes), budget),
                seed=TIE_BREAKS,
                stop=lambda: budget.out_of_time,
                points=points,
                spec=spec,
                order=None if points is None else order,
            )
        finally:
            self.coef[:, order] = coef
        self.primal, self.dual, self.sets, self.sizes, self.finished = results

    @property
    def gap(self) -> Array:
        """P − D of every problem; rounding below zero counts as zero."""
        return np.where(self.primal < self.dual, 0.0, self.primal - self.dual)

    @property
    def relative_gap(self) -> Array:
        """(P − D) / P of every problem; NaN where it was not reached."""
        return self.gap / np.where(self.primal == 0, 1.0, self.primal)

    def certificate(self, k: int) -> Certificate:
        """Return the objectives of one problem."""
        return Certificate(float(self.primal[k]), float(self.dual[k]))

    def outcome(self, k: int, budget: Budget) -> Outcome:
        """Return how one problem ended."""
        if self.relative_gap[k] <= budget.tol:
            return Outcome.CONVERGED
        if self.sets[k] >= budget.max_iter:
            return Outcome.ITERATIONS
        return Outcome.TIME if budget.out_of_time else Outcome.STALLED

    def record(self, seconds: float) -> list[dict[str, Any]]:
        """Return one row of the history for every problem, about its solution."""
        names = ("problem", "iteration", "primal", "dual", "relative_gap", "active_rows")
        columns = (self.sets, self.primal, self.dual, self.relative_gap, self.sizes)
        values = (range(len(self.sets)), *(column.tolist() for column in columns))
        return [
            dict(zip(names, row, strict=True), seconds=seconds, passes=1.0, rows=row[-1])
            for row in zip(*values, strict=True)
        ]
