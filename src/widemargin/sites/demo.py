"""A demonstration: a network of processes on this machine, one of which is killed and restarted."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..estimators import LinearSVMClassifier
from ..gossip import graph_of
from .fleet import LocalFleet, SiteProcess

__all__ = [
    "ROUND_INTERVAL",
    "SHORT_ROUND_INTERVAL",
    "DemoResult",
    "PooledProblem",
    "SiteResult",
    "dealt_out",
    "generated",
    "run_demo",
]

LAM = 1e-3
# Largest relative excess of a site's objective over the pooled optimum.
WITHIN = 0.01
TOL = 2e-3
POOLED_TOL = 1e-5
ROUNDS_BEFORE_THE_KILL = 15
SECONDS_DOWN = 3.0
SECONDS_BETWEEN_LOOKS = 0.25
# Seconds from round to round: slow enough to watch for generated rows, which take about a hundred
# rounds; others may take a thousand.
ROUND_INTERVAL = 0.1
SHORT_ROUND_INTERVAL = 0.02

Statuses = Mapping[str, Mapping[str, Any] | None]
Show = Callable[[float, Statuses, str | None], None]


@dataclass(frozen=True)
class SiteResult:
    """Result of one site; accuracies are on all rows."""

    name: str
    rows: int
    rounds: int
    excess: float  # relative, of its model's objective on all rows over the optimum
    accuracy: float
    accuracy_alone: float  # of a model of its own rows only


@dataclass(frozen=True)
class DemoResult:
    """Result of the network."""

    sites: Sequence[SiteResult]
    accuracy: float  # of the model of all rows
    victim: str  # the site that was killed
    agreed: bool  # whether all sites agreed in time
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether all sites have the model of all rows, to a percent of its objective."""
        return all(site.excess <= WITHIN for site in self.sites)


@dataclass(frozen=True)
class PooledProblem:
    r"""All rows of a network, with :math:`\tfrac\lambda2 |w|^2` plus the mean hinge loss.

    Of more than two classes, each has a model of its own against the rest.
    """

    X: Any
    y: Any
    lam: float

    def solved(self, rows: Any = slice(None)) -> Any:
        """Return the model of all rows, or of some rows alone with the same λ."""
        X, y = self.X[rows], self.y[rows]
        C = 1.0 / (self.lam * len(y))
        model = LinearSVMClassifier(loss="hinge", C=C, tol=POOLED_TOL, random_state=0, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)  # or it would be no optimum
            return model.fit(X, y)

    def objectives(self, model: Any) -> Array:
        """Return λ/2 |w|² plus the mean loss of every class; intercepts are penalised."""
        classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        label = np.where(self.y[:, np.newaxis] == classes, 1.0, -1.0)
        decision = self.X @ model.coef_.T + model.intercept_
        length = np.square(model.coef_).sum(axis=1) + np.square(model.intercept_)
        losses = np.maximum(0.0, 1.0 - label * decision).mean(axis=0)
        return np.asarray(0.5 * self.lam * length + losses)

    def excess(self, model: Any, optimum: Any) -> float:
        """Return the relative excess of a model's objective over the optimum, of the worst class.

        Classes must be those of all rows.
        """
        least = self.objectives(optimum)
        return float(((self.objectives(model) - least) / least).max())


def generated(rows: int, seed: int, n_classes: int = 2) -> tuple[Any, Any]:
    """Generate standardised rows."""
    X, y = make_classification(
        rows,
        20,
        n_informative=8,
        n_classes=n_classes,
        flip_y=0.05,
        class_sep=0.8,
        random_state=seed,
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def dealt_out(X: Any, y: Any, n_sites: int) -> list[Any]:
    """Return the rows of each site: slices along the direction of largest variance.

    Sites with different rows show the purpose of gossip: alone, each would train another model.
    """
    spread = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
    order = np.argsort(X @ spread, kind="stable")
    return [np.sort(part) for part in np.array_split(order, n_sites)]


def run_demo(
    X: Any,
    y: Any,
    n_sites: int,
    folder: Path,
    seconds: float,
    show: Show,
    round_interval: float = ROUND_INTERVAL,
) -> DemoResult:
    """Run a network, kill and restart one site, and compare the models at the end.

    After ``seconds``, models are compared whether sites agree or not. ``show`` is called repeatedly
    with the seconds so far, the statuses, and news or None.
    """
    rows = dealt_out(X, y, n_sites)
    problem = PooledProblem(X, y, LAM)
    optimum = problem.solved()
    settings = {"lam": LAM, "tol": TOL, "round_interval": round_interval, "sync": False}
    parts = [(X[here], y[here]) for here in rows]
    with LocalFleet(folder, parts, graph_of("ring", n_sites), settings) as fleet:
        run = _Run(fleet, seconds, show)
        for site in fleet.sites:
            fleet.start(site)
        run.news(f"{n_sites} processes started, each with {len(y) // n_sites:,} rows of its own")
        victim = fleet.sites[1 % n_sites]
        run.until(lambda seen: _rounds(seen, victim) >= ROUNDS_BEFORE_THE_KILL)
        fleet.kill(victim)
        run.news(f"{victim.name} killed (SIGKILL) after {_rounds(run.seen, victim)} rounds")
        run.wait(SECONDS_DOWN)
        fleet.start(victim)
        run.news(f"{victim.name} started again, from its saved state")
        agreed = run.until(lambda seen: all(s and s["agreed"] for s in seen.values()))
        run.news("all sites agreed" if agreed else "the time is over before all sites agreed")
        results = []
        for site, here in zip(fleet.sites, rows, strict=True):
            model = fleet.model(site)
            results.append(
                SiteResult(
                    site.name,
                    len(here),
                    _rounds(run.seen, site),
                    problem.excess(model, optimum),
                    float(model.score(X, y)),
                    float(problem.solved(here).score(X, y)),
                )
            )
        return DemoResult(results, float(optimum.score(X, y)), victim.name, agreed, run.seconds)


class _Run:
    """Watches a fleet and shows its statuses."""

    def __init__(self, fleet: LocalFleet, seconds: float, show: Show) -> None:
        self._fleet, self._show = fleet, show
        self._began = time.monotonic()
        self._deadline = self._began + seconds
        self.seen: Statuses = {site.name: None for site in fleet.sites}

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._began

    def news(self, text: str) -> None:
        """Show an event."""
        self._show(self.seconds, self.seen, text)

    def until(self, reached: Callable[[Statuses], bool]) -> bool:
        """Watch until a condition holds; return False if the time is over before."""
        while time.monotonic() < self._deadline:
            self._look()
            if reached(self.seen):
                return True
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return False

    def wait(self, seconds: float) -> None:
        """Watch for some time."""
        end = time.monotonic() + seconds
        self.until(lambda _: time.monotonic() >= end)

    def _look(self) -> None:
        for site in self._fleet.sites:
            code = None if site.process is None else site.process.poll()
            if code is not None and code >= 0:  # negative if it was killed by a signal
                raise RuntimeError(
                    f"{site.name} ended by itself (exit code {code}): "
                    f"{self._fleet.last_output(site)}"
                )
        self.seen = self._fleet.statuses()
        self._show(self.seconds, self.seen, None)


def _rounds(statuses: Statuses, site: SiteProcess) -> int:
    status = statuses[site.name]
    return int(status["rounds"]) if status else 0
