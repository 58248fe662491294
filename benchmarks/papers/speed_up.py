"""[SODM] Figure 2, linear kernel: what more threads give DSVRG, and a model of more nodes.

One and two threads are measured, on the machine at hand. More nodes are computed: seconds of a
gradient as measured with one thread, messages as :class:`Network` assumes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from widemargin.core.budget import Budget
from widemargin.core.losses import LossConstants, MarginDistribution
from widemargin.linear.history import LinearHistory
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers import dsvrg, svrg

from . import preparation, scoring
from .results import Results

DATA_SETS = ("a9a", "ijcnn1", "skin_nonskin", "covtype_binary")
SOLVERS = ("svrg", "dsvrg")
# Inner steps of a stage, as a share of the rows.
SHARES = (1.0, 0.1)
THREADS = (1, 2)
PARTS, STAGES, REPEATS = 16, 10, 3
C = 1.0
MAX_TIME = 120.0
QUICK_ROWS = 2_000


def run(results: Results, names: Sequence[str], *, quick: bool, max_time: float = MAX_TIME) -> None:
    """Measure what is missing: ten stages of each solver, everybody once before a second time."""
    for name in names:
        rows = partial(preparation.whole_set, name, QUICK_ROWS if quick else None)
        split = cache(lambda rows=rows: preparation.random_split(*rows(), 0))
        for number in range(1 if quick else REPEATS):
            for solver in SOLVERS:
                for share in SHARES:
                    for threads in THREADS:
                        case = f"{name}/{solver}/{share:g}/{threads}/{number}"
                        measure_stages(results, case, split, solver, share, threads, max_time)


def measure_stages(
    results: Results,
    name: str,
    split: Callable[[], preparation.Split],
    solver: str,
    share: float,
    threads: int,
    max_time: float,
) -> None:
    """Measure a fixed number of stages; dividing the rows is not counted."""
    settings: dict[str, Any] = {"solver": solver, "C": C, "threads": threads, "stages": STAGES}
    settings |= {"steps_per_row": share}
    if solver == "dsvrg":
        settings["n_parts"] = PARTS

    def measure() -> scoring.Cell:
        rows = split()
        seconds = stage_seconds(rows.X, rows.y, solver, share, threads, max_time)
        features = rows.X.shape[1] + 1
        return {"fit_seconds": seconds, "rows": len(rows.y), "features": features}

    results.cell(name, settings, measure)


def stage_seconds(
    X: Any, y: np.ndarray, solver: str, share: float, threads: int, max_time: float
) -> float:
    """Return the seconds of all stages of one run."""
    label = np.where(y == np.max(y), 1, -1).astype(np.int8)
    constants = LossConstants.of(MarginDistribution(upsilon=0.5, theta=0.2), C)
    problem = LinearProblem(X, label, constants, constant=1.0, threads=threads)
    run = (Budget(tol=0.0, max_iter=STAGES, max_time=max_time), LinearHistory())
    start = np.zeros(problem.size)
    if solver == "dsvrg":
        dsvrg.solve(problem, start, *run, n_parts=PARTS, steps_per_row=share)
    else:
        svrg.solve(problem, start, *run, steps_per_row=share)
    seconds = run[1].table()["seconds"]
    return float(STAGES * np.median(np.diff(seconds)))


@dataclass(frozen=True)
class Network:
    """What a message between nodes costs: ten gigabits a second, a tenth of a millisecond."""

    latency: float = 1e-4
    bytes_per_second: float = 1.25e9

    def message(self, features: int) -> float:
        """Return the seconds of sending one vector of float64 weights."""
        return self.latency + 8.0 * features / self.bytes_per_second


@dataclass(frozen=True)
class StageModel:
    """A stage of DSVRG on several nodes.

    Attributes
    ----------
    rows, features : int
        Size of the problem.
    full, inner : float
        Seconds of a row in the full gradient and of an inner step, on one core.
    network : Network
        What messages cost.
    """

    rows: int
    features: int
    full: float
    inner: float
    network: Network = Network()

    def seconds(self, nodes: int, share: float) -> float:
        """Return the seconds of a stage.

        The weights are sent to all nodes, the gradients are summed up, their sum is sent to all,
        each along a tree; then the weights go from node to node, as far as the inner steps need.
        Rows of the full gradient are shared by the nodes; inner steps wait for each other.
        """
        compute = self.rows / nodes * self.full + share * self.rows * self.inner
        if nodes == 1:
            return compute
        messages = 3 * math.ceil(math.log2(nodes)) + math.ceil(share * nodes)
        return compute + messages * self.network.message(self.features)

    def speed_up(self, nodes: int, share: float) -> float:
        """Compare a stage on several nodes with one on a single node."""
        return self.seconds(1, share) / self.seconds(nodes, share)


def costs_of(rows: int, stage_seconds: dict[float, float]) -> tuple[float, float]:
    """Split the seconds of a stage, by the share of inner steps, into a row's and a step's."""
    shares = np.array(list(stage_seconds))
    slope, start = np.polyfit(shares, np.array(list(stage_seconds.values())), 1)
    return max(float(start), 0.0) / rows, max(float(slope), 0.0) / rows
