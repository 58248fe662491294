"""Targets of a regression, block by block: the counterpart of the label book."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .formats.blocks import Block, numbers_or_text

TARGET_TYPE = np.dtype(np.float64)


class TargetBook:
    """Checks that the labels of blocks are numbers, and keeps them as they are."""

    dtype = TARGET_TYPE

    def encode(self, block: Block) -> NDArray[np.float64]:
        """Return the target of each row."""
        labels: Any = block.labels
        numbers = numbers_or_text(labels) if isinstance(labels, list) else np.asarray(labels)
        if numbers.dtype.kind not in "iuf" or not np.all(np.isfinite(numbers)):
            row = next(k for k, label in enumerate(labels) if not _is_number(label))
            if block.label_codes is not None:
                row = int(np.flatnonzero(block.label_codes == row)[0])
                label = labels[block.label_codes[row]]
            else:
                label = labels[row]
            raise block.origin.error(
                f"expected finite numbers as targets of a regression; got {label!r}.", row
            )
        targets = numbers if block.label_codes is None else numbers[block.label_codes]
        return targets.astype(TARGET_TYPE)


def _is_number(label: Any) -> bool:
    if isinstance(label, bool | np.bool_):
        return False
    try:
        return bool(np.isfinite(float(label)))
    except ValueError:
        return False
