r"""Copies among the rows of a training set, merged before a fit where they are many.

A linear machine's objective sums losses of single rows, so that equal rows of one class are one row
with the sum of their weights: the same function of the weights, with the same optimum and the same
certificate, at the cost of the distinct rows. KDD Cup 1999 has 494,021 rows, of which 145,586 are
distinct.

Looking for copies costs less than a pass of a solver, but is not free. A random sample of
:math:`s = 8\sqrt{n}` rows is looked at first: where every row is there :math:`m` times, it has
:math:`s^2 (m - 1) / 2n = 32 (m - 1)` pairs of equal rows on average, whatever the number of rows.
"""

from __future__ import annotations

import numpy as np

from .blocks import bytes_of
from .rows import copies
from .training_set import TrainingSet

# Sets of fewer rows are trained on as they are.
LEAST_ROWS = 10_000
# Rows of the sample, times the square root of all.
SAMPLE = 8
# Copies that the sample must have: a quarter of what two of each row give.
SAMPLE_COPIES = 8
# Share of the rows that merging must save.
WORTHWHILE = 0.25


def merged_if_many(training: TrainingSet, memory: int, threads: int = 1) -> TrainingSet:
    """Merge equal rows of a class if that saves enough of them; return the set as it is if not.

    The distinct rows are copied: not if they take more than ``memory`` bytes.
    """
    if len(training.codes) < LEAST_ROWS or not _sample_has_copies(training):
        return training
    group, first = copies(training.X, training.codes, threads)
    left = first.size / group.size
    if left > 1 - WORTHWHILE or left * bytes_of(training.X) > memory:
        return training
    return training.merged(group, first)


def _sample_has_copies(training: TrainingSet) -> bool:
    n = len(training.codes)
    size = min(n, int(SAMPLE * np.sqrt(n)))
    sample = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    _, first = copies(training.X[sample], training.codes[sample])
    return first.size <= size - SAMPLE_COPIES
