r"""The one-class machine on parts of the training set, level by level towards the whole.

Parts that look like the whole set (:class:`.Stratified`) are small copies of its problem: the share
:math:`\nu` is the same, a row weighs :math:`W / W_p` times as much, and duals that are divided by
the number of parts merged are feasible for the next level. A level with parts of :math:`m` of the
:math:`n` rows costs :math:`2 \nu n m` kernel values instead of :math:`2 \nu n^2`.

The model of a level before the root is the mean of the parts' functions. Its offset is not the mean
of theirs: a row on the border of one part is well inside the mean of all of them, or well outside
(30,000 rows in 16 parts, :math:`\nu = 0.01`: 5 % of the rows are below the mean offset). It is the
:math:`\nu`-quantile of the mean function's own scores, on at most ``OFFSET_ROWS`` training rows.

Clusters, each with a function of its own, have no such form: the share of outliers is that of all
clusters together, which none of them can tell from its own rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import warn
from ..core.history import Listener
from ..engines import LocalEngine
from .divide.driver import LevelFit
from .divide.levels import collect
from .divide.placing import PlacedProblems
from .divide.strategies import Stratified
from .one_class import OneClassProblem, weighted_quantile
from .problem import KernelProducts
from .problems import KernelProblems

# The set is solved as a whole up to this many times ν n², half its kernel values: a minute or two.
EXACT_VALUES = 1e11
# Beyond, it is divided into parts of at most this many rows, whose cost is linear in n.
PART_ROWS = 50_000
# Rows that the offset of a mean is the quantile of: it is off by .0008 in the share at ν = .01.
OFFSET_ROWS = 16_384


class OneClassLevels(LevelFit):
    """A fit that takes the one-class problem through the levels of a strategy.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problems : KernelProblems
        The problem, with its ``nu``.
    strategy : Stratified
        The way it is divided.
    budget : Budget
        Its limits.
    announce : callable, optional
        Called with the problem, the level and its number of parts when a level begins.
    report : callable, optional
        Called with the level, its parts that are solved and all its parts.
    listener : callable, optional
        Called after every block of a single part.
    """

    def __init__(
        self,
        name: str,
        problems: KernelProblems,
        strategy: Stratified,
        budget: Budget,
        *,
        announce: Callable[[int, int, int], None] | None = None,
        report: Callable[[int, int, int], None] | None = None,
        listener: Listener | None = None,
    ) -> None:
        engine = LocalEngine(budget.threads)
        self.problems = problems
        self.placed = PlacedProblems(problems, strategy, engine)
        super().__init__(
            name,
            1,
            self.placed.pose,
            strategy,
            problems.loss.name,
            engine,
            "auto",
            budget,
            announce=announce,
            report=report,
            listener=listener,
        )

    def model(self) -> tuple[Array, float]:
        """Return duals and offset of the last complete level; see :meth:`.OneClassFit.model`."""
        level, problem = self.reached[0].level, self.problems.problem(0, self.budget.threads)
        assert isinstance(problem, OneClassProblem)
        net_dual, _ = self.placed.duals(0, level)
        if level.n_parts > 1:
            return net_dual, self._quantile(problem, net_dual) - problem.border
        (whole,) = collect(level, self.engine)
        assert whole.report is not None
        return net_dual, whole.report.offset - problem.border

    def attributes(self) -> dict[str, Any]:
        """Return the attributes that describe how the fit went; the start is an iteration."""
        attributes = super().attributes()
        return attributes | {"n_iter_": max(1, attributes["n_iter_"])}

    def _quantile(self, problem: OneClassProblem, net_dual: Array) -> float:
        """Return the offset of a mean of models, from the scores of some rows."""
        rows = np.arange(problem.n_rows)
        if problem.n_rows > OFFSET_ROWS:
            random = np.random.default_rng([self.budget.seed, problem.n_rows])
            rows = np.sort(random.choice(rows, OFFSET_ROWS, replace=False))
        support = np.flatnonzero(net_dual)
        scores = KernelProducts(problem).some_rows(rows, support, net_dual[support])
        share = problem.mass / float(problem.weights.sum())
        weights = problem.weights[rows]
        return weighted_quantile(scores, weights, share * float(weights.sum()))


def resolve_division(strategy: Any, n_rows: int, nu: float, name: str) -> Stratified | None:
    """Turn the parameter into a strategy; None means the whole set at once."""
    if strategy == "stratified":
        return Stratified()
    if isinstance(strategy, Stratified):
        strategy._validate_params()
        for setting, why in (
            ("printed", "no paper prints a one-class machine of this kind"),
            ("validation_fraction", "rows without labels cannot score a level"),
        ):
            if getattr(strategy, setting):
                raise ValueError(f"{name} cannot use `{setting}`: {why}; got {strategy!r}.")
        return strategy
    if strategy == "exact" or nu * float(n_rows) ** 2 <= EXACT_VALUES:
        return None
    levels = 1
    while n_rows > PART_ROWS * 4**levels:
        levels += 1
    warn(
        f"{name} divides {n_rows} training rows into {4**levels} parts and stops there: the model "
        "is the mean of the parts' models. strategy='exact' solves the whole set, which takes "
        f"about {2 * nu * float(n_rows) ** 2:.1g} kernel values; strategy=Stratified(...) sets how "
        "it is divided."
    )
    return Stratified(levels=levels, stop_level=levels)
