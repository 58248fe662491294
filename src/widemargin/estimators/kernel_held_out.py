"""Held-out decisions of a kernel machine: all folds at once, on shared blocks of kernel values.

The folds of a binary problem differ in the rows they leave out only, and the solver of
:mod:`~widemargin.kernel.solvers.shared_blocks` keeps the decisions on those up to date. The kernel,
with its width, is that of the whole training set. Problems on the same rows also share the block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import warn
from ..core.losses import LossTerms
from ..core.rows import take_rows
from ..kernel.divide.starts import best_on_ray
from ..kernel.problems import KernelProblems, binary_tasks
from ..kernel.solvers.shared_blocks import (
    FEWEST_BLOCK_ROWS,
    SharedBlocks,
    gap_shares,
    leave_out,
    rows_of_block,
)
from .held_out import FoldedRows, HeldOut

# Relative gap of a fold's model, unless `tol` is larger. On six generated sets of 300 to 4,000 rows
# and 2 to 10 classes, 1e-3 instead changed the log loss by at most 0.3 %.
FOLD_GAP = 1e-2
# From this many rows on, folds start from the solution of the whole set; below, from zero, so that
# rounding in that solution cannot show.
WARM_ROWS = 1000
# Starting threads costs more than problems of fewer rows.
THREADED_ROWS = 500


def scheme_of(problems: KernelProblems) -> str:
    """Return what the columns of decisions are."""
    if len(problems) == 1:
        return "binary"
    return "rest" if problems.tasks[0].rows is None else "pairs"


def can_share(problems: KernelProblems, budget: Budget) -> bool:
    """Return whether the folds of these problems may share blocks.

    They may for kernels without negative eigenvalues, and enough memory for blocks.
    """
    enough = rows_of_block(budget.memory, 8) >= FEWEST_BLOCK_ROWS
    return enough and problems.kernel.positive_semidefinite


def decisions_on_shared_blocks(
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
    decisions = np.zeros((n, len(tasks)))
    gaps: list[float] = []
    shared: SharedBlocks | None = None
    for k, task in enumerate(tasks):
        if shared is None or task.rows is not None:
            mine = take_rows(rows, task.rows, pairwise=False)
            threads = 1 if mine.shape[0] < THREADED_ROWS else budget.threads
            shared = SharedBlocks(mine, kernel, task.label, threads, budget.memory, budget.seed)
        else:
            shared.label = task.label
        among = np.arange(n) if task.rows is None else task.rows
        start = np.bincount(folded.merged, coef[k], minlength=n)[among] * task.label
        folds = _Folds(shared, problems, weight[:, among], budget.share(k, len(tasks)))
        margin = folds.margins(start if among.size >= WARM_ROWS else None, machine)
        gaps += folds.gaps
        place = np.full(n, -1)
        place[among] = np.arange(among.size)
        for f, (_, out) in enumerate(splits):
            out = out[place[out] >= 0]
            decisions[out, k] = (margin[f] * task.label)[place[out]]
    _warn_of_gaps(gaps, max(FOLD_GAP, machine.tol), machine)
    known = np.flatnonzero(~np.all(weight > 0, axis=0))  # left out by a fold
    return HeldOut(training.codes[known], training.weights[known], decisions[known])


class _Folds:
    """The folds of one binary problem."""

    def __init__(
        self, shared: SharedBlocks, problems: KernelProblems, weight: Array, budget: Budget
    ) -> None:
        self.shared, self.problems, self.weight, self.budget = shared, problems, weight, budget
        self.gaps: list[float] = []

    def margins(self, start: Array | None, machine: Any) -> Array:
        """Return the margins of all rows in every fold, (n_folds, n_rows)."""
        terms = self._terms()
        dual, margin = np.zeros(self.weight.shape), np.zeros(self.weight.shape)
        if start is not None and start.any():
            self._start(terms, start, dual, margin)
        target = np.full(len(terms), max(FOLD_GAP, machine.tol))
        budget = self.budget
        self.shared.solve(
            terms,
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

    def _terms(self) -> list[LossTerms]:
        loss = self.problems.loss
        return [
            leave_out(loss.terms(np.where(each > 0, each, 1.0)), each == 0) for each in self.weight
        ]

    def _start(self, terms: list[LossTerms], start: Array, dual: Array, margin: Array) -> None:
        """Start from the duals of the whole set without those of the rows left out."""
        shared = self.shared
        for f, each in enumerate(terms):
            dual[f] = np.where(self.weight[f] > 0, each.nearest(start), 0.0)
        support = np.flatnonzero(dual.any(axis=0))
        coef = dual[:, support] * shared.label[support]
        sums = shared.kernel.product(shared.rows, shared.rows, coef, support, shared.threads)
        for f, each in enumerate(terms):
            best = best_on_ray(each, dual[f], sums[f] * shared.label)
            dual[f], margin[f] = best.net_dual, best.margin


def _warn_of_gaps(gaps: list[float], wanted: float, machine: Any) -> None:
    failed = [gap for gap in gaps if not gap <= wanted]
    if failed:
        warn(
            f"The probabilities of {type(machine).__name__} come from models that did not "
            f"converge, {len(failed)} of {len(gaps)}: largest relative gap {max(failed):.3g}, "
            f"wanted {wanted:g}. Raise `max_time` or `max_iter`, or lower `C`.",
            ConvergenceWarning,
        )
