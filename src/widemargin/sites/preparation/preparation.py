"""The preparation that all sites of a study apply to their tables, agreed before training.

The same values at every site, bit for bit, make the same features of equal rows. They also become
the first step of the exported model, so that it predicts from tables as they are.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from math import isfinite
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from ...core.rows import SPARSE_FEATURES, SPARSE_SHARE
from ...tables import TablePreprocessor
from ...tables.notes import notes_of
from ..studies.schema import Schema
from ..studies.schema_checks import checked_table, demand
from .site_table import SiteTable

__all__ = ["Preparation"]

# Stands for all rare levels of a category in the encoder; their names are not known everywhere.
RARE = "(rare)"


@dataclass(frozen=True)
class Preparation:
    """Values that the sites have agreed on.

    Attributes
    ----------
    schema : Schema
        The columns.
    total_rows : int
        Number of rows of all sites.
    centre, scale : tuple of float
        Of every number, what is subtracted and what divides it then. Numbers are those that the
        columns become, in order; for rows without names of columns, the features, which are
        divided only (empty: left as they are).
    fill : tuple of float
        Of every number, what replaces a missing value.
    missing : tuple of int
        Of every number, how many rows of all sites miss it. Where there are any, a feature of its
        own marks them.
    levels : tuple of tuples of str
        Of every category, the levels that become a feature.
    rare : tuple of bool
        Of every category, whether one more feature stands for all other levels.
    row_square : float or None
        Mean squared length of a prepared row; None if nobody told of values.
    """

    schema: Schema
    total_rows: int
    centre: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    fill: tuple[float, ...] = ()
    missing: tuple[int, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    rare: tuple[bool, ...] = ()
    row_square: float | None = None

    @property
    def digest(self) -> str:
        """Digest of all values; sites that train together have the same."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    @property
    def n_features(self) -> int:
        """Number of features of a prepared row."""
        if self.schema.n_features is not None:
            return self.schema.n_features
        marks = sum(count > 0 for count in self.missing)
        return len(self.centre) + marks + sum(map(len, self.levels)) + sum(self.rare)

    @property
    def sparse(self) -> bool:
        """Whether prepared rows are a CSR matrix, by the rule of `TablePreprocessor`."""
        marks = sum(self.missing) / max(1, self.total_rows)
        stored = len(self.centre) + len(self.levels) + marks
        n_features = self.n_features
        return n_features >= SPARSE_FEATURES and bool(stored <= SPARSE_SHARE * n_features)

    def transform(self, table: SiteTable) -> Any:
        """Return the features of a site's table."""
        step = self.step(table)
        if table.cleaned is None:
            return table.X if step is None else step.transform(table.X)
        return step._features(table.cleaned, np.float64)

    def feature_names(self, table: SiteTable) -> tuple[str, ...] | None:
        """Return the names of the features; None for rows without names of columns."""
        if table.cleaned is None:
            return None
        return tuple(map(str, self.step(table).get_feature_names_out()))

    def step(self, table: SiteTable) -> Any:
        """Return a fitted scikit-learn transformer that does the same to a table as it is.

        It reads numbers and dates as they are written in this site's table. None if there is
        nothing to do.
        """
        if table.cleaned is not None:
            return self._preprocessor(table)
        if not self.scale:
            return None
        divisor = np.array(self.scale)
        scaler = MaxAbsScaler().fit(sp.csr_matrix(divisor))
        scaler.n_samples_seen_ = self.total_rows
        return scaler

    def _preprocessor(self, table: SiteTable) -> TablePreprocessor:
        """Return a preprocessor as `fit` on the rows of all sites would have made it."""
        made = TablePreprocessor()
        made.columns_ = {name: dict(plan) for name, plan in table.plans.items()}
        for name, count in zip(table.number_names, self.missing, strict=True):
            if name in made.columns_:
                made.columns_[name]["missing"] = count
        names = self.schema.names
        made.n_features_in_ = len(names)
        made.feature_names_in_ = np.array(names, dtype=object)
        made.sparse_input_, made.sparse_output_ = False, self.sparse
        made.imputer_, made.indicator_, made.scaler_ = self._number_parts
        made.encoder_ = self._encoder
        made.notes_ = [
            f"Agreed by the sites of a study with {self.total_rows:,} rows.",
            *notes_of(made.columns_, {}),
        ]
        return made

    @cached_property
    def _number_parts(self) -> tuple[Any, Any, Any]:
        if not self.centre:
            return None, None, None
        fill: NDArray[np.float64] = np.array([self.fill])
        imputer = SimpleImputer(strategy="median").fit(fill)
        indicator = None
        if any(self.missing):
            blank = np.where(np.array([self.missing]) > 0, np.nan, fill)
            indicator = MissingIndicator(error_on_new=False).fit(np.vstack([blank, fill]))
        scaler = StandardScaler().fit(fill)
        scaler.mean_, scaler.scale_ = np.array(self.centre), np.array(self.scale)
        scaler.var_, scaler.n_samples_seen_ = scaler.scale_**2, np.int64(self.total_rows)
        return imputer, indicator, scaler

    @cached_property
    def _encoder(self) -> OneHotEncoder | None:
        if not self.levels:
            return None
        # Every level twice and the rare ones once: so the encoder joins them.
        columns = [
            [level for level in levels for _ in range(2)] + [RARE] * rare
            for levels, rare in zip(self.levels, self.rare, strict=True)
        ]
        longest = max(map(len, columns))
        cells = np.empty((longest, len(columns)), dtype=object)
        for k, column in enumerate(columns):
            cells[:, k] = column + [column[0]] * (longest - len(column))
        encoder = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist")
        return encoder.fit(cells)

    def to_dict(self) -> dict[str, Any]:
        """Return all values, as JSON holds them."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["schema"] = self.schema.to_dict()
        return {name: _listed(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Return the preparation of such values; ConfigError names the key that is wrong."""
        keys = {each.name for each in fields(cls)}
        given = checked_table(values, "preparation", keys, required=keys)
        schema = given["schema"] = Schema.from_dict(given["schema"])
        rows = given["total_rows"]
        demand(_is_count(rows) and rows > 0, "preparation.total_rows", "a positive number", rows)
        for name in ("centre", "scale", "fill"):
            right = isinstance(given[name], list) and all(map(_is_real, given[name]))
            demand(right, f"preparation.{name}", "a list of numbers", given[name])
            given[name] = tuple(map(float, given[name]))
        scale = given["scale"]
        demand(all(each > 0 for each in scale), "preparation.scale", "positive numbers", scale)
        missing = given["missing"]
        right = isinstance(missing, list) and all(map(_is_count, missing))
        demand(right, "preparation.missing", "a list of counts", missing)
        given["missing"] = tuple(missing)
        categories = [c.name for c in schema.columns if c.kind == "category"]
        for name, fits in (("levels", _are_levels), ("rare", lambda v: type(v) is bool)):
            right = isinstance(given[name], list) and all(map(fits, given[name]))
            right = right and len(given[name]) == len(categories)
            demand(right, f"preparation.{name}", "one entry for each category", given[name])
        given["levels"] = tuple(tuple(each) for each in given["levels"])
        given["rare"] = tuple(given["rare"])
        width = n_numbers(schema)
        if schema.columns:
            for name in ("centre", "scale", "fill", "missing"):
                right = len(given[name]) == width
                demand(right, f"preparation.{name}", f"{width} values", len(given[name]))
            pairs = zip(given["levels"], given["rare"], strict=True)
            right = all(levels or rare for levels, rare in pairs)
            demand(right, "preparation.levels", "at least one feature each", given["levels"])
        else:
            right = len(scale) in (0, schema.n_features)
            demand(right, "preparation.scale", f"{schema.n_features} values", len(scale))
            empty = not (given["centre"] or given["fill"] or missing)
            demand(empty, "preparation.centre", "empty for rows without names", given["centre"])
        square = given["row_square"]
        right = square is None or (_is_real(square) and square >= 0)
        demand(right, "preparation.row_square", "a number from 0", square)
        return cls(**given)


def n_numbers(schema: Schema) -> int:
    """Return how many numbers the columns of a schema become."""
    kinds = {"number": 1, "boolean": 1, "category": 0}
    return sum(kinds.get(each.kind, len(each.parts)) for each in schema.columns)


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


def _is_real(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _are_levels(value: Any) -> bool:
    texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return texts and len(set(value)) == len(value) and sorted(value) == value
