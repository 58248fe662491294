"""A start from fewer rows: most of the way is the same for an eighth of them.

Solutions of a sample differ from the whole set's by little more than chance, and a pass over them
costs an eighth, so that the whole set is left two or three passes. Applied to the sample again, the
first steps of all are taken on a few thousand rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ..monitor import LinearMonitor
from ..problem import LinearProblem

# One row in so many. Drawn, not every eighth: files have an order (ijcnn1 needs twice the passes).
ONE_IN = 8
# Samples of fewer rows, or fewer per weight, tell too little to be worth solving.
LEAST_ROWS, ROWS_PER_WEIGHT = 5000, 20
MOST_BYTES = 64 * 2**20
# Closer than this a sample's solution is no nearer to the whole set's.
SAMPLE_TOL = 1e-2


def sampled(problem: LinearProblem) -> LinearProblem | None:
    """Pose the problem on a sample whose rows weigh more; None if a sample would be too small."""
    value_bytes = problem.X.dtype.itemsize
    one_in = max(ONE_IN, -(-problem.stored * value_bytes // MOST_BYTES))
    rows = problem.n_rows // one_in
    if rows < LEAST_ROWS or rows < ROWS_PER_WEIGHT * problem.size:
        return None
    draw = np.random.default_rng(0).choice(problem.n_rows, rows, replace=False)
    draw.sort()  # read in the order of the file
    label = problem.label[draw]
    if abs(int(label.sum(dtype=np.int64))) == label.size:
        return None  # one class only
    c, factor = problem.constants, problem.n_rows / rows  # a row stands for so many
    return replace(
        problem,
        X=problem.X[draw],
        label=label,
        weight=None if problem.weight is None else problem.weight[draw],
        constants=replace(
            c, below=c.below / factor, above=c.above / factor, bound=c.bound * factor
        ),
        rows=None,
        evaluations=0.0,
    )


def sample_monitor(monitor: LinearMonitor) -> LinearMonitor:
    """Return a monitor for the solve of a sample, which ends in time."""
    return monitor.without_records(tol=max(SAMPLE_TOL, monitor.tol))


def untouched(w: Array) -> bool:
    """Whether a start is none."""
    return not np.any(w)
