"""Pegasos on all rows in one place, ended by the paper's rule."""

from __future__ import annotations

from typing import Any

from .divided_problem import DividedProblem
from .local_steps import Silence, run
from .norm_rule import NormRule
from .outcome import Outcome

MAX_ROUNDS = 1_000_000


def fit(
    problem: DividedProblem,
    *,
    batch: int | None = 1,
    rule: NormRule | None = None,
    max_rounds: int = MAX_ROUNDS,
    **settings: Any,
) -> Outcome:
    """Run it; nothing is sent, since the rows are taken to be there already."""
    rule = NormRule() if rule is None else rule
    return run(
        problem.pooled(), Silence(), batch=batch, rule=rule, max_rounds=max_rounds, **settings
    )
