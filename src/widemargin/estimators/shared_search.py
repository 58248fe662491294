"""Scores of a path of C on all folds at once, which share the kernel values of their blocks.

For each binary problem, all folds are solved for the smallest C, and from that solution for the
next. The solver also keeps the decisions on rows that a fold leaves out; they give the scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.fit import warn
from ..core.losses import LossTerms
from ..core.progress import FitProgress
from ..core.resources import memory_bytes, thread_count
from ..core.rows import canonical, copies
from ..core.training_set import TrainingSet, class_weights
from ..kernel.all_classes import ALL_CLASSES
from ..kernel.divide.starts import best_on_ray
from ..kernel.kernels import Kernel
from ..kernel.problems import binary_tasks
from ..kernel.solvers.row_groups import SharedProblem
from ..kernel.solvers.shared_blocks import (
    FEWEST_BLOCK_ROWS,
    SharedBlocks,
    leave_out,
    rows_of_block,
)
from ..kernel.solvers.shared_certificates import SAFETY, certified
from .kernel_machine import KernelMachine
from .search_grid import Folds, FoldScores

# Up to this many training rows every model is solved separately, to full precision.
ALONE_ROWS = 2000
# Folds that share blocks; with more, blocks would serve each of them less and take more memory.
FOLDS_TOGETHER = 8
# Working sets of a fold where `max_iter` sets no limit: a fold is only compared with others, and
# nothing but descent solves it.
SETS_OF_A_FOLD = 10_000


def can_share(classifier: Any, folds: Folds) -> bool:
    """Return whether folds may share blocks.

    They may for named kernels without negative eigenvalues, problems on all rows (two classes, or
    one against the rest), every class in every fold, more rows than are worth solving alone, and
    enough memory for blocks. A scorer that the user wrote, or one of
    probabilities, needs more than a model's decisions.
    """
    if not isinstance(classifier, KernelMachine):
        return False
    known = folds.scorer is None or hasattr(folds.scorer, "_score_func")
    if classifier.calibrate is not None:
        return False
    if not known or classifier.solver not in ("auto", "blocks") or callable(classifier.kernel):
        return False
    if classifier.multi_class in ALL_CLASSES:
        return False
    classes = np.unique(folds.y)
    if len(classes) > 2 and classifier._scheme(len(classes)) == "ovo":
        return False
    trained = [folds.trained(k) for k in range(len(folds.splits))]
    if min(len(rows) for rows in trained) <= ALONE_ROWS:
        return False
    if any(len(np.unique(folds.y[rows])) < len(classes) for rows in trained):
        return False
    if rows_of_block(memory_bytes(classifier.memory_limit), 8) < FEWEST_BLOCK_ROWS:
        return False
    kernel = Kernel(classifier.kernel, 1.0, float(classifier.coef0), int(classifier.degree))
    return kernel.positive_semidefinite


class KnownDecisions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose decisions on the rows to score are known already."""

    def __init__(self, classes: NDArray[Any], decisions: Array) -> None:
        self.classes, self.decisions = classes, decisions
        self.classes_ = classes

    def decision_function(self, X: Any) -> Array:
        """Return the known decisions, whatever X is."""
        return self.decisions[:, 0] if len(self.classes) == 2 else self.decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that the decisions imply."""
        if len(self.classes) == 2:
            return np.asarray(self.classes[(self.decisions[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes[np.argmax(self.decisions, axis=1)])


def scores_on_shared_blocks(classifier: Any, Cs: Array, folds: Folds) -> FoldScores:
    """Solve all folds together, one value of C after another."""
    classes, codes = np.unique(folds.y, return_inverse=True)
    tasks = binary_tasks(codes, len(classes), classifier._scheme(len(classes)))
    everything = TrainingSet(folds.X, classes, codes, folds.weight, None, len(codes))
    kernel, rows = classifier._kernel_and_rows(everything)
    threads, memory = thread_count(classifier.n_jobs), memory_bytes(classifier.memory_limit)
    n_folds, seed = len(folds.splits), classifier._seed()
    seconds = np.zeros((len(Cs), n_folds))
    decisions = [np.zeros((len(Cs), len(test), len(tasks))) for _, test in folds.splits]
    gaps: list[float] = []
    for k, task in enumerate(tasks):
        # Copies of a row have one margin and one dual, whichever folds they are in.
        copy, first = copies(canonical(rows), task.label)
        shared = SharedBlocks(rows[first], kernel, threads, memory, seed)
        for together in _groups(n_folds):
            path = _SharedPath(classifier, shared, task.label[first], len(together))
            for f, fold in enumerate(together):
                inside = folds.trained(fold)
                weight = folds.weight[inside]
                training = TrainingSet(None, classes, codes[inside], weight, None, len(codes))
                factor = class_weights(classifier.class_weight, training)
                path.add_rows(f, copy[inside], weight * factor)
            margin, reached = path.solve(Cs)
            seconds[:, together] += path.seconds[:, None] / len(together)
            gaps += reached
            for f, fold in enumerate(together):
                test = folds.splits[fold][1]
                decisions[fold][:, :, k] = margin[:, f, copy[test]] * task.label[test]
    _warn_of_gaps(gaps, classifier)
    result = FoldScores(np.zeros(seconds.shape), seconds, np.zeros(seconds.shape))
    for c, fold in np.ndindex(*seconds.shape):
        began = time.perf_counter()
        result.score[c, fold] = folds.score(KnownDecisions(classes, decisions[fold][c]), fold)
        result.score_seconds[c, fold] = time.perf_counter() - began
    return result


class _SharedPath:
    """One binary problem of some folds, solved for ascending C.

    Attributes
    ----------
    seconds : array of shape (n_Cs,)
        Time that each value of C took, for all folds together.
    """

    def __init__(self, classifier: Any, shared: SharedBlocks, label: Array, n_folds: int) -> None:
        self.classifier, self.shared, self.label = classifier, shared, label
        self.max_sets = SETS_OF_A_FOLD if classifier.max_iter is None else classifier.max_iter
        self.weight = np.zeros((n_folds, len(label)))  # at C = 1

    def add_rows(self, fold: int, rows: NDArray[np.int64], weight: Array) -> None:
        """Add rows to a fold's training set; the weights of a row given twice add up."""
        self.weight[fold] += np.bincount(rows, weight, minlength=self.weight.shape[1])

    def solve(self, Cs: Array) -> tuple[Array, list[float]]:
        """Return the margins of all rows, (n_Cs, n_folds, n_rows), and the relative gaps."""
        shape = (len(Cs), *self.weight.shape)
        dual, margin = np.zeros(shape), np.zeros(shape)
        self.seconds = np.zeros(len(Cs))
        target = np.full(shape[1], SAFETY * self.classifier.tol)
        everything: list[LossTerms] = []
        for c, C in enumerate(Cs):
            began = time.perf_counter()
            terms = self._terms(float(C))
            if c:
                for f, each in enumerate(terms):
                    start = best_on_ray(each, dual[c - 1, f], margin[c - 1, f])
                    dual[c, f], margin[c, f] = start.net_dual, start.margin
            with _watched(self.classifier, f"C={C:g}", *shape[1:]) as stop:
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
        with _watched(self.classifier, "certificates", *duals.shape) as stop:
            proofs, _ = certified(
                self.shared,
                [SharedProblem(self.label, each) for each in everything],
                duals,
                margins,
                self.classifier.tol,
                max_sets=self.max_sets,
                stop=stop,
            )
        self.seconds += (time.perf_counter() - began) / len(Cs)
        return margin, [each.relative_gap for each in proofs]

    def _terms(self, C: float) -> list[LossTerms]:
        loss = self.classifier._loss()
        inside = self.weight > 0
        return [
            leave_out(loss.terms(C * np.where(kept, weight, 1.0)), ~kept)
            for weight, kept in zip(self.weight, inside, strict=True)
        ]


@contextmanager
def _watched(
    classifier: Any, what: str, n_problems: int, n_rows: int
) -> Iterator[Callable[[float], bool]]:
    """Yield a function of the gap after a block, which reports it and returns whether to stop."""
    limit, blocks, began = classifier.max_time, 0, time.perf_counter()
    with FitProgress(f"{type(classifier).__name__}, {what}", classifier.tol) as progress:

        def stop(gap: float) -> bool:
            nonlocal blocks
            blocks += 1
            progress.report(blocks, gap, n_rows, n_rows)
            return limit is not None and time.perf_counter() - began >= limit * n_problems

        yield stop


def _groups(n_folds: int) -> list[list[int]]:
    every = range(n_folds)
    return [list(every[k : k + FOLDS_TOGETHER]) for k in range(0, n_folds, FOLDS_TOGETHER)]


def _warn_of_gaps(gaps: list[float], classifier: Any) -> None:
    """Warn of problems that did not converge."""
    failed = [gap for gap in gaps if not gap <= classifier.tol]
    if failed:
        warn(
            f"{len(failed)} of {len(gaps)} binary problems of the search for gamma="
            f"{classifier.gamma!r} did not converge: largest relative gap {max(failed):.3g}, "
            f"wanted tol={classifier.tol:g}. Raise `max_iter` or `max_time`, leave out the largest "
            "values of C, or loosen `tol`.",
            ConvergenceWarning,
        )
