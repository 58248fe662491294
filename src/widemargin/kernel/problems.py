"""The binary problems of a kernel machine, and the fit that solves them undivided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import FEWEST_AT_ONCE, Fit, warn
from ..core.history import History
from ..core.losses import Loss
from ..core.outcome import Solution
from ..core.rows import as_rows, take_rows
from ..engines import LocalEngine
from .divide.starts import best_multiple
from .kernels import Kernel
from .one_class import one_class_problem
from .problem import Duals, KernelProblem
from .samples import Samples
from .solvers.binary import choose, solve_binary
from .solvers.block_descent import EXPENSIVE_ROW, stored_per_row

# Several problems of up to this many rows are solved at the same time, each on one thread, which
# wastes less than one after another on all threads.
LARGEST_AT_ONCE = 50_000
# The kernel matrix of up to so many rows is evaluated as a whole, that of more by half. Of 16
# features, in processor milliseconds: 2,000 rows 3.3 and 3.9, 6,000 rows 163 and 49.
FEW_ROWS = 2500
# In place of a class: all rows that are not of the other one.
REST = -1


@dataclass(frozen=True)
class BinaryTask:
    """The rows of a binary problem and their labels."""

    rows: NDArray[np.int64] | None  # the rows that take part; None means all
    label: Array  # +1.0 or −1.0 for each of them


@dataclass(frozen=True)
class BinaryTasks:
    """The binary problems of a classification, each made when it is asked for."""

    codes: NDArray[np.int64]  # (n_rows,): class of each row
    positive: NDArray[np.int64]  # (n_problems,): the class of label +1
    negative: NDArray[np.int64]  # (n_problems,): the class of label −1; ``REST`` is all others

    def __len__(self) -> int:
        return len(self.positive)

    def __getitem__(self, k: int) -> BinaryTask:
        positive, negative = self.positive[k], self.negative[k]
        if negative == REST:
            return BinaryTask(None, np.where(self.codes == positive, 1.0, -1.0))
        rows = np.flatnonzero((self.codes == positive) | (self.codes == negative))
        return BinaryTask(rows, np.where(self.codes[rows] == positive, 1.0, -1.0))

    def __iter__(self) -> Iterator[BinaryTask]:
        return (self[k] for k in range(len(self)))

    @property
    def by_class(self) -> NDArray[np.int64]:
        """The rows, those of a class side by side if problems have rows of some classes only."""
        if not self.pairs:
            return np.arange(len(self.codes))
        return np.argsort(self.codes, kind="stable")

    @property
    def pairs(self) -> bool:
        """Whether every problem has the rows of two classes alone."""
        return bool((self.negative != REST).all())

    @property
    def most_rows(self) -> int:
        """Number of rows of the largest problem."""
        if not self.pairs:
            return len(self.codes)
        of_class = np.bincount(self.codes)
        return int((of_class[self.positive] + of_class[self.negative]).max())


def binary_tasks(codes: NDArray[np.int64], n_classes: int, scheme: str) -> BinaryTasks:
    """Split a classification into binary problems.

    Two classes are one problem, the second class positive. One-vs-rest gives a problem per class,
    one-vs-one a problem per pair ``(i, j)``, i < j in lexicographic order, class i positive as in
    scikit-learn.
    """
    if n_classes == 2:
        return BinaryTasks(codes, np.array([1]), np.array([REST]))
    if scheme == "ovr":
        return BinaryTasks(codes, np.arange(n_classes), np.full(n_classes, REST))
    return BinaryTasks(codes, *np.triu_indices(n_classes, 1))


def one_task(n_rows: int) -> BinaryTasks:
    """Return the one problem of a regression or of one class: all rows, with label +1."""
    return BinaryTasks(np.zeros(n_rows, dtype=np.int64), np.array([0]), np.array([REST]))


@dataclass(frozen=True)
class KernelProblems:
    """All binary problems of a fit, or the one of a regression or of one class."""

    tasks: BinaryTasks  # rows and labels of each problem
    kernel: Kernel
    rows: Any  # training rows as the kernel sees them
    weights: Array  # (n_rows,): weight of each row's loss
    loss: Loss
    previous: Array | None = None  # (n_problems, n_rows): coefficients to start from
    target: Array | None = None  # (n_rows,): targets of a regression
    nu: float | None = None  # share of outliers of a one-class problem
    # What problems of other weights share: clusters and groups of rows, and the kernel matrix of a
    # small set.
    _clusters: list[tuple[Any, Any]] = field(default_factory=list, repr=False)
    _grouped: list[tuple[Any, Any]] = field(default_factory=list, repr=False)
    _matrix: list[Array] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.weights)

    def rows_of(self, k: int) -> NDArray[np.int64]:
        """Return the training rows that take part in a problem."""
        rows = self.tasks[k].rows
        return np.arange(self.n_rows) if rows is None else rows

    def matrix(self, threads: int) -> Array:
        """Return the kernel matrix of all rows in float64, the rows of a class side by side."""
        if not self._matrix:
            rows, order = as_rows(self.rows, np.float64), self.tasks.by_class
            # Of few rows with few features, values are evaluated as fast as they are copied.
            many = self.n_rows > FEW_ROWS or stored_per_row(self.rows) >= EXPENSIVE_ROW
            if many and self.kernel.name != "precomputed":
                self._matrix.append(self.kernel.matrix(rows, order, threads))
            else:
                self._matrix.append(self.kernel.block(rows, rows, order, order, threads))
        return self._matrix[0]

    def samples(self, k: int) -> Samples:
        """Return the training set of a problem."""
        label = np.zeros(self.n_rows)
        label[self.rows_of(k)] = self.tasks[k].label
        everything = Samples(
            self.rows,
            self.kernel,
            label,
            self.weights,
            self.loss,
            target=self.target,
            nu=self.nu,
        )
        return everything.take(self.rows_of(k))

    def problem(self, k: int, threads: int) -> KernelProblem:
        """Pose a problem as a whole; problems on the same rows share their clusters."""
        rows, label = self.tasks[k].rows, self.tasks[k].label
        X = take_rows(self.rows, rows, self.kernel.name == "precomputed")
        if self.nu is not None:
            return one_class_problem(X, self.kernel, self.weights, self.nu, threads)
        terms = replace(self.loss.terms(self.weights), offset=self.target)
        terms = terms if rows is None else terms.at(rows)
        return KernelProblem(
            X,
            self.kernel,
            label,
            terms,
            threads,
            clusters=self._clusters,
            grouped=self._grouped if rows is None else [],  # of all rows, for all problems
        )

    def start(self, k: int) -> Array | None:
        """Return the net duals to start a problem from, if there are any."""
        if self.previous is None:
            return None
        return np.asarray(self.previous[k, self.rows_of(k)] * self.tasks[k].label)

    def coefficients(self, k: int, net_dual: Array) -> Array:
        """Return the coefficients of all training rows in a problem, from the duals of its own."""
        coef = np.zeros(self.n_rows)
        coef[self.rows_of(k)] = net_dual * self.tasks[k].label
        return coef


class ExactFit(Fit[Duals]):
    """A fit whose problems are solved as wholes, several small ones at the same time.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problems : KernelProblems
        The binary problems.
    solver : str
        Name of the solver, or "auto".
    budget : Budget
        Limits of all problems together.
    history : History
        The record, of the columns in :data:`.problem.COLUMNS`.
    neighbours : sequence of Duals, optional
        Solutions of the same problems for another ``C``, to start from.
    """

    def __init__(
        self,
        name: str,
        problems: KernelProblems,
        solver: str,
        budget: Budget,
        history: History,
        neighbours: Sequence[Duals] | None = None,
    ) -> None:
        super().__init__(name, len(problems), self._solve, budget, history)
        self.problems, self.solver, self.neighbours = problems, solver, neighbours
        self._prepare()

    def _prepare(self) -> None:
        """Make what a fit of its own kind needs; nothing here."""

    def run_all(self) -> None:
        """Solve all problems."""
        if self.n_problems < FEWEST_AT_ONCE or self.problems.tasks.most_rows > LARGEST_AT_ONCE:
            self.run()
            return
        engine = LocalEngine(self.budget.threads)
        share = engine.share(self.n_problems)
        self.run(
            engine,
            at_once=engine.threads,
            sharers=share.sharers,
            threads=share.threads,
            report=lambda done, of: self.history.report(
                counted="binary problems", done=done, of=of
            ),
        )

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[Duals]:
        problem = self.problems.problem(k, budget.threads)
        return solve_binary(problem, self._start(k, problem), self.solver, budget, history)

    def _start(self, k: int, problem: KernelProblem) -> Duals:
        if self.neighbours is not None:
            nearby = self.neighbours[k]
            return best_multiple(problem, nearby.net_dual, nearby.margin)
        start = self.problems.start(k)
        if start is None:
            return Duals(np.zeros(problem.n_rows))
        return Duals(problem.terms.nearest(start))

    def coefficients(self) -> Array:
        """Return the coefficients as (problems, rows); where an interrupt left them, if one did."""
        coef = np.zeros((self.n_problems, self.problems.n_rows))
        for k in range(self.n_problems):
            duals = self.iterate(k)
            if duals is not None:
                coef[k] = self.problems.coefficients(k, duals.net_dual)
        return coef

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that describe how the fit went."""
        attributes = super().attributes()
        if not self.solved:  # an interrupt came first
            problem = self.problems.problem(0, 1)
            attributes["solver_"] = choose(self.solver, problem, self.budget.memory)
        return attributes

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: every problem has been begun, if not finished."""
        return bool(np.all(np.any(self.coefficients(), axis=1)))

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Warn once about problems that did not converge or have no certificate."""
        warn_of_indefinite(min(each.iterate.lowest_eigenvalue for each in self.solved))
        super().warn(left_out)


def warn_of_indefinite(lowest_eigenvalue: float) -> None:
    """Warn that there is no certificate if the kernel matrix has a negative eigenvalue."""
    if lowest_eigenvalue < 0:
        warn(
            f"The kernel matrix is indefinite (lowest eigenvalue about {lowest_eigenvalue:.3g}), "
            "so there is no duality gap to certify the solution; `relative_gap_` is NaN. The "
            f"diagonal was shifted by {-2 * lowest_eigenvalue:.3g} for training. Use a positive "
            "semi-definite kernel (rbf, laplacian, linear, poly with coef0 >= 0) for a "
            "certificate.",
            ConvergenceWarning,
        )
