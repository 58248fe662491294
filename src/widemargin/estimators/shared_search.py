"""Scores of a path of C on all folds at once, which share the kernel values of their blocks.

For each binary problem, all folds are solved for the smallest C, and from that solution for the
next. The solver also keeps the decisions on rows that a fold leaves out; they give the scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.fit import warn
from ..core.losses import LossTerms
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import canonical, copies
from ..kernel.all_classes import ALL_CLASSES
from ..kernel.divide.starts import best_on_ray
from ..kernel.kernels import Kernel
from ..kernel.solvers.row_groups import SharedProblem
from ..kernel.solvers.shared_blocks import (
    FEWEST_BLOCK_ROWS,
    SharedBlocks,
    leave_out,
    rows_of_block,
)
from ..kernel.solvers.shared_certificates import SAFETY, certified
from .kernel_machine import KernelMachine
from .kernel_regression import KernelRegressor
from .learnt_on_folds import LearntClasses, LearntTargets
from .search_grid import Folds, FoldScores

# Up to this many training rows every model is solved separately, to full precision.
ALONE_ROWS = 2000
# Folds that share blocks; with more, blocks would serve each of them less and take more memory.
FOLDS_TOGETHER = 8
# Working sets of a fold where `max_iter` sets no limit: a fold is only compared with others, and
# nothing but descent solves it.
SETS_OF_A_FOLD = 10_000


def can_share(machine: Any, folds: Folds) -> bool:
    """Return whether folds may share blocks.

    They may for named kernels without negative eigenvalues, problems on all rows (a regression, two
    classes, or one against the rest), every class in every fold, more rows than are worth solving
    alone, and enough memory for blocks. A scorer that the user wrote, or one of
    probabilities, needs more than a model's decisions.
    """
    if not isinstance(machine, KernelMachine | KernelRegressor):
        return False
    known = folds.scorer is None or hasattr(folds.scorer, "_score_func")
    if not known or machine.solver not in ("auto", "blocks") or callable(machine.kernel):
        return False
    trained = [folds.trained(k) for k in range(len(folds.splits))]
    if min(len(rows) for rows in trained) <= ALONE_ROWS:
        return False
    if isinstance(machine, KernelMachine) and not _classes_can_share(machine, folds.y, trained):
        return False
    if rows_of_block(memory_bytes(machine.memory_limit), 8) < FEWEST_BLOCK_ROWS:
        return False
    kernel = Kernel(machine.kernel, 1.0, float(machine.coef0), int(machine.degree))
    return kernel.positive_semidefinite


def _classes_can_share(
    machine: KernelMachine, y: NDArray[Any], trained: list[NDArray[np.int64]]
) -> bool:
    """Return whether problems are on all rows, and need decisions alone."""
    if machine.calibrate is not None or machine.multi_class in ALL_CLASSES:
        return False
    classes = np.unique(y)
    if len(classes) > 2 and machine._scheme(len(classes)) == "ovo":
        return False
    return all(len(np.unique(y[rows])) == len(classes) for rows in trained)


def scores_on_shared_blocks(machine: Any, Cs: Array, folds: Folds) -> FoldScores:
    """Solve all folds together, one value of C after another."""
    learnt: LearntClasses | LearntTargets
    if isinstance(machine, KernelRegressor):
        learnt = LearntTargets(machine, folds)
    else:
        learnt = LearntClasses(machine, folds)
    tasks = learnt.tasks
    kernel, rows = machine._kernel_and_rows(learnt.everything)
    threads, memory = thread_count(machine.n_jobs), memory_bytes(machine.memory_limit)
    n_folds, seed = len(folds.splits), machine._seed()
    seconds = np.zeros((len(Cs), n_folds))
    decisions = [np.zeros((len(Cs), len(test), len(tasks))) for _, test in folds.splits]
    gaps: list[float] = []
    for k, task in enumerate(tasks):
        # Copies of a row have one margin and one dual, whichever folds they are in.
        copy, first = copies(canonical(rows), learnt.kinds(task))
        shared = SharedBlocks(rows[first], kernel, threads, memory, seed)
        for together in _groups(n_folds):
            path = _SharedPath(machine, shared, task.label[first], len(together))
            middles = []
            for f, fold in enumerate(together):
                inside = folds.trained(fold)
                path.add_rows(f, copy[inside], learnt.weights(inside))
                middles.append(learnt.middle(inside, kernel))
                path.offset[f] = learnt.offset(first, middles[f])
            margin, reached = path.solve(Cs)
            seconds[:, together] += path.seconds[:, None] / len(together)
            gaps += reached
            for f, fold in enumerate(together):
                test = folds.splits[fold][1]
                here = margin[:, f, copy[test]] * task.label[test]
                decisions[fold][:, :, k] = here + middles[f]
    _warn_of_gaps(gaps, machine)
    result = FoldScores(np.zeros(seconds.shape), seconds, np.zeros(seconds.shape))
    for c, fold in np.ndindex(*seconds.shape):
        began = time.perf_counter()
        result.score[c, fold] = folds.score(learnt.known(decisions[fold][c]), fold)
        result.score_seconds[c, fold] = time.perf_counter() - began
    return result


class _SharedPath:
    """One binary problem of some folds, solved for ascending C.

    Attributes
    ----------
    seconds : array of shape (n_Cs,)
        Time that each value of C took, for all folds together.
    """

    def __init__(self, machine: Any, shared: SharedBlocks, label: Array, n_folds: int) -> None:
        self.machine, self.shared, self.label = machine, shared, label
        self.max_sets = SETS_OF_A_FOLD if machine.max_iter is None else machine.max_iter
        self.weight = np.zeros((n_folds, len(label)))  # at C = 1
        self.offset: list[Array | None] = [None] * n_folds  # of the margins, by fold

    def add_rows(self, fold: int, rows: NDArray[np.int64], weight: Array) -> None:
        """Add rows to a fold's training set; the weights of a row given twice add up."""
        self.weight[fold] += np.bincount(rows, weight, minlength=self.weight.shape[1])

    def solve(self, Cs: Array) -> tuple[Array, list[float]]:
        """Return the margins of all rows, (n_Cs, n_folds, n_rows), and the relative gaps."""
        shape = (len(Cs), *self.weight.shape)
        dual, margin = np.zeros(shape), np.zeros(shape)
        self.seconds = np.zeros(len(Cs))
        target = np.full(shape[1], SAFETY * self.machine.tol)
        everything: list[LossTerms] = []
        for c, C in enumerate(Cs):
            began = time.perf_counter()
            terms = self._terms(float(C))
            if c:
                for f, each in enumerate(terms):
                    start = best_on_ray(each, dual[c - 1, f], margin[c - 1, f])
                    dual[c, f], margin[c, f] = start.net_dual, start.margin
            with _watched(self.machine, f"C={C:g}", *shape[1:]) as stop:
                self.shared.solve(
                    [SharedProblem(self.label, each) for each in terms],
                    dual[c],
                    margin[c],
                    target,
                    max_sets=self.max_sets,
                    stop=stop,
                )
            everything += terms
            self.seconds[c] = time.perf_counter() - began
        began = time.perf_counter()
        duals, margins = (values.reshape(-1, shape[2]) for values in (dual, margin))
        with _watched(self.machine, "certificates", *duals.shape) as stop:
            proofs, _ = certified(
                self.shared,
                [SharedProblem(self.label, each) for each in everything],
                duals,
                margins,
                self.machine.tol,
                max_sets=self.max_sets,
                stop=stop,
            )
        self.seconds += (time.perf_counter() - began) / len(Cs)
        return margin, [each.relative_gap for each in proofs]

    def _terms(self, C: float) -> list[LossTerms]:
        loss = self.machine._loss()
        inside = self.weight > 0
        return [
            replace(leave_out(loss.terms(C * np.where(kept, weight, 1.0)), ~kept), offset=offset)
            for weight, kept, offset in zip(self.weight, inside, self.offset, strict=True)
        ]


@contextmanager
def _watched(
    machine: Any, what: str, n_problems: int, n_rows: int
) -> Iterator[Callable[[float], bool]]:
    """Yield a function of the gap after a block, which reports it and returns whether to stop."""
    limit, blocks, began = machine.max_time, 0, time.perf_counter()
    with FitProgress(f"{type(machine).__name__}, {what}", machine.tol) as progress:

        def stop(gap: float) -> bool:
            nonlocal blocks
            blocks += 1
            progress.report(blocks, gap, n_rows, n_rows)
            return limit is not None and time.perf_counter() - began >= limit * n_problems

        yield stop


def _groups(n_folds: int) -> list[list[int]]:
    every = range(n_folds)
    return [list(every[k : k + FOLDS_TOGETHER]) for k in range(0, n_folds, FOLDS_TOGETHER)]


def _warn_of_gaps(gaps: list[float], machine: Any) -> None:
    """Warn of problems that did not converge."""
    failed = [gap for gap in gaps if not gap <= machine.tol]
    if failed:
        warn(
            f"{len(failed)} of {len(gaps)} problems of the search for gamma="
            f"{machine.gamma!r} did not converge: largest relative gap {max(failed):.3g}, "
            f"wanted tol={machine.tol:g}. Raise `max_iter` or `max_time`, leave out the largest "
            "values of C, or loosen `tol`.",
            ConvergenceWarning,
        )
