"""Labels that are numbers, so many different ones that they are hardly names of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Up to so many different numbers are taken for classes, however few rows there are of each.
FEW_CLASSES = 20
#: Fewer rows than this of each number, on average, are hardly those of a class.
ROWS_OF_A_CLASS = 10


def resemble_targets(classes: NDArray[Any], n_rows: int) -> bool:
    """Return whether the different labels of some rows look like what a regression learns."""
    many = len(classes) > FEW_CLASSES and n_rows < ROWS_OF_A_CLASS * len(classes)
    return classes.dtype.kind in "iuf" and many


def cannot_be_classes(classes: NDArray[Any], n_rows: int) -> bool:
    """Return whether labels are not whole numbers, or most classes would have a row or two."""
    if classes.dtype.kind == "f" and not np.all(np.mod(classes, 1.0) == 0.0):
        return True
    return resemble_targets(classes, n_rows) and 2 * len(classes) > n_rows


def described(classes: NDArray[Any], n_rows: int) -> str:
    """Say what looks like a regression."""
    return f"{len(classes):,} different numbers in {n_rows:,} rows look like a regression"
