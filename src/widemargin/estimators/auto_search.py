"""Successive halving: many candidates on few rows, the better ones on more, the best on all.

Jamieson and Talwalkar (2016), "Non-stochastic best arm identification and hyperparameter
optimization", with these departures:

1. What grows from rung to rung is the number of training rows, then that of splits; validation rows
   stay.
2. Candidates whose distance from the best chance does not explain are left out at once.
3. On the last rung, the search goes on from the best candidate to its neighbours between the values
   of the grid.
4. Candidates of a path of C are fitted together, each from the solution of the one before.
5. When the time is over, the candidates that reached the highest rung are compared. A rung begins
   with those that did best on the one before.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from .auto_candidates import FEW_ROUNDS, Candidate
from .auto_relevance import MOST_ROWS, relevance, weighted
from .auto_splits import FEW_SPLITS, Indices, Rung, Splits
from .search_grid import SAME_SCORE, Scorer

# Share of the candidates that a rung passes on, and fewest of them.
PASSED_ON, FEWEST = 1 / 3, 4
# Candidates that are this many standard errors behind the best are left out at once.
BEHIND = 3.0
# Relative gap of the models of a search; the last fit has the default of its classifier.
SEARCH_TOL = 1e-2
# A fit of few rows takes as long as if it had so many more: the rest is not solving.
OVERHEAD_ROWS = 2_000
# Steps of the search between the values of the grid, as parts of a step of the grid.
REFINEMENTS = (0.5, 0.5)


@dataclass(frozen=True)
class Problem:
    """The rows of a search.

    Attributes
    ----------
    X : array or CSR matrix
        Rows, preprocessed.
    classes, codes : array
        Sorted labels, and the position of each row's label among them.
    weight : array
        Sample weights, all positive.
    scorer : callable or None
        ``scorer(model, X, y)``; None is the weighted accuracy.
    calibrate : str or None
        How candidates are calibrated, for a score of probabilities.
    settings : dict
        Parameters that all candidates have: class weights, seed, threads, memory.
    """

    X: Any
    classes: NDArray[Any]
    codes: Indices
    weight: Array
    scorer: Scorer | None
    calibrate: str | None
    settings: dict[str, Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def some(self, rows: Indices, features: Array | None = None) -> tuple[Any, NDArray[Any], Array]:
        """Return some rows, their labels and their weights; features weighted if given."""
        return (
            weighted(self.X[rows], features),
            self.classes[self.codes[rows]],
            self.weight[rows],
        )

    def relevance(self, rows: Indices, rounds: int, start: Array | None = None) -> Array:
        """Return weights of the features, from some rows."""
        return relevance(*self.some(rows[:MOST_ROWS]), self.settings, rounds, start)

    def tested(
        self, model: Any, rows: Indices, features: Array | None = None
    ) -> tuple[float, Array]:
        """Return the score of a model on some rows, and its decisions on them."""
        X, y, weight = self.some(rows, features)
        decisions: Array = model._decisions(X)
        if self.scorer is not None:
            return float(self.scorer(model, X, y)), decisions
        right = model._labels(decisions) == y
        return float(np.average(right, weights=weight)), decisions


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with its scores on some splits.

    Attributes
    ----------
    candidate : Candidate
        The candidate.
    rung : Rung
        Training rows, and number of splits.
    scores : array
        Score of each split.
    seconds : float
        Time of all fits and predictions, that of a path divided among its candidates.
    converged : bool
        Whether all models reached the gap of a search.
    """

    candidate: Candidate
    rung: Rung
    scores: Array
    seconds: float
    converged: bool

    @property
    def score(self) -> float:
        """Mean score."""
        return float(self.scores.mean())


@dataclass(frozen=True)
class Tested:
    """A model of one candidate, tested on rows that it was not trained on."""

    model: Any
    features: Array | None  # weights of its features
    n_rows: int  # rows it was trained on
    held_out: Indices  # rows that it was tested on
    decisions: Array  # of these rows


class OutOfTime(Exception):
    """The time that the search may take is over."""


class Search:
    """A race of candidates.

    Parameters
    ----------
    problem : Problem
        The rows.
    splits : Splits
        Training and validation rows.
    time_left : callable
        Returns the seconds that the search may still take.
    report : callable
        Called with the name of a rung, the fits done and the fits of it.

    Attributes
    ----------
    trials : list of Trial
        All that was tried, in the order of the search.
    finalists : list of Trial
        The trials on the highest rung so far.
    tested : list of Tested
        Models of the best finalist, of the splits that its last rung added; before there is one, of
        the first candidate.
    """

    def __init__(
        self,
        problem: Problem,
        splits: Splits,
        time_left: Callable[[], float],
        report: Callable[[str, int, int], None],
    ) -> None:
        self.problem, self.splits = problem, splits
        self.time_left, self.report = time_left, report
        self.trials: list[Trial] = []
        self.finalists: list[Trial] = []
        self.tested: list[Tested] = []
        # Score, seconds and convergence by candidate, rows and split.
        self._known: dict[tuple[Candidate, int, int], tuple[float, float, bool]] = {}
        # Weights of the features by split and rounds.
        self._relevance: dict[tuple[int, int], Array] = {}

    @property
    def best(self) -> Trial | None:
        """The best finalist: that of the highest score; among equals that of the smallest C."""
        if not self.finalists:
            return None
        highest = max(each.score for each in self.finalists)
        equal = [each for each in self.finalists if each.score >= highest - SAME_SCORE]
        return min(equal, key=lambda each: each.candidate.C)

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Search until nothing is left to win, or the time is over."""
        ladder = self.splits.ladder
        try:
            for k, rung in enumerate(ladder):
                chosen = self._passed_on() if k else candidates
                self._try(chosen, rung, f"rung {k + 1} of {len(ladder)}, fits", [])
            for step in REFINEMENTS:
                best = self.best
                if best is None:
                    break  # no row could be held out
                if best.score >= 1.0 - SAME_SCORE and self.problem.scorer is None:
                    break
                self._try_neighbours(best, step)
                if self.best is best:
                    break
        except OutOfTime:
            pass

    def _try_neighbours(self, best: Trial, step: float) -> None:
        """Try what is near the best candidate: on few splits, then on all if that is no worse."""
        tried, finalists = {each.candidate for each in self.finalists}, self.finalists
        near = [each for each in best.candidate.neighbours(step) if each not in tried]
        few = Rung(best.rung.rows, min(FEW_SPLITS, best.rung.splits))
        tested, begun = self.tested, len(self.trials)
        try:
            self._try(near, few, "neighbours of the best on few splits, fits", [])
        finally:
            self.finalists, self.tested = finalists, tested
        enough = best.scores[: few.splits].mean() - SAME_SCORE
        near = [each.candidate for each in self.trials[begun:] if each.score >= enough]
        self._try(near, best.rung, "neighbours of the best, fits", finalists)

    def _try(
        self, candidates: Sequence[Candidate], rung: Rung, name: str, finalists: list[Trial]
    ) -> None:
        """Try candidates on a rung; with those given, they become the finalists."""
        total, done = len(candidates) * rung.splits, 0
        for path in _paths(candidates):
            tested: dict[Candidate, list[Tested]] = {each: [] for each in path}
            for split in range(rung.splits):
                self._test(path, rung.rows, split, tested)
                done += len(path)
                self.report(name, done, total)
            trials = [self._trial(each, rung) for each in path]
            self.trials += trials
            finalists = [*finalists, *trials]
            self.finalists = finalists
            best = self.best
            if best in trials:
                self.tested = tested[best.candidate]

    def _test(
        self,
        path: Sequence[Candidate],
        rows: int,
        split: int,
        tested: dict[Candidate, list[Tested]],
    ) -> None:
        """Fit the candidates of a path, which differ by C only, and test them on a split."""
        path = [each for each in path if (each, rows, split) not in self._known]
        if not path:
            return
        left = self.time_left()
        expected = sum(self.fit_seconds(each, rows) or 0.0 for each in path)
        if left <= expected:
            raise OutOfTime
        problem, (train, test) = self.problem, self.splits.parts[split]
        train = train[:rows]
        limit = None if np.isinf(left) else left
        own = {"tol": SEARCH_TOL, "max_time": limit, "calibrate": problem.calibrate}
        estimator = path[0].estimator(**problem.settings, **own)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what does not converge here is in the leaderboard
            rounds = path[0].family.rounds
            features = self._features(split, rounds) if rounds else None
            X, y, weight = problem.some(train, features)
            models = estimator.fit_path(X, y, [each.C for each in path], weight)
            results = [problem.tested(model, test, features) for model in models]
        seconds = (time.perf_counter() - began) / len(path)
        for each, model, (score, decisions) in zip(path, models, results, strict=True):
            self._known[each, rows, split] = score, seconds, bool(model.converged_)
            tested[each].append(Tested(model, features, len(train), test, decisions))
        if not self.tested:
            self.tested = tested[path[0]]

    def _features(self, split: int, rounds: int) -> Array:
        """Return the weights of the features, from all training rows of a split.

        From the few rows of a rung they would say nothing of those from all, and a family that
        lives by them would be left out.
        """
        key = split, rounds
        if key not in self._relevance:
            # Many rounds go on where few have ended: other families ask for these, too.
            fewer = FEW_ROUNDS if rounds > FEW_ROUNDS else 0
            start = self._features(split, fewer) if fewer else None
            train, _ = self.splits.parts[split]
            self._relevance[key] = self.problem.relevance(train, rounds - fewer, start)
        return self._relevance[key]

    def fit_seconds(self, candidate: Candidate, rows: int) -> float | None:
        """Return the seconds of a fit as expected from earlier ones; None before any.

        From the same candidate on most rows, or the slowest of its family on most rows.
        """
        known = [
            (each == candidate, size, seconds)
            for (each, size, _), (_, seconds, _) in self._known.items()
            if each.name == candidate.name
        ]
        if not known:
            return None
        _, size, seconds = max(known)
        growth = (rows + OVERHEAD_ROWS) / (size + OVERHEAD_ROWS)
        return float(seconds * max(1.0, growth) ** candidate.family.order)

    def _trial(self, candidate: Candidate, rung: Rung) -> Trial:
        known = [self._known[candidate, rung.rows, split] for split in range(rung.splits)]
        scores, seconds, converged = zip(*known, strict=True)
        return Trial(candidate, rung, np.array(scores), sum(seconds), all(converged))

    def _passed_on(self) -> list[Candidate]:
        """Return the candidates that go on to the next rung, the best first."""
        ranked = sorted(self.finalists, key=lambda each: -each.score)
        best = ranked[0]
        behind = BEHIND * self._standard_error(best)
        near = [each for each in ranked if best.score - each.score <= behind]
        return [each.candidate for each in near[: max(FEWEST, round(PASSED_ON * len(ranked)))]]

    def _standard_error(self, trial: Trial) -> float:
        """Return the standard error of a score: that of a share, or that of the mean of splits."""
        if self.problem.scorer is None:
            rows = self.splits.validation_rows * len(trial.scores)
            # Add two successes and two failures: a perfect score has an error, too.
            share = (trial.score * rows + 2.0) / (rows + 4.0)
            return float(np.sqrt(share * (1.0 - share) / (rows + 4.0)))
        if len(trial.scores) == 1:
            return float("inf")
        return float(trial.scores.std(ddof=1) / np.sqrt(len(trial.scores)))


def _paths(candidates: Iterable[Candidate]) -> list[list[Candidate]]:
    """Group candidates that differ by C only, in the order in which they come."""
    paths: dict[Any, list[Candidate]] = {}
    for each in candidates:
        paths.setdefault((each.name, each.others), []).append(each)
    return list(paths.values())
