"""Checks of schemas, with messages that name the key."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING, Any

from ...tables.dates import FORMS, ISO, PERIODS
from ..settings import ConfigError

if TYPE_CHECKING:
    from .schema import Schema, SchemaColumn

__all__ = ["KINDS", "canonical_label", "check_column", "check_schema", "checked_table", "demand"]

#: Kinds of columns, by the roles that `TablePreprocessor` gives them.
KINDS = ("number", "boolean", "date", "category")
SCALES = ("standard", "none")
DATE_PARTS = ("day", *(f"{cycle}_{each}" for cycle in PERIODS for each in ("sin", "cos")))
MOST_COLUMNS = 100_000
MOST_LEVELS = 10_000
MOST_CLASSES = 1_000
LONGEST_TEXT = 1_000


def demand(right: bool, key: str, required: str, got: Any) -> None:
    """Raise ConfigError, naming the key, unless a value is right."""
    if not right:
        raise ConfigError(f"`{key}` must be {required}; got {got!r}.")


def checked_table(values: Any, key: str, known: set[str], required: set[str]) -> dict[str, Any]:
    """Return a copy of a table; ConfigError if a key is unknown or missing."""
    demand(isinstance(values, dict), key, "a table", values)
    for name in values:
        if name not in known:
            raise ConfigError(f"`{key}` has no {name!r}. It may have {', '.join(sorted(known))}.")
    for name in sorted(required - values.keys()):
        raise ConfigError(f"`{key}.{name}` is missing.")
    return dict(values)


def check_column(column: SchemaColumn) -> None:
    """Check the column of a schema, and make its values canonical."""
    demand(_is_text(column.name), "schema.columns.name", "a text", column.name)
    key = f"schema.columns.{column.name}"
    demand(column.kind in KINDS, f"{key}.kind", f"one of {', '.join(KINDS)}", column.kind)
    if (limits := column.range) is not None:
        right = isinstance(limits, tuple) and len(limits) == 2 and all(map(_is_number, limits))
        demand(right and limits[0] < limits[1], f"{key}.range", "two numbers, rising", limits)
        object.__setattr__(column, "range", tuple(map(float, limits)))
    if column.unit is not None:
        right = _is_number(column.unit) and column.unit > 0
        demand(right, f"{key}.unit", "a positive number", column.unit)
        object.__setattr__(column, "unit", float(column.unit))
    pair = _are_texts(column.words, 2) and len(column.words) == 2
    demand(pair, f"{key}.words", "two different texts", column.words)
    demand(column.form in (ISO, *FORMS), f"{key}.form", "a form of dates", column.form)
    parts = _are_texts(column.parts, len(DATE_PARTS)) and set(column.parts) <= set(DATE_PARTS)
    demand(parts and column.parts != (), f"{key}.parts", "parts of dates", column.parts)
    if column.levels is not None:
        right = _are_texts(column.levels, MOST_LEVELS) and len(column.levels) > 0
        demand(right, f"{key}.levels", f"at most {MOST_LEVELS:,} different texts", column.levels)
        object.__setattr__(column, "levels", tuple(sorted(column.levels)))


def check_schema(schema: Schema) -> None:
    """Check what the fields of a schema have to do with each other."""
    columns, names = schema.columns, schema.names
    if schema.n_features is None:
        demand(0 < len(columns) <= MOST_COLUMNS, "schema.columns", "a list of columns", columns)
        demand(_is_text(schema.label), "schema.label", "the name of a column", schema.label)
    else:
        right = type(schema.n_features) is int and 1 <= schema.n_features <= 2**24
        demand(right, "schema.n_features", "a whole number from 1", schema.n_features)
        demand(not columns, "schema.columns", "left out where there is `n_features`", names)
        demand(schema.label is None, "schema.label", "left out, too", schema.label)
    demand(_are_texts(schema.ignored, MOST_COLUMNS), "schema.ignored", "texts", schema.ignored)
    repeated = Counter([*names, schema.label, *schema.ignored]).most_common(1)[0]
    demand(repeated[1] == 1, "schema.columns", "of different names, as the label", repeated[0])
    classes = schema.classes
    right = isinstance(classes, tuple) and 2 <= len(classes) <= MOST_CLASSES
    alike = right and (all(map(_is_text, classes)) or all(map(_is_number, classes)))
    demand(
        alike and len(set(classes)) == len(classes),
        "schema.classes",
        "two or more different labels, all numbers or all texts",
        classes,
    )
    demand(schema.scale in SCALES, "schema.scale", f"one of {', '.join(SCALES)}", schema.scale)
    right = type(schema.min_count) is int and schema.min_count >= 1
    demand(right, "schema.min_count", "a whole number from 1", schema.min_count)


def canonical_label(value: Any) -> Any:
    """Return a label, whole numbers as integers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and value.isprintable()


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _are_texts(values: Any, most: int) -> bool:
    return (
        isinstance(values, tuple)
        and len(values) <= most
        and all(map(_is_text, values))
        and len(set(values)) == len(values)
    )
