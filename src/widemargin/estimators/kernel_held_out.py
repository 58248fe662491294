"""Held-out decisions of a kernel machine: all folds at once, on shared kernel values.

The folds of a binary problem differ in the rows they leave out only, and solvers keep the decisions
on those up to date: :mod:`~widemargin.kernel.solvers.small_problems` for all problems of a small
training set on its kernel matrix, :mod:`~widemargin.kernel.solvers.shared_blocks` for one problem
after another of a larger one; those on the same rows also share the block. The kernel, with its
width, is that of the whole training set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import warn
from ..core.losses import Loss, LossTerms
from ..core.rows import as_rows, take_rows
from ..kernel.all_classes import AllClassesProblem
from ..kernel.divide.starts import best_on_ray
from ..kernel.problems import REST, KernelProblems, binary_tasks
from ..kernel.small_fit import is_small
from ..kernel.solvers.row_groups import SharedProblem
from ..kernel.solvers.shared_blocks import (
    FEWEST_BLOCK_ROWS,
    SharedBlocks,
    gap_shares,
    leave_out,
    rows_of_block,
)
from ..kernel.solvers.small_problems import MOST_SHARED_ROWS, decide_folds, threads_for
from .held_out import FoldedRows, HeldOut

# Rows to train on, and rows left out.
Split: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

# Relative gap of a fold's model, unless `tol` is larger. On six generated sets of 300 to 4,000 rows
# and 2 to 10 classes, 1e-3 instead changed the log loss by at most 0.3 %.
FOLD_GAP = 1e-2
# From this many rows on, folds start from the solution of the whole set; below, from zero, so that
# rounding in that solution cannot show.
WARM_ROWS = 1000
# Starting threads costs more than problems of fewer rows.
THREADED_ROWS = 500


def scheme_of(problems: KernelProblems | AllClassesProblem) -> str:
    """Return what the columns of decisions are."""
    if isinstance(problems, AllClassesProblem):
        return "margins"
    if len(problems) == 1:
        return "binary"
    return "rest" if problems.tasks[0].rows is None else "pairs"


def can_share(problems: KernelProblems, budget: Budget) -> bool:
    """Return whether the folds of these problems may share blocks.

    They may for kernels without negative eigenvalues, and enough memory for blocks.
    """
    enough = rows_of_block(budget.memory, 8) >= FEWEST_BLOCK_ROWS
    return enough and problems.kernel.positive_semidefinite


def held_out_decisions(
    machine: Any, folded: FoldedRows, problems: KernelProblems, coef: Array, budget: Budget
) -> HeldOut:
    """Return the decisions on every row by models that were not trained on it.

    Parameters
    ----------
    machine : KernelMachine
        The classifier.
    folded : FoldedRows
        Its training rows.
    problems : KernelProblems
        Its binary problems.
    coef : array of shape (n_problems, n_training_rows)
        Their solutions.
    budget : Budget
        Time, memory and threads for all of it.
    """
    training = folded.training
    n, n_classes = len(training.codes), len(training.classes)
    splits = list(folded.splits())
    weight = np.zeros((len(splits), n))
    for f, (inside, _) in enumerate(splits):
        weight[f, inside] = machine._loss_weights(folded.some(inside))
    schemes = {"binary": "ovr", "rest": "ovr", "pairs": "ovo"}
    tasks = binary_tasks(training.codes, n_classes, schemes[scheme_of(problems)])
    rows = take_rows(problems.rows, folded.first, pairwise=False)
    # "scale" depends on the order of the rows by rounding, and a descent that stops early could
    # show it.
    kernel = replace(problems.kernel, gamma=float(np.float32(problems.kernel.gamma)))
    posed = KernelProblems(tasks, kernel, rows, training.weights, problems.loss)
    start = np.array([np.bincount(folded.merged, each, minlength=n) for each in coef])
    wanted = max(FOLD_GAP, machine.tol)
    decisions, gaps = _decisions_of_small(posed, weight, splits, start, wanted, budget)
    if not decisions.size or not (np.all(gaps <= wanted) or budget.out_of_time):
        decisions, gaps = _decisions_by_blocks(posed, weight, splits, start, wanted, budget)
    _warn_of_gaps(gaps, wanted, machine)
    known = np.flatnonzero(~np.all(weight > 0, axis=0))  # left out by a fold
    return HeldOut(training.codes[known], training.weights[known], decisions[known])


def _decisions_of_small(
    problems: KernelProblems,
    weight: Array,
    splits: Sequence[Split],
    start: Array,
    wanted: float,
    budget: Budget,
) -> tuple[Array, Array]:
    """Return decisions and gaps of all problems on one kernel matrix; a NaN if it is too large."""
    if not splits or not is_small(
        problems, "auto", replace(budget, tol=wanted), MOST_SHARED_ROWS, one_matrix=True
    ):
        return np.empty(0), np.array([np.nan])
    n, order = problems.n_rows, problems.tasks.by_class
    left_out = np.full(n, -1)
    for f, (_, out) in enumerate(splits):
        left_out[out] = f
    warm = n if problems.tasks.negative[0] == REST else problems.tasks.most_rows
    sorted_decisions, gaps = decide_folds(
        problems.matrix(threads_for(n, budget)),
        problems.kernel.diagonal(as_rows(problems.rows, np.float64))[order],
        problems.tasks.codes[order],
        left_out[order],
        [each.at(order) for each in _terms_of_folds(problems.loss, weight)],
        problems.tasks.positive,
        problems.tasks.negative,
        np.ascontiguousarray(start[:, order]) if warm >= WARM_ROWS else np.zeros_like(start),
        wanted,
        budget,
    )
    decisions = np.empty_like(sorted_decisions)
    decisions[order] = sorted_decisions
    return decisions, gaps.ravel()


def _decisions_by_blocks(
    problems: KernelProblems,
    weight: Array,
    splits: Sequence[Split],
    start: Array,
    wanted: float,
    budget: Budget,
) -> tuple[Array, Array]:
    """Return decisions and gaps of one problem after another, its folds on shared blocks."""
    n, tasks, rows = problems.n_rows, problems.tasks, problems.rows
    decisions = np.zeros((n, len(tasks)))
    gaps: list[float] = []
    shared: SharedBlocks | None = None
    for k, task in enumerate(tasks):
        if shared is None or task.rows is not None:
            mine = take_rows(rows, task.rows, pairwise=False)
            threads = 1 if mine.shape[0] < THREADED_ROWS else budget.threads
            shared = SharedBlocks(mine, problems.kernel, threads, budget.memory, budget.seed)
        among = np.arange(n) if task.rows is None else task.rows
        folds = _Folds(
            shared, task.label, problems.loss, weight[:, among], budget.share(k, len(tasks))
        )
        begin = start[k, among] * task.label if among.size >= WARM_ROWS else None
        margin = folds.margins(begin, wanted)
        gaps += folds.gaps
        place = np.full(n, -1)
        place[among] = np.arange(among.size)
        for f, (_, out) in enumerate(splits):
            out = out[place[out] >= 0]
            decisions[out, k] = (margin[f] * task.label)[place[out]]
    return decisions, np.array(gaps)


class _Folds:
    """The folds of one binary problem."""

    def __init__(
        self, shared: SharedBlocks, label: Array, loss: Loss, weight: Array, budget: Budget
    ) -> None:
        self.shared, self.label, self.loss = shared, label, loss
        self.weight, self.budget = weight, budget
        self.gaps: list[float] = []

    def margins(self, start: Array | None, wanted: float) -> Array:
        """Return the margins of all rows in every fold, (n_folds, n_rows)."""
        terms = _terms_of_folds(self.loss, self.weight)
        dual, margin = np.zeros(self.weight.shape), np.zeros(self.weight.shape)
        if start is not None and start.any():
            self._start(terms, start, dual, margin)
        target = np.full(len(terms), wanted)
        budget = self.budget
        self.shared.solve(
            [SharedProblem(self.label, each) for each in terms],
            dual,
            margin,
            target,
            max_sets=budget.max_iter,
            stop=lambda gap: budget.out_of_time,
        )
        for each in zip(terms, dual, margin, strict=True):
            share, primal = gap_shares(*each)
            self.gaps.append(float(share.sum()) / max(primal, 1e-300))
        return margin

    def _start(self, terms: list[LossTerms], start: Array, dual: Array, margin: Array) -> None:
        """Start from the duals of the whole set without those of the rows left out."""
        for f, each in enumerate(terms):
            dual[f] = np.where(self.weight[f] > 0, each.nearest(start), 0.0)
        problems = [SharedProblem(self.label, each) for each in terms]
        for f, at in enumerate(self.shared.margins.of(problems, dual, single=True)):
            best = best_on_ray(terms[f], dual[f], at)
            dual[f], margin[f] = best.net_dual, best.margin


def _terms_of_folds(loss: Loss, weight: Array) -> list[LossTerms]:
    """Return the loss of each fold, in which rows of weight 0 are left out."""
    return [leave_out(loss.terms(np.where(each > 0, each, 1.0)), each == 0) for each in weight]


def _warn_of_gaps(gaps: Array, wanted: float, machine: Any) -> None:
    failed = gaps[~(gaps <= wanted)]
    if failed.size:
        warn(
            f"The probabilities of {type(machine).__name__} come from models that did not "
            f"converge, {len(failed)} of {len(gaps)}: largest relative gap {failed.max():.3g}, "
            f"wanted {wanted:g}. Raise `max_time` or `max_iter`, or lower `C`.",
            ConvergenceWarning,
        )
