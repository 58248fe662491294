"""Our gossip methods in the form of the others; no other benchmark uses their internals."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.core.losses import Hinge, Loss, LossConstants, MarginDistribution
from widemargin.core.resources import thread_count
from widemargin.gossip import (
    NetworkFaults,
    PrintedGadget,
    Simulation,
    Stopping,
    Talking,
    Topology,
    graph_of,
)
from widemargin.gossip.methods import METHODS
from widemargin.gossip.simulation import Checkpoint
from widemargin.linear.problem import LinearProblem

from .problem import (
    HEADER_BYTES,
    THETA,
    UPSILON,
    VALUE_BYTES,
    DividedProblem,
    Outcome,
    Stopwatch,
)
from .stepping import MAX_ROUNDS, NormRule, Watch

LOSSES: dict[str, Loss] = {"hinge": Hinge(), "odm": MarginDistribution(UPSILON, THETA)}
# What is kept of the history; objectives in the problem's own scale.
WHOLE = ("round", "bytes")
OBJECTIVES = ("max_objective",)
SHARES = ("min_accuracy", "mean_accuracy", "max_accuracy")


def fit(
    problem: DividedProblem,
    solver: str,
    *,
    loss: str = "hinge",
    tol: float | None = 1e-3,
    max_rounds: int,
    max_time: float = np.inf,
    options: Mapping[str, Any] | None = None,
    faults: Mapping[str, Any] | None = None,
    enough: float = -np.inf,
    seed: int = 0,
) -> Outcome:
    """Run one of ours.

    Parameters
    ----------
    problem : DividedProblem
        Rows and network.
    solver : {'consensus', 'gadget', 'tracking'}
        Method.
    loss : {'hinge', 'odm'}
        What the sites minimise.
    tol : float or None
        Relative gap at which our rule stops it; None runs to the last round.
    max_rounds, max_time : int, float
        Limits; the time excludes evaluating models at checkpoints.
    options : mapping, optional
        Of the method.
    faults : mapping, optional
        Of the network; ``asynchronous`` among them.
    enough : float
        The run ends at the first checkpoint where no site's objective is above this.
    seed : int
        Decides what is drawn.
    """
    went_wrong = dict(faults or {})
    asynchronous = bool(went_wrong.pop("asynchronous", False))
    simulation = _Timed(
        *_divided(problem, loss),
        METHODS[solver](**(options or {})),
        Talking(asynchronous=asynchronous),
        NetworkFaults(**went_wrong),
        Stopping("never") if tol is None else Stopping("gap", tol),
        seed,
        _accuracy_of(problem),
        scale=problem.lam,
    )
    end = simulation.run(
        max_rounds, lambda: simulation.seconds > max_time or simulation.worst <= enough
    )
    rounds = int(simulation.network.round)
    stopped = simulation.worst <= enough or (
        rounds >= max_rounds if tol is None else bool(simulation.network.stopped)
    )
    return Outcome(
        np.asarray(problem.X_test @ end.models.T),
        end.models,
        rounds,
        int(simulation.network.messages),
        simulation.bytes_sent,
        simulation.seconds,
        stopped and not simulation.diverged,
        {"history": _history(simulation), "diverged": simulation.diverged},
    )


def printed(
    problem: DividedProblem,
    *,
    batch: int | None = 1,
    exchanges: int = 1,
    project: bool = False,
    rule: NormRule | None = None,
    watch: Watch | None = None,
    max_rounds: int = MAX_ROUNDS,
    max_time: float = np.inf,
    seed: int = 0,
) -> Outcome:
    """Run ``solver="gadget_printed"`` until every site has converged once by the rule.

    The library's own rule ends a network; here every site has the model with which it converged
    first, as in the paper's tables. ``watch`` is called after every round, and may end the run.
    Messages are counted as printed: a sum and a weight.
    """
    rule = NormRule() if rule is None else rule
    talking = Talking(partners="one", exchanges=exchanges)
    method = PrintedGadget(batch_size=batch, project=project)
    parts = _divided(problem, "hinge")
    network = Simulation(*parts, method, talking, stopping=Stopping("never"), seed=seed).network
    message = HEADER_BYTES + (problem.size + 1) * VALUE_BYTES
    models = network.models()
    rule.start(models)
    clock, stopped = Stopwatch(), False
    while network.round < max_rounds and not stopped and clock.seconds < max_time:
        network.run(1)
        models = network.models()
        stopped = rule.update(network.round, models)
        if watch is not None:
            began = time.perf_counter()
            stopped = watch(network.round, models, network.messages * message) or stopped
            clock.skip(time.perf_counter() - began)
    seconds, given = clock.seconds, rule.stopped_models(models)
    counts = (int(network.round), int(network.messages), int(network.messages) * message)
    facts = {"first": rule.first.tolist()}
    return Outcome(np.asarray(problem.X_test @ given.T), given, *counts, seconds, stopped, facts)


def _divided(
    problem: DividedProblem, loss: str
) -> tuple[LinearProblem, NDArray[np.int64], Topology]:
    """Return the rows, where those of every site begin, and the graph."""
    order = np.argsort(problem.site, kind="stable")
    sizes = np.bincount(problem.site, minlength=problem.n_sites)
    linked = sp.csr_array(problem.mixing - np.diag(np.diag(problem.mixing)))
    rows = LinearProblem(
        problem.X[order],
        problem.y[order].astype(np.int8),
        LossConstants.of(LOSSES[loss], 1.0 / (problem.lam * problem.weight.sum())),
        weight=problem.weight[order],
        threads=thread_count(None),
    )
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return rows, start, graph_of(linked, problem.n_sites)


@dataclass
class _Timed(Simulation):
    """A simulation that keeps its worst site, and its seconds without evaluating models."""

    scale: float = 1.0
    worst: float = np.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        self._evaluating = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of the sites."""
        return time.perf_counter() - self._started - self._evaluating

    def look(self, most: int | None) -> Checkpoint:
        """Evaluate the models, and leave out the time that takes."""
        began = time.perf_counter()
        checkpoint = super().look(most)
        self.worst = self.scale * float(checkpoint.objective.max(initial=-np.inf))
        self._evaluating += time.perf_counter() - began
        return checkpoint


def _accuracy_of(problem: DividedProblem) -> Any:
    def accuracy(models: np.ndarray) -> np.ndarray:
        right = np.where(problem.X_test @ models.T > 0, 1.0, -1.0) == problem.y_test[:, None]
        return np.asarray(right.mean(axis=0))

    return accuracy


def _history(simulation: _Timed) -> dict[str, list[float | None]]:
    history = simulation.history()
    kept: dict[str, list[float | None]] = {key: history[key].tolist() for key in WHOLE}
    for key in (*OBJECTIVES, *SHARES):
        values = simulation.scale * history[key] if key in OBJECTIVES else history[key]
        kept[key] = [float(each) if np.isfinite(each) else None for each in values]
    return kept
