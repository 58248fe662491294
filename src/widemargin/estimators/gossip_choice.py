"""Choice of C without pooling: every value is trained at once, and scored on rows of every site.

The values are columns of one exchange: a network per value, with the same messages lost. Every
site holds some of its rows out and counts how many of them its own model gets right; the counts are
summed by gossip, so that all sites choose alike. Then the chosen value is trained on all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.history import History
from ..linear.model import decisions_of, split_weights
from .gossip_fit import COLUMNS, NetworkOutcome, Simulating
from .gossip_sites import Placement


@dataclass(frozen=True)
class ChosenValue:
    """The value that was chosen, and what it cost."""

    C: float
    scores: Array  # of every value
    messages: int
    n_bytes: int


def checked_values(C: Any) -> list[float]:
    """Return several values of C as numbers."""
    values = np.asarray(C, dtype=object).ravel().tolist()
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        numbers = [np.nan]
    if not numbers or not all(0 < number < np.inf for number in numbers):
        raise ValueError(f"`C` must be a positive number or several of them; got {C!r}.")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"`C` must not hold a value twice; got {C!r}.")
    return numbers


@dataclass(frozen=True)
class HeldOutRows:
    """A placement apart from some rows of every site, and these rows."""

    part: Placement
    X: Any
    codes: NDArray[np.int64]
    weights: Array
    site: NDArray[np.int64]

    @classmethod
    def of(cls, placement: Placement, share: float, seed: int) -> HeldOutRows:
        """Draw a share of the rows of every class at every site."""
        training = placement.training
        n_sites, n_classes = len(placement.labels), len(training.classes)
        site = np.repeat(np.arange(n_sites), np.diff(placement.start))
        cell = site * n_classes + training.codes
        order = np.random.default_rng([seed, 0x401D]).permutation(len(cell))
        order = order[np.argsort(cell[order], kind="stable")]
        count = np.bincount(cell, minlength=n_sites * n_classes)
        first = np.concatenate([[0], np.cumsum(count)])[:-1]
        place = np.arange(len(cell)) - first[cell[order]]
        out = np.zeros(len(cell), dtype=np.bool_)
        out[order[place < np.floor(share * count)[cell[order]]]] = True
        if not out.any():
            raise ValueError(
                f"`holdout`={share:g} leaves no row to choose `C` by: no class has as many as "
                f"{int(np.ceil(1 / share))} rows at any site. Raise `holdout`, or give one `C`."
            )
        kept = ~out
        part = replace(
            training,
            X=training.X[kept],
            codes=training.codes[kept],
            weights=training.weights[kept],
            kept=training.given_numbers(np.flatnonzero(kept)),
        )
        start = np.concatenate([[0], np.cumsum(np.bincount(site[kept], minlength=n_sites))])
        return cls(
            replace(placement, training=part, start=start.astype(np.int64)),
            training.X[out],
            training.codes[out],
            training.weights[out],
            site[out],
        )

    def score(self, models: Array, constant: float, members: NDArray[np.bool_]) -> float:
        """Return the share of rows that their own site's models, (problems, sites), get right."""
        right = total = 0.0
        coef, intercept = split_weights(models, constant)
        for s in np.flatnonzero(members):
            rows = np.flatnonzero(self.site == s)
            if rows.size == 0:
                continue
            decisions = decisions_of(self.X[rows], coef[:, s], intercept[:, s])
            labels = np.argmax(decisions, axis=1) if len(coef) > 1 else decisions[:, 0] > 0
            right += float(self.weights[rows] @ (labels == self.codes[rows]))
            total += float(self.weights[rows].sum())
        return right / total if total > 0 else np.nan


def choose(
    values: list[float],
    held_out: HeldOutRows,
    simulating: Callable[[float], Simulating],
    budget: Budget,
) -> ChosenValue:
    """Train every value on what is not held out, and take the best; of equal ones the smallest.

    ``simulating`` poses the problems of a value.
    """
    scores = np.empty(len(values))
    messages = n_bytes = 0
    for j, value in enumerate(values):
        simulate = simulating(value)
        n_problems = simulate.problems.n_problems
        outcomes: list[NetworkOutcome] = []
        for k in range(n_problems):
            # One more: the fit on all rows.
            share = budget.share(j * n_problems + k, (len(values) + 1) * n_problems)
            outcomes.append(simulate(k, share, History.of(COLUMNS, share)).iterate)
        rounds = max(each.rounds for each in outcomes)
        members = simulate.rules.faults.members(len(held_out.part.labels), rounds)
        models = np.stack([each.models for each in outcomes])
        scores[j] = held_out.score(models, simulate.problems.constant, members)
        messages += sum(each.messages for each in outcomes)
        n_bytes += sum(each.n_bytes for each in outcomes)
    best = min(np.flatnonzero(scores == np.nanmax(scores)), key=lambda j: values[j])
    return ChosenValue(values[int(best)], scores, messages, n_bytes)
