"""The methods of the tables as estimators, all with the settings they are given."""

from __future__ import annotations

from functools import partial
from typing import Any

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)

LOSSES: dict[str, Any] = {"odm": ODMClassifier, "svm": SVMClassifier}
STRATEGIES: dict[str, Any] = {
    "cascade": Cascade,
    "preserving": Preserving,
    "clustered": partial(Clustered, n_sample=1000),  # the paper's sample
    "stratified": Stratified,
}
VARIANTS = ("early", "root", "printed")
FAN_IN, LEAF_ROWS = 4, 3_200


def levels_for(rows: int) -> int:
    """Divide so often that leaves have at most 3,200 rows, which is 700 to 3,100 in these sets."""
    levels = 1
    while rows > LEAF_ROWS * FAN_IN**levels:
        levels += 1
    return levels


def exact(loss: str, C: float, gamma: float, **settings: Any) -> Any:
    """Solve the whole set at once."""
    return LOSSES[loss](C=C, gamma=gamma, strategy="exact", random_state=0, **settings)


def divided(
    loss: str, method: str, variant: str, levels: int, C: float, gamma: float, **settings: Any
) -> Any:
    """Divide and conquer: to the root, stopped at the leaves, or as the paper prints it."""
    strategy = STRATEGIES[method](
        levels=levels,
        fan_in=FAN_IN,
        stop_level=levels if variant == "early" else 0,
        printed=variant == "printed",
    )
    return LOSSES[loss](C=C, gamma=gamma, strategy=strategy, random_state=0, **settings)
