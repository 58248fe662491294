"""The problem of all classes at once, and the fit that solves it.

One-vs-rest and pairs of classes are binary problems (:mod:`.problems`); here one problem has a
function for every class. :mod:`.solvers.class_blocks` states it and solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.blocks import CANONICAL_VALUES
from ..core.budget import Budget
from ..core.fit import Fit
from ..core.history import History
from ..core.losses import Hinge
from ..core.outcome import Certificate, Outcome, Solution
from ..core.resources import single_threaded_blas
from ..core.rows import canonical, copies, copies_in_own_order
from .duplicates import WORTHWHILE, Copies
from .kernels import Kernel
from .problem import KernelProblem, extreme_eigenvalues
from .problems import warn_of_indefinite
from .solvers.binary import INDEFINITE
from .solvers.class_blocks import ClassBlocks
from .solvers.polish import POLISH_ROWS
from .solvers.shared_blocks import FEWEST_BLOCK_ROWS, rows_of_block
from .solvers.shared_certificates import SAFETY

# Names of the formulations, as the parameter `multi_class` has them.
ALL_CLASSES = ("ww", "cs")
# Relative gap of sets of up to `POLISH_ROWS` rows, so that equal problems written differently (a
# weight of two, or the row twice) give equal models.
LAST_DIGITS = 1e-13
# Working sets for these digits, beyond those that `tol` took: as many, and at least so many.
SETS_OF_LAST_DIGITS = 200
# Arrays of a number for every row and class that exist at the same time.
ARRAYS = 4


@dataclass(frozen=True)
class AllClassesProblem:
    """A training set with a function to be found for every class."""

    formulation: str  # "ww" or "cs"
    codes: NDArray[np.int64]  # (n_rows,): class of each row
    n_classes: int
    kernel: Kernel
    rows: Any  # training rows as the kernel sees them
    weights: Array  # (n_rows,): weight of each row's loss
    previous: Array | None = None  # (n_classes, n_rows): coefficients to start from

    def __len__(self) -> int:
        """Return the number of functions, as for problems of one function each."""
        return self.n_classes

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.weights)

    def feasible(self, coef: Array) -> Array:
        """Return coefficients inside the domain, near the given ones."""
        rows = np.arange(self.n_rows)
        multipliers = np.maximum(-coef, 0.0)
        multipliers[self.codes, rows] = 0.0
        if self.formulation == "ww":
            multipliers = np.minimum(multipliers, self.weights)
        total = multipliers.sum(axis=0)
        if self.formulation == "cs":
            over = total > self.weights
            multipliers[:, over] *= self.weights[over] / total[over]
            total = multipliers.sum(axis=0)
        found = -multipliers
        found[self.codes, rows] = total
        return np.ascontiguousarray(found + 0.0)  # no -0.0

    def largest_multiple(self, coef: Array) -> float:
        """Return by what feasible coefficients can be multiplied."""
        rows = np.arange(self.n_rows)
        used = coef[self.codes, rows] if self.formulation == "cs" else np.max(-coef, axis=0)
        some = used > 0
        return float(np.min(self.weights[some] / used[some], initial=np.inf))

    def without_copies(self) -> tuple[AllClassesProblem, Copies] | None:
        """Merge equal rows of a class, and order small sets by their contents; None if neither."""
        if not self.kernel.positive_semidefinite:
            return None
        X = canonical(self.rows)
        small = (X.nnz if sp.issparse(X) else X.size) <= CANONICAL_VALUES
        group, first = (copies_in_own_order if small else copies)(X, self.codes)
        if not small and first.size > (1 - WORTHWHILE) * group.size:
            return None
        total = np.bincount(group, self.weights).astype(np.float64)
        back = Copies(group, first, self.weights / total[group])
        previous = self.previous
        if previous is not None:
            previous = np.array([back.merge(each) for each in previous])
        merged = replace(
            self, codes=self.codes[first], rows=X[first], weights=total, previous=previous
        )
        return merged, back


@dataclass(frozen=True)
class ClassFunctions:
    """The iterate: coefficients of all classes and the scores that they give."""

    coef: Array  # (n_classes, n_rows)
    score: Array  # (n_classes, n_rows)
    lowest_eigenvalue: float = 0.0  # of the kernel matrix if that is indefinite, else 0


class AllClassesFit(Fit[ClassFunctions]):
    """An exact fit of all classes in one problem.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problem : AllClassesProblem
        The problem.
    budget : Budget
        Its limits.
    history : History
        The record, of the columns in :data:`.problem.COLUMNS`.
    neighbours : sequence of ClassFunctions, optional
        The solution of the same problem for another ``C``, to start from.
    """

    def __init__(
        self,
        name: str,
        problem: AllClassesProblem,
        budget: Budget,
        history: History,
        neighbours: Sequence[ClassFunctions] | None = None,
    ) -> None:
        super().__init__(name, 1, self._solve, budget, history)
        self.given, self.neighbours = problem, neighbours
        check_memory(problem, budget.memory)
        merged = problem.without_copies()
        self.problem = problem if merged is None else merged[0]
        self.copies = None if merged is None else merged[1]
        self.coef = np.zeros((problem.n_classes, self.problem.n_rows))
        self.score = np.zeros_like(self.coef)

    def run_all(self) -> None:
        """Solve the problem."""
        self.run()

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[ClassFunctions]:
        problem = self.problem
        if problem.rows.dtype == np.float32 and problem.n_rows <= POLISH_ROWS:
            problem = replace(problem, rows=problem.rows.astype(np.float64))
        lowest, shift = convexity(problem, budget)
        blocks = self._blocks(problem, budget, shift)
        self._begin(blocks)
        run = _Run(self, blocks, budget, history)
        proof = run.certified()
        single = problem.rows.dtype == np.float32 and problem.kernel.name != "precomputed"
        if run.outcome(proof) is Outcome.STALLED and single:
            # Rounded kernel values have got as far as they can.
            exact = replace(problem, rows=problem.rows.astype(np.float64))
            run.blocks = self._blocks(exact, budget, shift)
            self.score[:] = run.blocks.scores.of(self.coef)
            proof = run.certified()
        if problem.n_rows <= POLISH_ROWS and run.outcome(proof) is Outcome.CONVERGED:
            proof = run.last_digits(proof)
        return Solution(
            ClassFunctions(self.coef, self.score, lowest),
            Certificate(np.nan, np.nan) if lowest < 0 else proof,
            run.outcome(proof),
            run.sets,
            "blocks",
        )

    def _blocks(self, problem: AllClassesProblem, budget: Budget, shift: float) -> ClassBlocks:
        return ClassBlocks(
            problem.rows,
            problem.kernel,
            problem.formulation,
            problem.codes,
            problem.weights,
            threads=budget.threads,
            memory=budget.memory - state_bytes(problem),
            seed=budget.seed,
            shift=shift,
        )

    def _begin(self, blocks: ClassBlocks) -> None:
        """Take the solution of an earlier fit, the best multiple of that of another C, or zero."""
        problem = self.problem
        if self.neighbours is not None:
            near = self.neighbours[0]
            self.coef[:] = problem.feasible(near.coef)
        elif problem.previous is not None:
            self.coef[:] = problem.feasible(problem.previous)
        if not self.coef.any():
            return
        self.score[:] = blocks.scores.of(self.coef, single=True)
        if self.neighbours is not None:
            rows = np.arange(problem.n_rows)
            bend = float(np.sum(self.coef * self.score))
            room = problem.largest_multiple(self.coef)
            factor = min(float(self.coef[problem.codes, rows].sum()) / bend, room) if bend else 1.0
            self.coef *= factor
            self.score *= factor

    def coefficients(self) -> Array:
        """Return the coefficients of all rows given, as (classes, rows)."""
        if self.copies is None:
            return self.coef
        return np.asarray(self.coef[:, self.copies.group] * self.copies.share)

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: some coefficients have been found."""
        return bool(self.coef.any())

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that describe how the fit went."""
        return super().attributes() | {"solver_": "blocks"}

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Warn if the problem did not converge or has no certificate."""
        warn_of_indefinite(min(each.iterate.lowest_eigenvalue for each in self.solved))
        super().warn(left_out)


class _Run:
    """Blocks that are solved and certified until the budget ends it."""

    def __init__(
        self, fit: AllClassesFit, blocks: ClassBlocks, budget: Budget, history: History
    ) -> None:
        self.fit, self.blocks, self.budget, self.history = fit, blocks, budget, history
        self.sets = 0

    def outcome(self, proof: Certificate) -> Outcome:
        """Return how it ended, given the last certificate."""
        if proof.relative_gap <= self.budget.tol:
            return Outcome.CONVERGED
        if self.budget.out_of_time:
            return Outcome.TIME
        return Outcome.ITERATIONS if self.sets >= self.budget.max_iter else Outcome.STALLED

    def certified(self) -> Certificate:
        """Solve, certify, and go on to a smaller gap while that brings the certificate down."""
        target, best = SAFETY * self.budget.tol, np.inf
        while True:
            self._descend(target, self.budget.max_iter - self.sets)
            proof = self._certificate(self.budget.tol)
            self._record(proof, 0)
            if self.outcome(proof) is not Outcome.STALLED or proof.relative_gap > 0.9 * best:
                return proof
            target, best = 0.5 * target, proof.relative_gap

    def last_digits(self, proof: Certificate) -> Certificate:
        """Go on to rounding, for as long as it took to come here."""
        if proof.relative_gap > LAST_DIGITS:
            allowed = min(max(SETS_OF_LAST_DIGITS, self.sets), self.budget.max_iter - self.sets)
            self._descend(LAST_DIGITS, allowed)
            proof = self._certificate(LAST_DIGITS)
            self._record(proof, 0)
        return proof

    def _descend(self, target: float, max_sets: int) -> None:
        self.sets += self.blocks.solve(
            self.fit.coef,
            self.fit.score,
            target,
            max_sets=max_sets,
            stop=lambda: self.budget.out_of_time,
            record=self._record,
        )

    def _certificate(self, tol: float) -> Certificate:
        """Certify by the scores as they are; by exact ones, put in their place, if need be."""
        coef, score, blocks = self.fit.coef, self.fit.score, self.blocks
        off = blocks.scores.rounding(coef, score, blocks.codes)
        proof = blocks.measure(coef, score, off).certificate
        if proof.relative_gap > tol >= blocks.measure(coef, score).certificate.relative_gap:
            score[:] = blocks.scores.of(coef)
            proof = blocks.measure(coef, score).certificate
        return proof

    def _record(self, now: Certificate, sets: int) -> None:
        n_rows = self.blocks.n_rows
        self.history.iterations = self.sets + sets
        self.history.record(
            iteration=self.sets + sets,
            primal=now.primal,
            dual=now.dual,
            relative_gap=now.relative_gap,
            active_rows=int(self.blocks.active.sum()),
            passes=self.blocks.entries / n_rows**2,
            rows=n_rows,
        )


def convexity(problem: AllClassesProblem, budget: Budget) -> tuple[float, float]:
    """Return the lowest eigenvalue of an indefinite kernel matrix, and what makes it convex.

    As :mod:`.solvers.binary` does it for binary problems.
    """
    if problem.kernel.positive_semidefinite:
        return 0.0, 0.0
    terms = Hinge().terms(problem.weights)
    posed = KernelProblem(
        problem.rows, problem.kernel, np.ones(problem.n_rows), terms, budget.threads
    )
    with single_threaded_blas():
        lowest, largest = extreme_eigenvalues(posed, budget.memory)
    shift = max(0.0, -2.0 * lowest)
    return (0.0 if lowest > -INDEFINITE * abs(largest) else lowest), shift


def state_bytes(problem: AllClassesProblem) -> int:
    """Return the memory that coefficients, scores and what is computed from them take."""
    return 8 * ARRAYS * problem.n_classes * problem.n_rows


def check_memory(problem: AllClassesProblem, memory: int) -> None:
    """Refuse a memory limit that does not hold the state of all classes and a block."""
    state, block = state_bytes(problem), min(problem.n_rows, FEWEST_BLOCK_ROWS)
    if state >= memory or rows_of_block(memory - state, 8) < block:
        raise ValueError(
            f"multi_class={problem.formulation!r} keeps {ARRAYS} numbers for every row and class, "
            f"{state} bytes for {problem.n_rows} rows of {problem.n_classes} classes, and the "
            f"kernel values of {block} rows; `memory_limit` is {memory} bytes. Raise it, or set "
            "multi_class='ovo'."
        )
