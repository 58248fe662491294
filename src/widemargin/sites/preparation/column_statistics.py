"""What sites tell of their tables before training, and what they conclude from the sums.

Three stages, each of which builds on what all sites have agreed on in those before:

1. ``sums``: rows, and of every number the values present and their sum. Also the names of the
   levels of categories that enough rows of a site have.
2. ``squares``: the sums of squared distances from the mean, and the rows of every level.
3. ``sketch``: of numbers that some rows miss, how many values lie in each of a few dozen bins
   around the mean; their median replaces what is missing.

Only sums over all sites matter. Columns with declared ranges or levels take no part.
See `agreed_preparation` for what follows from the conclusions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...tables.cleaning import MISSING_LEVEL
from ..studies.schema import Schema, SchemaColumn
from .site_table import SiteTable

__all__ = ["Agreed", "ColumnStatistics", "Names", "rounded"]

#: What has been concluded, by stage: JSON values.
Agreed = dict[str, dict[str, Any]]
#: Names of levels that may be told, by column, sorted.
Names = dict[str, list[str]]

#: Edges of the bins of a sketch in deviations from the mean: fine near it, coarse far from it.
EDGES = np.sinh(np.linspace(-6.0, 6.0, 97)) / 20.0
#: Rows without names of columns: more features than this are not compared with each other.
MOST_COMPARED = 20_000
#: Features that one category may become.
MOST_LEVELS = 100
#: Names of levels that are told, of all categories, and the longest of them.
MOST_NAMES, LONGEST_NAME = 4_000, 64


@dataclass(frozen=True)
class ColumnStatistics:
    """The stages for one schema, the same at all sites."""

    schema: Schema

    @cached_property
    def ranges(self) -> list[tuple[float, float] | None]:
        """Declared range of every number that the columns become; None if there is none.

        Of columns with a unit, the range after the logarithm was taken.
        """
        found: list[tuple[float, float] | None] = []
        for column in self.schema.columns:
            if column.kind == "date":
                turning = None if column.range is None else (-1.0, 1.0)
                found += [column.range if part == "day" else turning for part in column.parts]
            elif column.kind != "category":
                found.append(_after_logarithm(column))
        return found

    @cached_property
    def told(self) -> list[int]:
        """Numbers about which sites tell each other."""
        return [k for k, limits in enumerate(self.ranges) if limits is None]

    @cached_property
    def categories(self) -> list[str]:
        """Categories about whose levels sites tell each other."""
        return [c.name for c in self.schema.columns if c.kind == "category" and c.levels is None]

    @property
    def compared(self) -> int:
        """Number of features without names whose sizes are compared."""
        n_features = self.schema.n_features or 0
        return 0 if self.schema.declared or n_features > MOST_COMPARED else n_features

    def next_stage(self, agreed: Agreed) -> str | None:
        """Return the stage that follows what is agreed; None if nothing is left to find out."""
        if "sums" not in agreed:
            return "sums"
        if "squares" not in agreed and (self.told or self.categories):
            return "squares"
        if "sketch" not in agreed and self.gappy(agreed):
            return "sketch"
        return None

    def size(self, stage: str, agreed: Agreed) -> int:
        """Return how many numbers a site adds to the sums of a stage."""
        if stage == "sums":
            told = 0 if self.schema.declared else 1
            return (
                1 + 2 * len(self.told) + (2 * self.compared + told if self.schema.n_features else 0)
            )
        if stage == "squares":
            names = agreed["sums"]["names"]
            return len(self.told) + sum(len(names[name]) + 2 for name in self.categories)
        return (len(EDGES) + 1) * len(self.gappy(agreed))

    def counts(self, stage: str, agreed: Agreed) -> Array:
        """Return 1 for numbers of a stage that count rows, 0 for others."""
        size = self.size(stage, agreed)
        told = len(self.told)
        if stage == "sums":
            rest = size - 1 - told
            return np.repeat([1.0, 0.0], [1 + told, rest])
        if stage == "squares":
            return np.repeat([0.0, 1.0], [told, size - told])
        return np.ones(size)

    # --- at one site -----------------------------------------------------------------------------

    def names(self, table: SiteTable) -> Names:
        """Return the levels that enough rows of a table have for their names to be told."""
        if table.cleaned is None:
            return {}
        found: Names = {}
        for name in self.categories:
            levels = table.cleaned.levels[name]
            counts = zip(levels.texts, levels.counts.tolist(), strict=True)
            found[name] = [text for text, count in counts if count >= self.schema.min_count]
        return self.merged([found])

    def sizes(self, table: SiteTable) -> Array:
        """Return the mean absolute value of the numbers that sites tell about."""
        numbers = np.empty((0, 0)) if table.cleaned is None else table.cleaned.number_matrix
        if not numbers.size:
            return np.zeros(len(self.told))
        with np.errstate(over="ignore"):
            return np.asarray(np.abs(np.nan_to_num(numbers[:, self.told])).mean(axis=0))

    def merged(self, names: Iterable[Names]) -> Names:
        """Return all names; of too many, those that come first in the alphabet."""
        most = MOST_NAMES // max(1, len(self.categories))
        union: dict[str, set[str]] = {name: set() for name in self.categories}
        for each in names:
            for name in self.categories:
                union[name] |= {t for t in each.get(name, ()) if 0 < len(t) <= LONGEST_NAME}
        return {name: sorted(found - {MISSING_LEVEL})[:most] for name, found in union.items()}

    def contribution(self, stage: str, table: SiteTable, agreed: Agreed) -> Array:
        """Return what a site adds to the sums of a stage."""
        with np.errstate(over="ignore", invalid="ignore"):
            parts = list(self._parts(stage, table, agreed))
        added = np.concatenate([np.atleast_1d(np.asarray(p, dtype=np.float64)) for p in parts])
        if not np.isfinite(added).all():
            raise ValueError(
                "the table has numbers too large to be summed. Remove them, or declare the range "
                "of their column in the schema."
            )
        return added

    def _parts(self, stage: str, table: SiteTable, agreed: Agreed) -> Iterable[Any]:
        if table.cleaned is None:
            yield from self._parts_of_rows(table.X)
            return
        numbers = table.cleaned.number_matrix
        if stage == "sums":
            yield table.n_rows
            yield np.count_nonzero(~np.isnan(numbers[:, self.told]), axis=0)
            yield np.nansum(numbers[:, self.told], axis=0)
        elif stage == "squares":
            mean = np.array(agreed["sums"]["mean"])
            yield np.nansum(np.square(numbers[:, self.told] - mean), axis=0)
            for name in self.categories:
                levels = table.cleaned.levels[name]
                count = dict(zip(levels.texts, levels.counts.tolist(), strict=True))
                known = [count.get(each, 0) for each in agreed["sums"]["names"][name]]
                missing = levels.n_missing + count.get(MISSING_LEVEL, 0)
                yield [*known, missing, table.n_rows - missing - sum(known)]
        else:
            for k, centre, spread in self.gappy(agreed):
                present = numbers[~np.isnan(numbers[:, k]), k]
                bins = np.searchsorted(EDGES, (present - centre) / spread)
                yield np.bincount(bins, minlength=len(EDGES) + 1)

    def _parts_of_rows(self, X: Any) -> Iterable[Any]:
        yield X.shape[0]
        if self.schema.declared:
            return
        squares = X.multiply(X) if sp.issparse(X) else np.square(X)
        each: Array = np.asarray(squares.sum(axis=0), dtype=np.float64).ravel()
        yield np.sum(each)
        if self.compared:
            used = X.getnnz(axis=0) if sp.issparse(X) else np.count_nonzero(X, axis=0)
            yield used
            yield each

    # --- of all sites together -------------------------------------------------------------------

    def conclusion(self, stage: str, sums: Array, names: Names, agreed: Agreed) -> dict[str, Any]:
        """Return what the sums of all sites say."""
        if stage == "sums":
            return self._from_sums(sums, names)
        if stage == "squares":
            return self._from_squares(sums, agreed)
        # Half of the values may lie below an edge exactly: rounding errors must not decide then.
        counts = np.round(sums).reshape(-1, len(EDGES) + 1)
        gappy = self.gappy(agreed)
        medians = [
            rounded(mean + spread * _median(row))
            for (_, mean, spread), row in zip(gappy, counts, strict=True)
        ]
        return {"median": medians}

    def _from_sums(self, sums: Array, names: Names) -> dict[str, Any]:
        rows = max(1, round(float(sums[0])))
        if self.schema.n_features:
            square = None if self.schema.declared else rounded(sums[1] / rows)
            typical, share = list[float](), list[float]()
            if self.compared:
                used, squares = sums[2:].reshape(2, -1)
                typical = [rounded(x) for x in np.sqrt(squares / np.maximum(used, 1.0))]
                share = [rounded(x / rows) for x in used]
            return {"rows": rows, "square": square, "typical": typical, "share": share}
        present, total = sums[1:].reshape(2, -1)
        counts = [max(0, round(float(each))) for each in present]
        means = [rounded(s / n) if n else 0.0 for s, n in zip(total, counts, strict=True)]
        return {"rows": rows, "present": counts, "mean": means, "names": names}

    def _from_squares(self, sums: Array, agreed: Agreed) -> dict[str, Any]:
        first = agreed["sums"]
        squares, counts = np.split(sums, [len(self.told)])
        present = np.maximum(1, first["present"])
        deviation = [rounded(x) for x in np.sqrt(np.maximum(squares, 0.0) / present)]
        levels, rare = [], []
        for name in self.categories:
            known = [*first["names"][name], MISSING_LEVEL]
            rows, counts = np.split(np.round(counts), [len(known) + 1])
            frequent = [
                (-count, level)
                for level, count in zip(known, rows.tolist(), strict=False)
                if count >= self.schema.min_count
            ]
            kept = sorted(level for _, level in sorted(frequent)[:MOST_LEVELS])
            other = rows.sum() - sum(rows[known.index(level)] for level in kept)
            levels.append(kept)
            rare.append(bool(other > 0) or not kept)
        return {"deviation": deviation, "levels": levels, "rare": rare}

    def gappy(self, agreed: Agreed) -> list[tuple[int, float, float]]:
        """Return the numbers that some rows miss, with their means and deviations."""
        if not self.told:
            return []
        first, second = agreed["sums"], agreed["squares"]
        each = zip(self.told, first["present"], first["mean"], second["deviation"], strict=True)
        return [(k, mean, spread or 1.0) for k, n, mean, spread in each if 0 < n < first["rows"]]


def _after_logarithm(column: SchemaColumn) -> tuple[float, float] | None:
    if column.range is None or column.unit is None:
        return column.range
    low, high = (math.copysign(math.log1p(abs(x) / column.unit), x) for x in column.range)
    return low, high


def rounded(value: Any) -> float:
    """Return a number with ten digits, as sites agree on it."""
    return float(f"{float(value):.10g}")


def _median(counts: Array) -> float:
    """Return the median of a sketch, in deviations from the mean."""
    counts = np.maximum(counts, 0.0)
    below = np.concatenate([[0.0], np.cumsum(counts)])
    half = below[-1] / 2.0
    # Of the bins without an end, the end that they have.
    edges = np.concatenate([EDGES[:1], EDGES, EDGES[-1:]])
    place = int(np.clip(np.searchsorted(below, half) - 1, 0, len(counts) - 1))
    share = (half - below[place]) / counts[place] if counts[place] > 0.0 else 0.5
    return float(edges[place] + share * (edges[place + 1] - edges[place]))
