"""The schema of a study that is created, from an example or from options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .messages import usage_error
from .setting_options import _scalar

__all__ = ["Example", "found_schema", "with_declared"]


@dataclass(frozen=True)
class Example:
    """What an example says about the tables of sites."""

    schema: Any
    n_rows: int | None = None
    row_square: float | None = None  # mean squared length

    def without_values(self) -> Example:
        """Return names, kinds and classes alone: for studies that keep rows secret.

        Nothing is computed from values of the example then, which may be rows of a site.
        """
        columns = [
            replace(each, unit=None, range=(0.0, 1.0) if each.kind == "boolean" else each.range)
            for each in self.schema.columns
        ]
        scale = self.schema.scale if columns else "none"
        return Example(replace(self.schema, columns=tuple(columns), scale=scale))


def found_schema(
    data: Path | None,
    label: str | None,
    format: str | None,
    n_features: int | None,
    classes: str | None,
) -> Example:
    """Return the schema of an example, or that of rows without names of columns."""
    from ..sites.studies.schema import Schema, schema_of

    given = None if classes is None else tuple(_scalar(each.strip()) for each in classes.split(","))
    if data is None:
        if n_features is None or given is None:
            raise usage_error("give an example with --data, or --features and --classes.")
        return Example(Schema((), None, given, n_features=n_features))
    if n_features is not None:
        raise usage_error("--features is for studies without an example: leave it out.")
    schema = schema_of(data, label=label, format=format)
    schema = schema if given is None else replace(schema, classes=given)
    return Example(schema, *_measured(data, schema, format))


def with_declared(schema: Any, ranges: Iterable[str], levels: Iterable[str]) -> Any:
    """Return a schema with the ranges and levels of options."""
    return schema.with_ranges(dict(map(_range, ranges))).with_levels(dict(map(_levels, levels)))


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the column and the range of an option."""
    name, _, limits = text.rpartition("=")
    low, _, high = limits.partition(":")
    try:
        return name, (float(low), float(high))
    except ValueError:
        raise usage_error(f"--range must be COLUMN=LOW:HIGH; got {text!r}.") from None


def _levels(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the column and the levels of an option."""
    name, _, given = text.partition("=")
    found = tuple(each.strip() for each in given.split(","))
    if not name or not all(found):
        raise usage_error(f"--levels must be COLUMN=A,B,C; got {text!r}.")
    return name, found


def _measured(data: Path, schema: Any, format: str | None) -> tuple[int | None, float | None]:
    import numpy as np
    import scipy.sparse as sp

    from ..data import DataFileError, read

    try:
        table = read(data, format=format, label=schema.label, text_labels=True)
    except DataFileError:  # not a table of numbers
        return None, None
    X = table.X
    squares = X.multiply(X).sum() if sp.issparse(X) else np.square(X, dtype=np.float64).sum()
    return int(X.shape[0]), float(f"{1.0 + squares / X.shape[0]:.2g}")
