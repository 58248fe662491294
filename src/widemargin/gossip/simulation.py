"""A network of sites in this process, run from checkpoint to checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..core.arrays import Array
from ..core.outcome import Certificate
from ..linear.problem import LinearProblem
from .faults import NetworkFaults
from .methods import GossipMethod, NativeNetwork, NetworkSetting
from .mixing import settled_mass
from .topology import Topology

# Rounds between checkpoints grow by this factor.
GROWTH = 1.2
# Number of sites whose models are scored at a checkpoint; all of them are at the end.
MOST_JUDGED = 256
# Stored values per round from which a second thread is worth its start.
THREADED_WORK = 200_000
# Weights beyond this have diverged; their squares would soon overflow.
BEYOND = 1e100
# Bytes of a message in addition to its numbers: sender, number, length and checksum.
HEADER = 32


def numbers_bytes(count: int, singles: int) -> int:
    """Return the bytes of numbers in a message, of which ``singles`` are in single precision.

    One bit for each says which.
    """
    return -(-count // 8) + 8 * count - 4 * singles


HISTORY = (
    "round",
    "min_accuracy",
    "mean_accuracy",
    "max_accuracy",
    "min_objective",
    "mean_objective",
    "max_objective",
    "dual",
    "relative_gap",
    "estimated_gap",
    "disagreement",
    "messages",
    "bytes",
    "seconds",
)


@dataclass(frozen=True)
class Talking:
    """How sites exchange messages.

    Attributes
    ----------
    partners : {'all', 'one'}
        Whether a site sends to every neighbour, or to one drawn at random.
    exchanges : int
        Number of exchanges between two steps.
    weights : {'metropolis', 'random_walk', 'given'}
        Weights of the neighbours, where methods average.
    asynchronous : bool
        Whether sites act at random times instead of all together.
    """

    partners: str = "all"
    exchanges: int = 1
    weights: str = "metropolis"
    asynchronous: bool = False


@dataclass(frozen=True)
class Stopping:
    """Rule by which sites stop.

    Attributes
    ----------
    rule : {'gap', 'norm', 'never'}
        'gap': when every site finds that the network agrees and that the relative gap, as the
        sites estimate it, is at most ``tol``. 'norm', the paper's rule: when at every site ‖w‖ has
        once changed by less than ``epsilon`` in ``quiet`` consecutive steps. 'never': after the
        last round.
    tol, epsilon, quiet
        Parameters of the rules.
    """

    rule: str = "gap"
    tol: float = 1e-3
    epsilon: float = 1e-3
    quiet: int = 3


@dataclass
class Checkpoint:
    """State of the network after some round.

    The models of the sites ``judged``, all of which are up (unless none is), have an objective and
    an accuracy on the rows of all members of the network.
    """

    round: int
    models: Array  # of all sites
    judged: NDArray[np.int64]
    objective: Array
    accuracy: Array


def check_directions(method: GossipMethod, topology: Topology) -> None:
    """Raise if links lead one way and the method needs answers."""
    if topology.directed and not method.one_way_links:
        raise ValueError(
            f"`solver`={method.name!r} must have an undirected graph: neighbours answer each "
            "other. Got a graph with links that lead one way. Take 'gadget' or 'tracking', whose "
            "Push-Sum does without answers (`robust`=None), or add the opposite links "
            "(`graph.to_undirected()`, `A + A.T`)."
        )


@dataclass
class Simulation:
    """Simulation of a network.

    Parameters
    ----------
    problem : LinearProblem
        The rows of all sites, grouped by site.
    site_start : array of int64 of shape (n_sites + 1,)
        Site ``s`` has the rows from ``site_start[s]`` to ``site_start[s + 1] - 1``.
    topology : Topology
        Graph of the sites.
    method : GossipMethod
        Training method.
    talking : Talking
        How sites exchange messages.
    faults : NetworkFaults
        Faults of the network.
    stopping : Stopping
        Rule by which sites stop.
    seed : int
        Seed of all random choices.
    accuracy : callable, optional
        Takes models (n_models, size) and returns their accuracies; None scores on the problem's
        own rows.
    number, n_problems : int
        Which of how many problems on the same rows this is.

    Attributes
    ----------
    last : Checkpoint or None
        The last checkpoint, also of an interrupted run.
    certificate : Certificate
        The worst site's objective on the rows of all members, and the best lower bound from the
        network's duals. Rows of sites that have left or have not joined yet do not count.
    diverged : bool
        Whether models diverged, because of long steps or of faulty sites. ``last`` is finite.
    """

    problem: LinearProblem
    site_start: NDArray[np.int64]
    topology: Topology
    method: GossipMethod
    talking: Talking = field(default_factory=Talking)
    faults: NetworkFaults = field(default_factory=NetworkFaults)
    stopping: Stopping = field(default_factory=Stopping)
    seed: int = 0
    accuracy: Callable[[Array], Array] | None = None
    number: int = 0
    n_problems: int = 1
    records: list[tuple[float, ...]] = field(default_factory=list)
    certificate: Certificate = field(default_factory=lambda: Certificate(np.inf, -np.inf))
    last: Checkpoint | None = None
    diverged: bool = False
    network: NativeNetwork = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.faults.check(self.topology.n_sites)
        check_directions(self.method, self.topology)
        self.network = self.method.network(self._setting())
        self._started = time.perf_counter()
        self._bound = -np.inf
        self._members = np.ones(self.topology.n_sites, dtype=np.bool_)
        self._posed: LinearProblem = self.problem

    def run(
        self,
        max_rounds: int,
        stopping: Callable[[], bool] | None = None,
        listener: Callable[[Checkpoint], None] | None = None,
    ) -> Checkpoint:
        """Continue until the sites stop, the rounds are over, or ``stopping`` returns true.

        Parameters
        ----------
        max_rounds : int
            Number of rounds since the start.
        stopping : callable, optional
            Called from time to time.
        listener : callable, optional
            Called with every checkpoint.

        Returns
        -------
        Checkpoint
            The final state, in which all sites are scored.
        """
        network, interrupted = self.network, stopping or (lambda: False)
        goal = 1
        while not network.stopped and network.round < max_rounds and not interrupted():
            network.run(min(goal, max_rounds) - network.round, stopping)
            goal = max(goal + 1, int(goal * GROWTH))
            if not np.all(np.abs(network.models()) < BEYOND):  # false for NaN, too
                self.diverged = True
                break
            ended = network.stopped or network.round >= max_rounds or interrupted()
            self.last = self.look(MOST_JUDGED if not ended else None)
            if listener is not None:
                listener(self.last)
        if self.last is None:
            self.last = self.look(None)
        return self.last

    def look(self, most: int | None) -> Checkpoint:
        """Score the models of at most ``most`` sites, and record the state of the network."""
        network = self.network
        models, sites = network.models(), network.sites()
        problem = self._pose(self.faults.members(len(models), network.round))
        up = self._members & (sites[:, 0] > 0)
        present = np.flatnonzero(up if up.any() else self._members)
        judged = present
        if most is not None and len(present) > most:
            judged = present[np.linspace(0, len(present) - 1, most).astype(np.int64)]
        chosen = np.ascontiguousarray(models[judged])
        loss, right = problem.native.score_models(chosen, problem.threads)
        objective = 0.5 * np.einsum("ij,ij->i", chosen, chosen) + loss
        total = problem.n_rows if problem.weight is None else float(problem.weight.sum())
        with np.errstate(invalid="ignore"):  # no rows, no accuracy
            accuracy = right / total if self.accuracy is None else self.accuracy(chosen)
        self.certificate = Certificate(float(objective.max(initial=-np.inf)), self._dual(models))
        self._record(models[present], sites[present], objective, accuracy)
        return Checkpoint(network.round, models, judged, objective, accuracy)

    def _pose(self, members: NDArray[np.bool_]) -> LinearProblem:
        """Return the problem that the network solves: that of its members' rows."""
        if not np.array_equal(members, self._members):
            self._members, self._bound = members, -np.inf
            whole, rows = self.problem, self._rows
            self._posed = replace(
                whole,
                X=whole.X[rows],
                label=whole.label[rows],
                weight=None if whole.weight is None else whole.weight[rows],
                rows=None,
            )
        return self._posed

    @property
    def _rows(self) -> NDArray[np.bool_]:
        """Mask of the members' rows."""
        return np.repeat(self._members, np.diff(self.site_start))

    @property
    def bytes_sent(self) -> int:
        """Bytes of all messages."""
        network = self.network
        numbers = numbers_bytes(int(network.message_size), int(network.message_singles))
        return int(network.messages) * (HEADER + numbers)

    def history(self) -> dict[str, Any]:
        """Return the records of the checkpoints, as arrays of equal length."""
        table = np.array(self.records, dtype=np.float64).reshape(-1, len(HISTORY))
        whole = ("round", "messages", "bytes")
        return {
            name: table[:, k].astype(np.int64) if name in whole else table[:, k].copy()
            for k, name in enumerate(HISTORY)
        }

    def _dual(self, models: Array) -> float:
        """Return the best lower bound of the objective so far."""
        dual, problem = self.network.dual(), self._posed
        if dual is None:  # what the mean model's margins imply
            mean = models[self._members].mean(axis=0)
            self._bound = max(self._bound, problem.evaluate(mean).certificate.dual)
        else:
            held = dual[self._rows]
            own = problem.weights_of(held)
            self._bound = max(self._bound, -0.5 * float(own @ own) - problem.phi(held))
        return self._bound

    def _record(self, models: Array, sites: Array, objective: Array, accuracy: Array) -> None:
        centre = models.mean(axis=0)
        length = float(np.linalg.norm(centre))
        apart = np.linalg.norm(models - centre, axis=1).max(initial=0.0)
        self.records.append(
            (
                self.network.round,
                *(float(f(accuracy)) for f in (np.min, np.mean, np.max)),
                *(float(f(objective)) for f in (np.min, np.mean, np.max)),
                self.certificate.dual,
                self.certificate.relative_gap,
                float(sites[:, 3].max(initial=0.0)),
                float(apart / length) if length > 0 else 0.0,
                self.network.messages,
                self.bytes_sent,
                time.perf_counter() - self._started,
            )
        )

    def _pace(self) -> Array:
        """Return the speed of every site, and its usual mass of Push-Sum, at most 1."""
        n_sites, talking = self.topology.n_sites, self.talking
        even = talking.weights == "metropolis" and talking.partners == "all"
        mass = np.ones(n_sites)
        if self.topology.directed or not even:
            mass = settled_mass(self.topology, talking.weights, talking.partners == "one")
        usual = np.clip(mass, np.finfo(float).tiny, 1.0)
        return np.stack([self.faults.speed_of_sites(n_sites), usual], axis=1)

    def _setting(self) -> NetworkSetting:
        topology, talking, stopping = self.topology, self.talking, self.stopping
        rounds = range(topology.period)
        link = np.stack([topology.weights(talking.weights, number).link for number in rounds])
        threads = self.problem.threads if self.problem.stored > THREADED_WORK else 1
        never = stopping.rule == "never"
        return NetworkSetting(
            self.problem,
            topology,
            self.faults,
            talking.asynchronous,
            (
                self.problem.native,
                self.site_start,
                topology.start,
                topology.other,
                topology.reverse,
                link,
                self.faults.events,
                self.faults.kinds_of_lies(topology.n_sites),
                self._pace(),
                _native.StoppingRule(
                    tol=-1.0 if never else stopping.tol,
                    diameter=float(topology.diameter),
                    epsilon=stopping.epsilon,
                    quiet=stopping.quiet,
                ),
                _native.NetworkOptions(
                    one=talking.partners == "one",
                    exchanges=talking.exchanges,
                    asynchronous=talking.asynchronous,
                    loss=self.faults.loss,
                    repeat=self.faults.duplication,
                    delay=self.faults.delay,
                    fault_scale=self.faults.scale,
                    patience=topology.diameter + 1,
                    paper_rule=stopping.rule == "norm",
                    seed=self.seed,
                    threads=threads,
                ),
            ),
            self.seed,
            self.number,
            self.n_problems,
            stopping.tol,
        )
