r"""Whether a part that should stand for the whole set still shows a row its neighbours.

A part of m of M rows that looks like the whole set keeps m/M of the kernel's mass around a row. If
what is left, :math:`\sum_{j \ne i} |\kappa(x_i, x_j)| / \kappa(x_i, x_i)` over the other rows of
the part, is less than one row's own value, the part's model there is that of hardly any row: the
part is blind. Share of such rows in leaves of 1,000 to 3,000 rows: covtype (γ = 32) .40 to .69;
phishing (γ = 1/2) .24; ijcnn1 (γ = 8), skin_nonskin (γ = 32), cod-rna (γ = 2), a9a and susy_30k
(γ = 1/8) .006 at most.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.rows import as_rows
from ...engines import Engine
from ..samples import Part
from .division import Numbers, drawn_among

# Rows of a part that are looked at.
SAMPLED_ROWS = 256
# Parts with fewer rows are too small to tell the kernel's width by.
FEWEST_ROWS = 30
# Columns of kernel values at a time.
COLUMNS = 4096
# A part is blind if more than this share of its rows is lonely.
BLIND = 1 / 3


def lonely_share(engine: Engine, parts: Any, seed: int) -> float:
    """Return the share of rows whose neighbours in their part have less weight than the row.

    One part is looked at, as parts that stand for the whole set are alike.
    """
    return engine.visit(parts, 0, partial(_lonely_share, seed), 0.0)


def _lonely_share(seed: int, part: Part, _: float) -> float:
    if part.n_rows < FEWEST_ROWS:
        return 0.0
    rows = drawn_among(part.rows, SAMPLED_ROWS, np.random.default_rng(seed))
    others = np.zeros(rows.size)  # their weight, and that of the row itself
    itself = np.zeros(rows.size)
    for first in range(0, part.n_rows, COLUMNS):
        here = part.rows[first : first + COLUMNS]
        values = np.abs(_values(part, rows, here))
        same = here == rows[:, None]
        itself += np.where(same, values, 0.0).sum(axis=1)
        others += np.where(same, 0.0, values).sum(axis=1)
    return float(np.mean(others < itself))


def _values(part: Part, rows: Numbers, columns: Numbers) -> Array:
    source = part.source
    if source.pairwise:
        return np.asarray(source.values(rows, columns), dtype=np.float64)
    kernel = replace(source.kernel, constant=0.0)  # an intercept is no neighbour
    block = kernel.block(as_rows(source.take(rows).X), as_rows(source.take(columns).X))
    return np.asarray(block, dtype=np.float64)
