r"""Duals and margins of solved problems, carried over to a training set of which some rows changed.

A row that leaves takes its dual with it, and the margins of the others lose its share,
:math:`m_i \leftarrow m_i - \sum_{r \text{ gone}} Q_{ir} \gamma_r`: one kernel value for each row
that stays and each support vector that leaves. A row that comes has no dual yet, and those of the
others keep their margins. Its own margin costs one kernel value for each support vector, and is
left to the solver: NaN stands for it here.

Problems are found again by their classes, because classes may come and go. Turning the labels of a
problem round changes neither its net duals nor its margins, so that the one problem of two classes
is the same as that of their pair, and as that of either of them against the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.rows import as_rows
from .kernels import Kernel
from .problem import Duals
from .problems import REST, BinaryTasks


@dataclass(frozen=True)
class SolvedProblems:
    """Binary problems and their solutions."""

    classes: NDArray[Any]  # (n_classes,): sorted labels
    tasks: BinaryTasks  # rows and labels of each problem
    duals: list[Duals]  # of each problem; margins None where they are not known

    def without(
        self, gone: NDArray[np.int64], kernel: Kernel, rows: Any, threads: int
    ) -> SolvedProblems:
        """Take the duals of some rows away, and what they add to the margins of the others.

        ``rows`` are all rows as the kernel sees them. The rows that go stay in the problems, with
        a dual of zero.
        """
        n, leaving = len(self.tasks.codes), np.zeros(len(self.tasks.codes), dtype=np.bool_)
        leaving[gone] = True
        coef = np.zeros((len(self.tasks), len(gone)))
        place = np.full(n, -1)
        place[gone] = np.arange(len(gone))
        for k, (task, each) in enumerate(zip(self.tasks, self.duals, strict=True)):
            own = np.arange(n) if task.rows is None else task.rows
            here = np.flatnonzero(leaving[own])
            coef[k, place[own[here]]] = (each.net_dual * task.label)[here]
        support = np.flatnonzero(coef.any(axis=0))
        sums = None
        if len(support) and any(each.margin is not None for each in self.duals):
            view = as_rows(rows)
            sums = kernel.product(view, view, coef[:, support], gone[support], threads)
        duals = []
        for k, (task, each) in enumerate(zip(self.tasks, self.duals, strict=True)):
            mine = slice(None) if task.rows is None else task.rows
            margin = each.margin
            if margin is not None and sums is not None:
                margin = margin - task.label * sums[k][mine]
            duals.append(Duals(np.where(leaving[mine], 0.0, each.net_dual), margin))
        return replace(self, duals=duals)

    def carried_to(
        self, classes: NDArray[Any], tasks: BinaryTasks, origin: NDArray[np.int64]
    ) -> list[Duals]:
        """Return where to start new problems from.

        ``origin`` has the number that each row had before, −1 for a new one. A problem that did
        not exist before starts from zero.
        """
        known = {
            name: k for k in range(len(self.tasks)) for name in _names(self.classes, self.tasks, k)
        }
        old_rows = [
            np.arange(len(self.tasks.codes)) if each.rows is None else each.rows
            for each in self.tasks
        ]
        starts = []
        for k, task in enumerate(tasks):
            came = origin if task.rows is None else origin[task.rows]
            found = [known[name] for name in _names(classes, tasks, k) if name in known]
            if not found:
                starts.append(Duals(np.zeros(len(came)), np.zeros(len(came))))
                continue
            old, here = self.duals[found[0]], came >= 0
            place = np.searchsorted(old_rows[found[0]], came[here])
            net_dual, margin = np.zeros(len(came)), np.full(len(came), np.nan)
            net_dual[here] = old.net_dual[place]
            if old.margin is not None:
                margin[here] = old.margin[place]
            starts.append(Duals(net_dual, margin))
        return starts


def _names(classes: NDArray[Any], tasks: BinaryTasks, k: int) -> list[frozenset[Any]]:
    """Return what a problem may be called: a class against the rest, or a pair of classes."""
    one = classes[tasks.positive[k]].item()
    if tasks.negative[k] != REST:
        return [frozenset((one, classes[tasks.negative[k]].item()))]
    if len(classes) > 2:
        return [frozenset((one,))]
    both = classes.tolist()
    return [frozenset(both), *(frozenset((each,)) for each in both)]
