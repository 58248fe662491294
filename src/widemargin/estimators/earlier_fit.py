"""Leave an earlier fit as it was where a new one fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["earlier_fit_kept"]

# What scikit-learn's validation sets before all else has been checked.
COLUMNS = ("n_features_in_", "feature_names_in_")


@contextmanager
def earlier_fit_kept(estimator: Any) -> Iterator[None]:
    """Put the description of the columns back if an error ends a fit before it sets a model."""
    state = vars(estimator)
    before = {name: state[name] for name in COLUMNS if name in state}
    model = state.get("classes_")
    try:
        yield
    except BaseException:
        if state.get("classes_") is model:  # else an interrupted fit has left its own model
            for name in COLUMNS:
                state.pop(name, None)
            state.update(before)
        raise
