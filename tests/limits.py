"""What kernel solvers are called with in tests."""

from typing import Any

from widemargin.core.budget import Budget
from widemargin.core.history import History, Listener
from widemargin.kernel.problem import COLUMNS


def limits(*, listener: Listener | None = None, **budget: Any) -> tuple[Budget, History]:
    """Return a budget of many iterations, and an empty record."""
    return Budget(**{"max_iter": 10_000, **budget}), History(COLUMNS, listener=listener)
