"""Messages about parameters, in the names and values of Spark's Params.

The local estimators check values and give advice under their own names, as ``max_iter``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from sklearn.utils._param_validation import Interval, Options, make_constraint

from ..core.fit import worded

# Descriptions of constraints that scikit-learn knows by name or by type.
WORDS: dict[Any, list[str]] = {
    "boolean": ["True", "False"],
    "random_state": ["a whole number from 0 to 4294967295"],
    dict: ["a map from labels to weights"],
    str: ["a size such as '500MB'"],
}


def check_values(constraints: Mapping[str, list[Any]], values: Mapping[str, Any]) -> None:
    """Raise if the value of a Param is not allowed; None stands for one that is unset."""
    for name, value in values.items():
        allowed = constraints.get(name, [])
        if value is None or not allowed:
            continue
        if not any(make_constraint(each).is_satisfied_by(value) for each in allowed):
            raise ValueError(f"`{name}` must be {_listed(allowed)}; got {value!r}.")


def _listed(allowed: list[Any]) -> str:
    *others, last = [words for each in allowed for words in _words(each)]
    return f"{', '.join(others)} or {last}" if others else last


def _words(constraint: Any) -> list[str]:
    """Describe a constraint; what a Param cannot be, such as an object, has no description."""
    if isinstance(constraint, Options):
        return [repr(each) for each in sorted(constraint.options)]
    if isinstance(constraint, Interval):
        return [_range(constraint)]
    return WORDS.get(constraint, []) if isinstance(constraint, str | type) else []


def _range(allowed: Interval) -> str:
    left, right, closed = allowed.left, allowed.right, allowed.closed
    kind = "a whole number" if allowed.type is Integral else "a number"
    if left is None and right is None:
        return f"{kind} that is finite"
    if right is None:
        return f"{kind} {'of at least' if closed in ('left', 'both') else 'above'} {left:g}"
    if allowed.type is Integral and closed == "both":
        return f"{kind} from {left} to {right}"
    opening = "[" if closed in ("left", "both") else "("
    closing = "]" if closed in ("right", "both") else ")"
    return f"{kind} in {opening}{-float('inf') if left is None else left:g}, {right:g}{closing}"


@contextmanager
def in_spark_names(names: Mapping[str, str]) -> Iterator[None]:
    """Replace names of local parameters in errors and warnings by those of Params.

    Names in quotes are left alone, as they may be those of columns.
    """
    pattern = re.compile(rf"(?<!['\"\w])({'|'.join(map(re.escape, names))})(?!['\"\w])")

    def renamed(message: str) -> str:
        return pattern.sub(lambda found: names[found[1]], message)

    with worded(renamed):
        try:
            yield
        except (ValueError, TypeError, MemoryError, RuntimeError) as error:
            if error.args and isinstance(error.args[0], str):
                error.args = (renamed(error.args[0]), *error.args[1:])
            raise
