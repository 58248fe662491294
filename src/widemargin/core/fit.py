"""The one training skeleton: every fit, of any family, on any engine, runs through here.

1. **Validate** (estimator): check the data, turn labels into codes, collect weights.
2. **Pose**: build the problems of the family. They hold rows, loss and kernel, and no settings.
3. **Budget**: one :class:`~widemargin.core.budget.Budget` for the whole fit.
4. **Solve**: :class:`Fit` solves the problems, divides the budget among them and records them.
5. **Set**: :func:`train` hands the fit to the estimator, which sets its fitted attributes.

Only :func:`train` acts on an interrupt: it keeps a usable model, then re-raises. Others that see
one clean up and re-raise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .budget import Budget
from .history import History
from .outcome import Iterate, Solution

# Several problems are solved at the same time if there are at least this many.
FEWEST_AT_ONCE = 3


class Workers(Protocol):
    """An engine in this process that solves several problems at the same time."""

    def map(self, parts: Any, fn: Callable[[Any], Any], report: Any = None) -> Any:
        """Apply ``fn`` to every part."""
        ...

    def stopping(self) -> bool:
        """Return whether work in progress should stop."""
        ...


class Fit(Generic[Iterate]):
    """The problems of one fit, solved and accounted for.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    n_problems : int
        Binary problems, or one for all classes together.
    solve : callable
        ``solve(k, budget, history)`` solves problem ``k`` within its share of the budget.
    budget : Budget
        For all problems together.
    history : History
        The record of the fit.

    Attributes
    ----------
    solutions : dict of int to Solution
        The problems that are solved.
    """

    def __init__(
        self,
        name: str,
        n_problems: int,
        solve: Callable[[int, Budget, History], Solution[Iterate]],
        budget: Budget,
        history: History,
    ) -> None:
        self.name, self.n_problems, self.solve = name, n_problems, solve
        self.budget, self.history = budget, history
        self.solutions: dict[int, Solution[Iterate]] = {}
        self.histories: list[History] = []

    def run(
        self,
        workers: Workers | None = None,
        *,
        at_once: int = 1,
        sharers: int = 1,
        threads: int | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        """Solve all problems, ``at_once`` at the same time if there are workers.

        Parameters
        ----------
        workers : Workers, optional
            Solve problems side by side; without them, one problem follows the other.
        at_once, sharers, threads : int
            Problems at the same time, problems that share the memory, threads of each.
        report : callable, optional
            Receives (problems done, problems) while workers solve them.
        """
        side_by_side = workers is not None and at_once > 1
        self.histories = [
            # Problems solved in parallel run in threads, where a listener must not print.
            self.history.for_problem(k, quiet=side_by_side)
            for k in range(self.n_problems)
        ]
        begun = count()

        def solve_one(k: int) -> None:
            share = self.budget.share(
                next(begun),
                self.n_problems,
                at_once=at_once,
                sharers=sharers,
                threads=threads,
                stopping=workers.stopping if workers is not None and side_by_side else None,
            )
            self.solutions[k] = self.solve(k, share, self.histories[k])

        try:
            if workers is None:
                for k in range(self.n_problems):
                    solve_one(k)
            else:
                workers.map(list(range(self.n_problems)), solve_one, report)
        finally:
            for each in self.histories:
                self.history.extend(each.rows)

    @property
    def complete(self) -> bool:
        """Whether every problem is solved."""
        return len(self.solutions) == self.n_problems

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: every problem has been begun, if not finished."""
        return all(self.iterate(k) is not None for k in range(self.n_problems))

    @property
    def solved(self) -> list[Solution[Iterate]]:
        """The solutions so far, in the order of the problems."""
        return [self.solutions[k] for k in sorted(self.solutions)]

    def iterate(self, k: int) -> Iterate | None:
        """Return the solution of a problem, or where an interrupt left it; None before it began."""
        if k in self.solutions:
            return self.solutions[k].iterate
        latest: Iterate | None = self.histories[k].latest if self.histories else None
        return latest

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that tell how the fit went."""
        solved = self.solved
        certificates = [each.certificate for each in solved]
        # Problems solved in another process have no history here, interrupted ones no solution.
        iterations = {k: each.iterations for k, each in enumerate(self.histories)}
        iterations |= {k: each.iterations for k, each in self.solutions.items()}
        return {
            "dual_gap_": float(sum(c.gap for c in certificates)) if self.complete else np.nan,
            "relative_gap_": (
                float(np.max([c.relative_gap for c in certificates])) if self.complete else np.nan
            ),
            "converged_": self.complete and all(each.outcome.converged for each in solved),
            "n_iter_": max(iterations.values(), default=0),
            "solver_": solved[-1].solver if solved else "",
            "history_": self.history.table(),
        }

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Warn once about the problems that did not converge, other than those left out."""
        counted = [each for k, each in sorted(self.solutions.items()) if k not in left_out]
        failed = [each for each in counted if not each.outcome.converged]
        if failed:
            worst = max(failed, key=lambda each: np.nan_to_num(each.certificate.relative_gap))
            several = len(counted) > 1
            where = f" in {len(failed)} of {len(counted)} binary problems" if several else ""
            warn(
                f"{self.name} did not converge{where}: relative gap "
                f"{worst.certificate.relative_gap:.3g}, wanted tol={self.budget.tol:g}. "
                f"{worst.outcome.value}",
                ConvergenceWarning,
            )


AnyFit = TypeVar("AnyFit", bound=Fit[Any])


def train(fit: AnyFit, run: Callable[[], None], keep: Callable[[AnyFit], None]) -> None:
    """Run a fit, keep its result, and warn about what did not converge.

    After an interrupt, the partial result is kept if ``fit.usable``, which each family defines;
    otherwise the estimator stays as it was. The interrupt is then re-raised.
    """
    try:
        run()
    except KeyboardInterrupt:
        if fit.usable:
            keep(fit)
        raise
    keep(fit)
    fit.warn()


# What warnings are put through; a front end whose parameters have other names replaces it.
_wording: ContextVar[Callable[[str], str]] = ContextVar("wording", default=str)


@contextmanager
def worded(change: Callable[[str], str]) -> Iterator[None]:
    """Change the messages of warnings."""
    before = _wording.set(change)
    try:
        yield
    finally:
        _wording.reset(before)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn; report the nearest caller outside this library and the frameworks that call it."""
    message = _wording.get()(message)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _ours(module: str) -> bool:
    return module.partition(".")[0] in ("widemargin", "sklearn", "pyspark", "contextlib")
