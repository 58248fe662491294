"""Which labels are taken for numbers that a regression should learn."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.core.labels_like_targets import cannot_be_classes, resemble_targets


@pytest.mark.parametrize(
    ("classes", "n_rows", "resemble", "cannot"),
    [
        (np.arange(214.0), 442, True, False),
        (np.arange(214), 427, True, True),
        (np.arange(214).astype(str), 427, False, False),
        (np.arange(40), 400, False, False),  # ten faces of each of forty people
        (np.arange(1000), 108_000, False, False),
        (np.arange(3), 3, False, False),
        (np.array([-1, 1]), 2, False, False),
        (np.array([False, True]), 2, False, False),
        (np.array([0.5, 1.5]), 400, False, True),
    ],
)
def test_labels(classes: np.ndarray, n_rows: int, resemble: bool, cannot: bool) -> None:
    assert resemble_targets(classes, n_rows) == resemble
    assert cannot_be_classes(classes, n_rows) == cannot
