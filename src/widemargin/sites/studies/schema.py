"""The schema of a study: the columns that all sites have, their kinds, and the classes.

A schema has names, not values: what it says of the values (ranges, levels of categories) is what
the study declares. Everything else is found out by the sites together; see `preparation`.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...core.missing_marks import lowered
from ...data import DataFileError, read, read_frame
from ...data.formats.format_names import format_of
from ...tables.columns import Column, frame_columns
from ...tables.dates import ISO
from ...tables.notes import listed
from ...tables.number_text import parse_numbers
from ...tables.plans import Plan, Rules, plan_column
from ..settings import ConfigError
from .schema_checks import (
    KINDS,
    MOST_CLASSES,
    canonical_label,
    check_column,
    check_schema,
    checked_table,
    demand,
)

__all__ = ["Schema", "SchemaColumn", "read_schema", "schema_of"]

# Beside name and kind.
_FIELDS = {
    "number": ("range", "unit"),
    "boolean": ("range", "words"),
    "date": ("range", "form", "parts"),
    "category": ("levels",),
}


@dataclass(frozen=True)
class SchemaColumn:
    """One column of a schema.

    Attributes
    ----------
    name : str
        Name, by which a site's file is matched.
    kind : {"number", "boolean", "date", "category"}
        What its cells are.
    range : tuple of float, optional
        Declared least and largest value (dates: days since 1970), which become -1 and 1. Sites
        then exchange nothing about the values.
    unit : float, optional
        Numbers: ``sign(x) log(1 + |x| / unit)`` is taken of every value first.
    words : tuple of str
        Booleans: the texts of false and true, in small letters.
    form : str
        Dates: the form in which they are written, ``"iso"`` or as for ``strptime``.
    parts : tuple of str
        Dates: the features that a date becomes.
    levels : tuple of str, optional
        Categories: the declared levels. None: the sites agree on the frequent ones.
    """

    name: str
    kind: str
    range: tuple[float, float] | None = None
    unit: float | None = None
    words: tuple[str, str] = ("false", "true")
    form: str = ISO
    parts: tuple[str, ...] = ("day",)
    levels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_column(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that matter for the kind, as JSON values; None is left out."""
        fields = {name: getattr(self, name) for name in ("name", "kind", *_FIELDS[self.kind])}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in fields.items()
            if value is not None
        }

    @property
    def declared(self) -> bool:
        """Whether its features follow from the schema alone."""
        return (self.levels if self.kind == "category" else self.range) is not None


@dataclass(frozen=True)
class Schema:
    """Columns, label and classes of the tables of all sites.

    Attributes
    ----------
    columns : tuple of SchemaColumn
        The columns that become features, in the order of the features. Empty if rows have no names
        of columns (LIBSVM, NPZ).
    label : str or None
        Name of the column of labels; None if rows have no names of columns.
    classes : tuple
        The labels, sorted; all of them texts or all of them numbers.
    n_features : int or None
        Number of features of rows without names of columns; None if there are `columns`.
    scale : {"standard", "none"}
        Whether numbers are scaled to mean 0 and variance 1. ``"none"`` leaves them as they are.
    min_count : int
        Rows of one site that a level of a category needs for its name to leave the site, and rows
        of all sites for a feature of its own.
    ignored : tuple of str
        Columns that are left out on purpose, such as identifiers.
    """

    columns: tuple[SchemaColumn, ...]
    label: str | None
    classes: tuple[Any, ...]
    n_features: int | None = None
    scale: str = "standard"
    min_count: int = 5
    ignored: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        check_schema(self)
        object.__setattr__(self, "classes", tuple(sorted(map(canonical_label, self.classes))))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that become features."""
        return tuple(column.name for column in self.columns)

    @property
    def declared(self) -> bool:
        """Whether the features follow from the schema alone: no site tells of its values."""
        return not self.undeclared and (bool(self.columns) or self.scale == "none")

    @property
    def undeclared(self) -> tuple[SchemaColumn, ...]:
        """Columns about whose values sites tell each other."""
        return tuple(column for column in self.columns if not column.declared)

    @property
    def as_is(self) -> bool:
        """Whether rows need no preparation: they have neither names of columns nor scales."""
        return not self.columns and self.scale == "none"

    @property
    def digest(self) -> str:
        """Digest of the schema, the same for equal ones."""
        text = json.dumps(self.to_dict(), sort_keys=True).encode()
        return hashlib.sha256(text).hexdigest()

    def with_ranges(self, ranges: Mapping[str, tuple[float, float]]) -> Schema:
        """Return the schema with declared ranges of columns; ConfigError if one has none."""
        kinds = {column.name: column.kind for column in self.columns}
        for name in sorted(ranges):
            if name not in kinds:
                raise ConfigError(f"there is no column {name!r}; there are {listed(self.names)}.")
            if kinds[name] == "category":
                raise ConfigError(f"column {name!r} is a category: it has levels, and no range.")
        columns = [replace(c, range=ranges.get(c.name, c.range)) for c in self.columns]
        return replace(self, columns=tuple(columns))

    def with_levels(self, levels: Mapping[str, tuple[str, ...]]) -> Schema:
        """Return the schema with declared levels of categories; ConfigError if one is unknown."""
        categories = [c.name for c in self.columns if c.kind == "category"]
        for name in levels.keys() - set(categories):
            raise ConfigError(f"there is no category {name!r}; there are {listed(categories)}.")
        columns = [replace(c, levels=levels.get(c.name, c.levels)) for c in self.columns]
        return replace(self, columns=tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as values that JSON and TOML can hold."""
        values: dict[str, Any] = {
            "classes": list(self.classes),
            "scale": self.scale,
            "min_count": self.min_count,
        }
        if self.n_features is not None:
            return values | {"n_features": self.n_features}
        values["label"] = self.label
        if self.ignored:
            values["ignored"] = list(self.ignored)
        return values | {"columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Return the schema of such values; ConfigError names the key that is wrong."""
        keys = {"columns", "label", "classes", "n_features", "scale", "min_count", "ignored"}
        given = checked_table(values, "schema", keys, required={"classes"})
        columns = given.get("columns", [])
        demand(isinstance(columns, list), "schema.columns", "a list of tables", columns)
        given["columns"] = tuple(_column(each, k) for k, each in enumerate(columns, 1))
        given.setdefault("label", None)
        for name in ("classes", "ignored"):
            each = given.get(name, [])
            demand(isinstance(each, list | tuple), f"schema.{name}", "a list", each)
            given[name] = tuple(each)
        return cls(**given)


def _column(values: Any, number: int) -> SchemaColumn:
    key = f"schema.columns[{number}]"
    known = {"name", "kind", *(name for names in _FIELDS.values() for name in names)}
    given = checked_table(values, key, known, required={"name", "kind"})
    demand(given["kind"] in KINDS, f"{key}.kind", f"one of {', '.join(KINDS)}", given["kind"])
    for name in given.keys() - {"name", "kind", *_FIELDS[given["kind"]]}:
        raise ConfigError(f"`{key}.{name}` does not suit a column of kind {given['kind']!r}.")
    for name, value in given.items():
        given[name] = tuple(value) if isinstance(value, list) else value
    return SchemaColumn(**given)


def read_schema(path: str | PathLike[str]) -> Schema:
    """Read a schema from a JSON or TOML file, whole or under the key ``schema``.

    ConfigError if the file cannot be used; the message names the key.
    """
    try:
        text = Path(path).read_text("utf-8")
        values = tomllib.loads(text) if not text.lstrip().startswith("{") else json.loads(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is neither JSON nor TOML: {error}.") from None
    try:
        return Schema.from_dict(values.get("schema", values))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def schema_of(
    path: str | PathLike[str], *, label: str | int | None = None, format: str | None = None
) -> Schema:
    """Return the schema of an example file.

    Parameters
    ----------
    path : path-like
        A table of the kind that every site has: CSV, TSV or Parquet. Columns are what
        :class:`~widemargin.TablePreprocessor` takes them for; identifiers, free text and empty
        columns are ignored. LIBSVM and NPZ files have no names of columns, only a number of
        features.
    label : str or int, default=None
        Column of labels, as for `widemargin.data.read`.
    format : str, default=None
        Format of the file; None finds it from the name.

    Returns
    -------
    Schema
        Nothing of it is a value of a row, except for the classes and the ``unit`` of columns with
        a long tail, a median.

    Raises
    ------
    DataFileError
        If the file cannot be used.
    """
    if (format or format_of(Path(path))) in ("libsvm", "npz"):
        rows = read(path, format=format, label=label)
        return Schema((), None, _classes(path, rows.y), n_features=int(rows.X.shape[1]))
    table = read_frame(path, format=format, label=label)
    n_rows = len(table.X)
    rules = Rules(lowered(), max(2, min(10, -(-n_rows // 100))), "log", named=True)
    columns, ignored = [], []
    for column in frame_columns(table.X):
        found = _schema_column(column, plan_column(column, rules))
        if found is None:
            ignored.append(column.name)
        else:
            columns.append(found)
    if not columns:
        raise DataFileError(path, "it has no column to learn from: all are identifiers or empty.")
    return Schema(tuple(columns), table.label_name, _classes(path, table.y), ignored=tuple(ignored))


def _schema_column(column: Column, plan: Plan) -> SchemaColumn | None:
    """Return the column of a schema; None if it is to be ignored."""
    role, name = plan["role"], column.name
    if role == "dropped" and plan["reason"] == "constant":
        # It may vary at other sites.
        text = column.values.dtype.kind == "O"
        cells = parse_numbers([str(column.values[0]).strip()], "point") if text else np.zeros(1)
        role, plan = "category" if np.isnan(cells[0]) else "number", {}
    if role == "dropped":
        return None
    if role == "number":
        return SchemaColumn(name, role, unit=plan.get("unit"))
    if role == "boolean":
        return SchemaColumn(name, role, words=(plan["false"], plan["true"]))
    if role == "date":
        return SchemaColumn(name, role, form=plan["form"], parts=tuple(plan["parts"]))
    return SchemaColumn(name, "category")


def _classes(path: str | PathLike[str], y: Any) -> tuple[Any, ...]:
    found = tuple(np.unique(y).tolist())
    if not 2 <= len(found) <= MOST_CLASSES:
        raise DataFileError(
            path,
            f"expected labels of 2 to {MOST_CLASSES:,} classes, found {len(found):,}. Name the "
            "column of labels, and take an example with rows of all classes.",
        )
    return found
