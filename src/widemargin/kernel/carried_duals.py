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

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.losses import Loss
from ..core.outcome import Certificate
from ..core.rows import as_rows
from .kernels import Kernel
from .problem import Duals
from .problems import REST, BinaryTasks, KernelProblems


@dataclass(frozen=True)
class CertifiedDuals(Duals):
    """Duals of a problem that has not changed, with what was proved of them."""

    certificate: Certificate = field(kw_only=True)


@dataclass(frozen=True)
class SolvedProblems:
    """Binary problems and their solutions."""

    classes: NDArray[Any]  # (n_classes,): sorted labels
    tasks: BinaryTasks  # rows and labels of each problem
    weights: Array  # (n_rows,): weight of each row's loss
    loss: Loss
    duals: list[Duals]  # of each problem; margins None where they are not known
    certificates: list[Certificate]  # of each problem

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
        self, classes: NDArray[Any], problems: KernelProblems, origin: NDArray[np.int64]
    ) -> list[Duals]:
        """Return where to start new problems from.

        ``origin`` has the number that each row had before, −1 for a new one. A problem that did
        not exist before starts from zero; one that is the same as before has its certificate.
        """
        tasks, numbers = problems.tasks, range(len(self.tasks))
        known = {name: k for k in numbers for name in _names(self.classes, self.tasks, k)}
        same = (origin >= 0) & (self.weights[origin] == problems.weights)
        starts: list[Duals] = []
        for k, task in enumerate(tasks):
            rows = np.arange(len(origin)) if task.rows is None else task.rows
            found = [known[name] for name in _names(classes, tasks, k) if name in known]
            if not found:
                starts.append(Duals(np.zeros(len(rows)), np.zeros(len(rows))))
                continue
            old, old_rows = self.duals[found[0]], self.tasks[found[0]].rows
            here = origin[rows] >= 0
            place = origin[rows][here]
            if old_rows is not None:
                place = np.searchsorted(old_rows, place)
            net_dual, margin = np.zeros(len(rows)), np.full(len(rows), np.nan)
            net_dual[here] = old.net_dual[place]
            if old.margin is not None:
                margin[here] = old.margin[place]
            unchanged = same[rows].all() and len(rows) == len(old.net_dual)
            if unchanged and self.loss == problems.loss:
                proof = self.certificates[found[0]]
                starts.append(CertifiedDuals(net_dual, margin, certificate=proof))
            else:
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
