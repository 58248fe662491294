"""What a level is reported by: small numbers of its parts, added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.outcome import Outcome
from ..samples import Part
from .part_solver import timed_out


@dataclass(frozen=True)
class LevelSummary:
    """Numbers of one part or of many together.

    Attributes
    ----------
    parts, rows, largest, support : int
        Parts, rows in them, rows of the largest, and rows with a dual.
    primal, dual : float
        Objectives: of the blocks together, or the mean over small copies of the whole problem.
    worst_gap : float
        Largest relative gap of a part's own problem.
    moved, size : float
        Sums of |change of a dual| and of |dual|.
    iterations : int
        Most iterations of a part.
    unfinished, failed : int
        Parts that time or an interrupt ended; parts that did not converge, those included.
    advice : str
        Name of the outcome of the worst part that failed, or "".
    solver : str
        Name of the solver, which all parts share.
    lowest_eigenvalue : float
        Lowest of all parts, where kernels are indefinite.
    """

    parts: int
    rows: int
    largest: int
    support: int
    primal: float
    dual: float
    worst_gap: float
    moved: float
    size: float
    iterations: int
    unfinished: int
    failed: int
    advice: str
    solver: str
    lowest_eigenvalue: float

    def __add__(self, other: LevelSummary) -> LevelSummary:
        """Put the numbers of two sets of parts together."""
        # NaN (no certificate) wins over any gap.
        worse = self if not self.worst_gap < other.worst_gap else other
        return LevelSummary(
            self.parts + other.parts,
            self.rows + other.rows,
            max(self.largest, other.largest),
            self.support + other.support,
            self.primal + other.primal,
            self.dual + other.dual,
            float(np.maximum(self.worst_gap, other.worst_gap)),
            self.moved + other.moved,
            self.size + other.size,
            max(self.iterations, other.iterations),
            self.unfinished + other.unfinished,
            self.failed + other.failed,
            worse.advice or self.advice or other.advice,
            self.solver,
            min(self.lowest_eigenvalue, other.lowest_eigenvalue),
        )

    def record(self) -> dict[str, float]:
        """Return what ``history_`` shows."""
        gap = self.primal - self.dual
        return {
            "parts": self.parts,
            "rows": self.rows,
            "largest_part": self.largest,
            "support_vectors": self.support,
            "objective": self.primal,
            "gap": gap,
            "relative_gap": gap / self.primal if self.primal else 0.0,
            "worst_gap": self.worst_gap,
            "movement": self.moved / self.size if self.size else 0.0,
        }


def summarise(part: Part, total: float, blocks: bool) -> LevelSummary:
    """Describe one solved part; small copies count by what they stand for."""
    report = part.report
    assert report is not None
    share = 1.0 if blocks else part.mass / total
    failed = report.outcome != Outcome.CONVERGED.name
    gap = (report.primal - report.dual) / report.primal if report.primal else 0.0
    return LevelSummary(
        parts=1,
        rows=part.n_rows,
        largest=part.n_rows,
        support=int(np.count_nonzero(part.net_dual)),
        primal=share * report.primal,
        dual=share * report.dual,
        worst_gap=gap,
        moved=report.moved,
        size=report.size,
        iterations=report.iterations,
        unfinished=int(timed_out(report)),
        failed=int(failed),
        advice=report.outcome if failed else "",
        solver=report.solver,
        lowest_eigenvalue=report.lowest_eigenvalue,
    )
