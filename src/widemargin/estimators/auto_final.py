"""The last fit of :class:`AutoClassifier`: the best candidate on all rows, as time allows.

A linear classifier, or a kernel classifier for which the time is expected to suffice, is trained on
all rows. Other kernel problems are divided into clusters, small enough for the time there is. The
divided model is trained without the validation rows, and kept if it does no worse on them than the
best model of the search. Failing that, as many rows are drawn as there is time for.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.fit import warn
from ..core.training_set import TrainingSet
from ..kernel.divide.driver import PART_ROWS
from ..kernel.divide.strategies import Clustered
from .auto_candidates import Candidate
from .auto_search import Problem, Search, Tested
from .auto_splits import Indices, stratified_order
from .held_out import HeldOut

# The last fit has a smaller gap than those of the search, which takes about twice as long.
PRECISE = 2.0
# A calibrated fit of the search takes so many times as long: it has the fits of five folds, too.
CALIBRATED = 6.0
# Share of the remaining time that a fit may be expected to take: expectations err.
EXPECTED_SHARE = 0.7
# Share of all the time that the search leaves, at least and at most.
LEAST_LEFT, MOST_LEFT = 0.1, 0.5
# Clusters have at most PART_ROWS rows, and are not made smaller than this.
FEWEST_PART_ROWS = 1_000
FAN_IN = 4


class LastFit:
    """The last fit, and the time that it needs.

    Parameters
    ----------
    problem : Problem
        The rows.
    calibrate : str or None
        How decisions become probabilities.
    max_time : float or None
        Seconds for search and last fit together.
    began : float
        When they began, by ``time.perf_counter``.

    Attributes
    ----------
    model : estimator or None
        The model, once there is one.
    features : array or None
        Weights of its features.
    n_rows : int
        Rows that it was trained on.
    tested : list of Tested
        Decisions of this model, or of others with the same parameters, on rows that they were not
        trained on.
    """

    def __init__(
        self, problem: Problem, calibrate: str | None, max_time: float | None, began: float
    ) -> None:
        self.problem, self.calibrate = problem, calibrate
        self.max_time, self.began = max_time, began
        self.model: Any = None
        self.features: Array | None = None
        self.n_rows = 0
        self.tested: list[Tested] = []

    @property
    def time_left(self) -> float:
        """Seconds that are left for everything."""
        if self.max_time is None:
            return float("inf")
        return self.began + float(self.max_time) - time.perf_counter()

    @property
    def _limit(self) -> float | None:
        return None if self.max_time is None else max(self.time_left, 1e-3)

    def set_aside(self, search: Search) -> float:
        """Return the seconds that the search must leave."""
        if self.max_time is None:
            return 0.0
        best, expected = search.best, 0.0
        if best is not None:
            expected = self._expected(search, best.candidate, self.problem.n_rows) / EXPECTED_SHARE
        return float(np.clip(expected, LEAST_LEFT * self.max_time, MOST_LEFT * self.max_time))

    def take(self, search: Search) -> None:
        """Take the best model of the search, until there is a better one."""
        if search.tested:
            first = search.tested[0]
            self.model, self.features = first.model, first.features
            self.n_rows, self.tested = first.n_rows, search.tested

    def run(self, search: Search, candidate: Candidate) -> None:
        """Train a candidate: the best of the search, or any if none was tried."""
        self.take(search)
        n_rows = self.problem.n_rows
        random = np.random.default_rng(0)
        all_rows = stratified_order(np.arange(n_rows), self.problem.codes, random)
        enough = EXPECTED_SHARE * self.time_left
        if not candidate.family.kernel or self._expected(search, candidate, n_rows) <= enough:
            self._train(candidate, all_rows)
        elif not self._train_divided(search, candidate):
            train = search.splits.parts[0][0]
            affordable = self._affordable(search, candidate, len(train))
            if self.model is None:  # however little time there is, a model must come of it
                affordable = max(affordable, min(FEWEST_PART_ROWS, len(train)))
            if affordable > self.n_rows:
                self._train(candidate, train[:affordable])

    def calibrated(self) -> Any:
        """Return the model, calibrated by decisions on rows that were not trained on."""
        model, problem = self.model, self.problem
        model.set_params(max_time=None)  # what was left during the fit means nothing later
        if self.calibrate is None:
            return model
        model.set_params(calibrate=self.calibrate)
        alike = [
            each for each in self.tested if np.array_equal(each.model.classes_, model.classes_)
        ]
        if alike:
            rows = np.concatenate([each.held_out for each in alike])
            decisions = np.concatenate([each.decisions for each in alike])
            held = HeldOut(problem.codes[rows], problem.weight[rows], decisions)
            n_rows = problem.n_rows
            training = TrainingSet(
                None, problem.classes, problem.codes, problem.weight, None, n_rows
            )
            model._set_calibration(_scheme(model, decisions.shape[1]), held, training)
        else:  # no row could be held out of a class, or there was no time for it
            model.set_params(max_time=self._limit)
            model.fit(*problem.some(np.arange(problem.n_rows), self.features))
            model.set_params(max_time=None)
        return model

    def warn(self, name: str) -> None:
        """Warn if the model was not trained on all rows."""
        if self.n_rows < self.problem.n_rows:
            warn(
                f"{name} trained on {self.n_rows:,} of {self.problem.n_rows:,} rows, as many as "
                f"max_time={self.max_time:g} allows. Raise `max_time` to use all of them."
            )

    def _expected(self, search: Search, candidate: Candidate, rows: int) -> float:
        seconds = PRECISE * (search.fit_seconds(candidate, rows) or 0.0)
        return seconds if self.problem.calibrate is None else seconds / CALIBRATED

    def _affordable(self, search: Search, candidate: Candidate, most: int) -> int:
        """Return the number of rows that there is time for."""
        expected = self._expected(search, candidate, most)
        share = EXPECTED_SHARE * max(self.time_left, 0.0) / max(expected, 1e-9)
        return int(most * min(1.0, share) ** (1.0 / candidate.family.order))

    def _train_divided(self, search: Search, candidate: Candidate) -> bool:
        """Train on clusters, unless there is no time or the model is worse; tell which."""
        train, held_out = search.splits.parts[0]
        part, enough = PART_ROWS, EXPECTED_SHARE * self.time_left
        while part >= FEWEST_PART_ROWS:
            if len(train) / part * self._expected(search, candidate, part) <= enough:
                break
            part //= 2
        if part < FEWEST_PART_ROWS or len(train) < 2 * part:
            return False
        levels = int(np.ceil(np.log(len(train) / part) / np.log(FAN_IN)))
        strategy = Clustered(levels=levels, fan_in=FAN_IN, stop_level=levels)
        before = self.model, self.features, self.n_rows
        model = self._train(candidate, train, strategy=strategy)
        score, decisions = self.problem.tested(model, held_out, self.features)
        if search.best is not None and score < search.best.score:
            self.model, self.features, self.n_rows = before
            return False
        self.tested = [Tested(model, self.features, len(train), held_out, decisions)]
        return True

    def _train(self, candidate: Candidate, rows: Indices, **settings: Any) -> Any:
        given = {**self.problem.settings, "max_time": self._limit, **settings}
        model, features = candidate.estimator(**given), None
        if candidate.family.weighted:
            features = self.problem.relevance(rows, candidate.family.rounds)
        try:
            model.fit(*self.problem.some(rows, features))
        finally:  # an interrupt may leave a model
            if hasattr(model, "classes_"):
                self.model, self.features, self.n_rows = model, features, len(rows)
        return model


def _scheme(model: Any, n_columns: int) -> str:
    """Return what the columns of a model's decisions are."""
    if n_columns == 1:
        return "binary"
    return "pairs" if getattr(model, "multi_class_", "ovr") == "ovo" else "rest"
