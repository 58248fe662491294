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
from ..core.rows import canonical, copies, copies_in_own_order
from .duplicates import WORTHWHILE, Copies
from .kernels import Kernel
from .problem import KernelProblem
from .problems import warn_of_indefinite
from .solvers.binary import made_convex
from .solvers.class_blocks import ClassBlocks, ClassLoss
from .solvers.polish import POLISH_ROWS
from .solvers.shared_blocks import FEWEST_BLOCK_ROWS, rows_of_block
from .solvers.shared_certificates import SAFETY

# Formulations by their name in the parameter `multi_class`.
ALL_CLASSES = {"ww": "ww", "cs": "cs", "all": "odm"}
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

    loss: ClassLoss
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
        rows, formulation = np.arange(self.n_rows), self.loss.formulation
        multipliers = np.maximum(-coef, 0.0)
        multipliers[self.codes, rows] = 0.0
        if formulation == "ww":
            multipliers = np.minimum(multipliers, self.weights)
        total = multipliers.sum(axis=0)
        if formulation == "cs":
            over = total > self.weights
            multipliers[:, over] *= self.weights[over] / total[over]
            total = multipliers.sum(axis=0)
        found = -multipliers
        found[self.codes, rows] = total
        return np.ascontiguousarray(found + 0.0)  # no -0.0

    def largest_multiple(self, coef: Array) -> float:
        """Return by what feasible coefficients can be multiplied."""
        rows = np.arange(self.n_rows)
        if self.loss.formulation == "odm":
            return np.inf
        cs = self.loss.formulation == "cs"
        used = coef[self.codes, rows] if cs else np.max(-coef, axis=0)
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
        run = ClassRun(self, budget, history)
        self._begin(run.blocks)
        proof = run.solve()
        return self._solution(run, proof, run.outcome(proof))

    def _solution(
        self, run: ClassRun, proof: Certificate, outcome: Outcome
    ) -> Solution[ClassFunctions]:
        return Solution(
            ClassFunctions(self.coef, self.score, run.lowest),
            Certificate(np.nan, np.nan) if run.lowest < 0 else proof,
            outcome,
            run.sets,
            "blocks",
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


class ClassRun:
    """One convex problem after another, solved and certified until the budget ends it.

    Parameters
    ----------
    fit : AllClassesFit
        Whose coefficients and scores are improved in place.
    budget : Budget
        Limits of all problems together.
    history : History
        The record.

    Attributes
    ----------
    blocks : ClassBlocks
        The problem.
    sets : int
        Working sets so far.
    lowest : float
        Lowest eigenvalue of the kernel matrix if that is indefinite, else 0.
    """

    def __init__(self, fit: AllClassesFit, budget: Budget, history: History) -> None:
        self.fit, self.budget, self.history, self.sets = fit, budget, history, 0
        self.small = fit.problem.n_rows <= POLISH_ROWS
        self.lowest, self.shift = convexity(fit.problem, budget)
        self.blocks = self._posed(np.float64 if self.small else fit.problem.rows.dtype)

    def _posed(self, precision: Any) -> ClassBlocks:
        problem = self.fit.problem
        return ClassBlocks(
            problem.rows.astype(precision, copy=False),
            problem.kernel,
            problem.loss,
            problem.codes,
            problem.weights,
            threads=self.budget.threads,
            memory=self.budget.memory - state_bytes(problem),
            seed=self.budget.seed,
            shift=self.shift,
        )

    def solve(self) -> Certificate:
        """Solve to ``tol``; small sets to rounding, float32 rows in float64 where that needs it."""
        proof = self._certified()
        if self.outcome(proof) is Outcome.STALLED and self.blocks.single:
            # Rounded kernel values have got as far as they can.
            rivals = self.blocks.rivals
            self.blocks = self._posed(np.float64)
            self.blocks.rivals = rivals
            self.fit.score[:] = self.blocks.scores.of(self.fit.coef)
            proof = self._certified()
        if self.small and self.outcome(proof) is Outcome.CONVERGED:
            proof = self._last_digits(proof)
        return proof

    def outcome(self, proof: Certificate) -> Outcome:
        """Return how it ended, given the last certificate."""
        if proof.relative_gap <= self.budget.tol:
            return Outcome.CONVERGED
        if self.budget.out_of_time:
            return Outcome.TIME
        return Outcome.ITERATIONS if self.sets >= self.budget.max_iter else Outcome.STALLED

    def _certified(self) -> Certificate:
        """Solve, certify, and go on to a smaller gap while that brings the certificate down."""
        target, best = SAFETY * self.budget.tol, np.inf
        while True:
            self._descend(target, self.budget.max_iter - self.sets)
            proof = self._certificate(self.budget.tol)
            self.record(proof)
            if self.outcome(proof) is not Outcome.STALLED or proof.relative_gap > 0.9 * best:
                return proof
            target, best = 0.5 * target, proof.relative_gap

    def _last_digits(self, proof: Certificate) -> Certificate:
        """Go on to rounding, for as long as it took to come here."""
        if proof.relative_gap > LAST_DIGITS:
            allowed = min(max(SETS_OF_LAST_DIGITS, self.sets), self.budget.max_iter - self.sets)
            self._descend(LAST_DIGITS, allowed)
            proof = self._certificate(LAST_DIGITS)
            self.record(proof)
        return proof

    def _descend(self, target: float, max_sets: int) -> None:
        self.sets += self.blocks.solve(
            self.fit.coef,
            self.fit.score,
            target,
            max_sets=max_sets,
            stop=lambda: self.budget.out_of_time,
            record=self.record,
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

    def record(self, now: Certificate, sets: int = 0) -> None:
        """Record objectives after so many more working sets."""
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
    terms = Hinge().terms(problem.weights)
    posed = KernelProblem(
        problem.rows, problem.kernel, np.ones(problem.n_rows), terms, budget.threads
    )
    convex, lowest = made_convex(posed, budget.memory)
    return lowest, convex.shift


def state_bytes(problem: AllClassesProblem) -> int:
    """Return the memory that coefficients, scores and what is computed from them take."""
    return 8 * ARRAYS * problem.n_classes * problem.n_rows


def check_memory(problem: AllClassesProblem, memory: int) -> None:
    """Refuse a memory limit that does not hold the state of all classes and a block."""
    state, block = state_bytes(problem), min(problem.n_rows, FEWEST_BLOCK_ROWS)
    if state >= memory or rows_of_block(memory - state, 8) < block:
        raise ValueError(
            f"A problem of all classes keeps {ARRAYS} numbers for every row and class, "
            f"{state} bytes for {problem.n_rows} rows of {problem.n_classes} classes, and the "
            f"kernel values of {block} rows; `memory_limit` is {memory} bytes. Raise it, or set "
            "multi_class='ovo'."
        )
