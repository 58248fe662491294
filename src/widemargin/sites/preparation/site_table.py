"""The table of one site, read by the schema of the study: columns are matched by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.missing_marks import lowered
from ...core.rows import canonical
from ...data import DataFileError, Table, read, read_frame
from ...data.formats.format_names import format_of
from ...tables.cleaning import Cleaned, clean, number_names
from ...tables.columns import Column, frame_columns
from ...tables.dates import date_form, parse_days
from ...tables.levels import find_levels
from ...tables.notes import listed
from ...tables.number_text import number_style
from ...tables.plans import BOOLEANS, ENOUGH, Plan
from ..studies.schema import Schema, SchemaColumn

__all__ = ["SiteTable", "read_table"]

# Cells of a column that a message names.
NAMED_CELLS = 3


@dataclass(frozen=True)
class SiteTable:
    """Rows of one site.

    Attributes
    ----------
    schema : Schema
        The schema that the file was read by.
    codes : ndarray of int64
        Position of each row's label in ``schema.classes``.
    cleaned : Cleaned or None
        Numbers (NaN where missing) and categories; None for rows without names of columns.
    X : ndarray or csr_matrix or None
        Rows without names of columns.
    plans : dict
        How each column is read at this site: decimal commas, forms of dates and words for true and
        false may differ from site to site.
    notes : tuple of str
        What was noticed: columns that were ignored, cells that cannot be read, rows left out.
    """

    schema: Schema
    codes: NDArray[np.int64]
    cleaned: Cleaned | None = None
    X: Any = None
    plans: dict[str, Plan] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def class_counts(self) -> dict[Any, int]:
        """Number of rows of each class."""
        counts = np.bincount(self.codes, minlength=len(self.schema.classes))
        return dict(zip(self.schema.classes, counts.tolist(), strict=True))

    @property
    def number_names(self) -> list[str]:
        """Names of the numbers that the columns become."""
        return [each for name, plan in self.plans.items() for each in number_names(name, plan)]


def read_table(
    path: str | PathLike[str],
    schema: Schema,
    *,
    format: str | None = None,
    label: str | int | None = None,
    zero_based: bool | None = None,
) -> SiteTable:
    """Read the file of a site.

    Parameters
    ----------
    path : path-like
        The file. Its columns may come in any order, and those that the schema does not have are
        left out, with a note.
    schema : Schema
        Columns and classes.
    format, zero_based
        As for `widemargin.data.read`; None finds it out.
    label : str or int, default=None
        Column of labels, where it is called otherwise than in the schema.

    Raises
    ------
    DataFileError
        If columns are missing, are of another kind, or if labels are none of the classes.
    """
    texts = isinstance(schema.classes[0], str)
    name = format or format_of(Path(path))
    if not schema.columns:
        rows = read(
            path,
            format=name,
            label=label,
            n_features=schema.n_features,
            zero_based="auto" if zero_based is None or name != "libsvm" else zero_based,
            text_labels=texts,
        )
        codes = _codes(path, rows.y, schema)
        return SiteTable(schema, codes, X=canonical(rows.X), notes=rows.notes)
    table = _frame(path, name, schema, label, text_labels=texts)
    notes = list(table.notes)
    columns = _matched(path, table, schema, notes)
    marks = lowered()
    plans = {
        column.name: _plan(column, each, marks)
        for column, each in zip(columns, schema.columns, strict=True)
    }
    cleaned = clean(columns, plans, marks)
    for column in columns:
        if strays := cleaned.strays.get(column.name):
            notes.append(_about_strays(path, column, plans[column.name], strays, marks))
    return SiteTable(schema, _codes(path, table.y, schema), cleaned, None, plans, tuple(notes))


def _frame(
    path: str | PathLike[str], format: str, schema: Schema, label: Any, *, text_labels: bool
) -> Table:
    if format not in ("csv", "tsv", "parquet"):
        raise DataFileError(
            path,
            f"expected a table with the columns {listed(schema.names)} (CSV, TSV or Parquet), "
            f"found {format}, which has no names of columns.",
        )
    wanted = schema.label if label is None else label
    position = re.fullmatch(r"column (\d+)", str(wanted))
    try:
        return read_frame(path, format=format, label=wanted, text_labels=text_labels)
    except DataFileError:
        if position is None:
            raise
        # The example had no header, and its columns were called by their positions.
        return read_frame(path, format=format, label=int(position[1]) - 1, text_labels=text_labels)


def _matched(
    path: str | PathLike[str], table: Table, schema: Schema, notes: list[str]
) -> list[Column]:
    """Return the columns of the schema, in its order."""
    found = list(table.X.columns)
    missing = [name for name in schema.names if name not in set(found)]
    if missing:
        raise DataFileError(
            path,
            f"expected the {len(schema.names)} columns of the study, by name and in any order; "
            f"missing: {listed(missing)}. Found {listed(found)}.",
        )
    known = {*schema.names, *schema.ignored}
    extra = [name for name in found if name not in known]
    if extra:
        notes.append(f"columns that the study does not have are ignored: {listed(extra)}")
    return frame_columns(table.X[list(schema.names)])


def _plan(column: Column, wanted: SchemaColumn, marks: frozenset[str]) -> Plan:
    """Return how a column is read, as it is written at this site."""
    plan: Plan = {"role": wanted.kind, "missing": 0}
    text = column.values.dtype.kind == "O"
    if wanted.kind == "number":
        style = number_style(find_levels(column, marks).texts) if text else "point"
        return plan | {"style": style, "unit": wanted.unit}
    if wanted.kind == "boolean":
        words = {each.lower() for each in find_levels(column, marks).texts} if text else set()
        pairs = (wanted.words, *BOOLEANS)
        pair = next((pair for pair in pairs if words <= {*pair, "0", "1"}), wanted.words)
        return plan | {"false": pair[0], "true": pair[1]}
    if wanted.kind == "date":
        return plan | {"form": _form(column, wanted, marks), "parts": list(wanted.parts)}
    return plan | {"levels": 0}


def _form(column: Column, wanted: SchemaColumn, marks: frozenset[str]) -> str:
    """Return the form of the dates: that of the schema unless they are written in another one."""
    if column.values.dtype.kind != "O":
        return wanted.form
    levels = find_levels(column, marks)
    read = ~np.isnan(parse_days(levels.texts, wanted.form))
    if not levels.texts or levels.counts[read].sum() >= ENOUGH * levels.counts.sum():
        return wanted.form
    return date_form(levels.texts, levels.counts, ENOUGH) or wanted.form


def _about_strays(
    path: str | PathLike[str],
    column: Column,
    plan: Plan,
    strays: dict[str, int],
    marks: frozenset[str],
) -> str:
    """Return the note about cells that cannot be read; DataFileError if they are many."""
    levels = find_levels(column, marks)
    kind = {"number": "numbers", "boolean": f"{plan.get('false')} or {plan.get('true')}"}
    wanted = kind.get(plan["role"], "dates")
    first = {text: int(np.argmax(levels.codes == levels.texts.index(text))) + 1 for text in strays}
    cells = sorted((row, text) for text, row in first.items())[:NAMED_CELLS]
    where = ", ".join(f"{text!r} in row {row:,}" for row, text in cells)
    count = sum(strays.values())
    if count > (1.0 - ENOUGH) * levels.counts.sum():
        raise DataFileError(
            path,
            f"column {column.name!r} must hold {wanted} in this study; {count:,} of "
            f"{len(levels.codes):,} cells are none ({where}). Correct them, or leave them empty "
            "if the value is missing.",
        )
    return f"{count:,} cells of {column.name!r} are no {wanted} and count as missing: {where}"


def _codes(path: str | PathLike[str], y: Any, schema: Schema) -> NDArray[np.int64]:
    classes: Sequence[Any] = schema.classes
    labels: NDArray[Any] = np.asarray(y)
    shown = listed(classes)
    if isinstance(classes[0], str):
        labels = labels.astype(str)
    elif labels.dtype.kind not in "iufb":
        raise DataFileError(
            path, f"expected the classes {shown}, found text such as {str(labels[0])!r}."
        )
    known = np.isin(labels, np.array(classes))
    if not known.all():
        row = int(np.argmin(known))
        raise DataFileError(
            path,
            f"expected the classes {shown}, found {labels[row].item()!r} in row {row + 1:,}. "
            "Correct the labels, or name the column of labels.",
        )
    return np.searchsorted(np.array(classes), labels).astype(np.int64)
