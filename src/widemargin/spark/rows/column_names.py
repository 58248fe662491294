"""Columns of a DataFrame, found by name as Spark finds them.

Upper and lower case are told apart only if ``spark.sql.caseSensitive`` is true. A name that a
column has as a whole means that column, dots included; otherwise dots lead into the fields of
structs. Backticks around a part of a name keep its dots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql import types as T

# Names in a message; of more columns, the rest is counted.
MOST_NAMES = 20


@dataclass(frozen=True)
class FoundColumn:
    """A column, or a field of one; ``name`` is None for a field."""

    value: Any  # as Spark refers to it
    kind: Any  # its type
    name: str | None


def column(name: str) -> Any:
    """Refer to a column by its whole name, dots included."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def find(dataset: Any, param: str, name: str) -> FoundColumn:
    """Find a column or a field; raise if there is none, or more than one.

    ``param`` is the Param that names it, for messages.
    """
    names = dataset.columns
    found = same_names(dataset, name)
    if len(found) > 1:
        raise _several(param, name, found)
    if found:
        fields = dataset.schema.fields
        return FoundColumn(column(found[0]), fields[names.index(found[0])].dataType, found[0])
    try:
        field = _field(dataset, name)
    except AnalysisException as error:
        if "AMBIGUOUS" in (error.getCondition() or ""):
            raise _several(param, name, [name]) from error
        field = None
    if field is None:
        raise ValueError(_missing(dataset, param, name))
    return FoundColumn(F.col(name), field.dataType, None)


def same_names(dataset: Any, name: str) -> list[str]:
    """Return the names of columns that Spark takes for the same as ``name``."""
    alike = [each for each in dataset.columns if each.lower() == name.lower()]
    if not alike or alike == [name]:
        return alike  # Connect would ask the server for the setting
    fold = folded(dataset)
    return [each for each in alike if fold(each) == fold(name)]


def folded(dataset: Any) -> Callable[[str], str]:
    """Return the function that maps names which are the same for Spark to the same text."""
    strict = str(dataset.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    return str if strict else str.lower


def _field(dataset: Any, name: str) -> Any:
    """Return the field that Spark finds under a name with dots or backticks; None if none."""
    if not {".", "`"} & set(name) or name.endswith("*"):  # a star is all fields
        return None
    fields = dataset.select(F.col(name)).schema.fields
    return fields[0] if len(fields) == 1 else None


def _several(param: str, name: str, found: list[str]) -> ValueError:
    return ValueError(
        f"`{param}` must name one column of the DataFrame; got {name!r}, which fits "
        f"{len(found) if len(found) > 1 else 'several'} of them: {', '.join(map(repr, found))}. "
        "Rename or drop all but one."
    )


def _missing(dataset: Any, param: str, name: str) -> str:
    names = dataset.columns
    said = f"`{param}` must name a column of the DataFrame; got {name!r}, and "
    parent, _, last = name.rpartition(".")
    of = _fields_of(dataset, parent) if parent else None
    if of is None:
        said += f"the columns are {_listed(names)}."
    else:
        said += f"column {parent!r} has the fields {_listed(of)}."
    lower = {each.lower(): each for each in (names if of is None else of)}
    wanted = (name if of is None else last).lower()
    if wanted in lower:
        return f"{said} {lower[wanted]!r} differs in case, and spark.sql.caseSensitive is true."
    close = get_close_matches(wanted, lower, n=1, cutoff=0.8)
    return f"{said} Did you mean {lower[close[0]]!r}?" if close else said


def _fields_of(dataset: Any, name: str) -> list[str] | None:
    """Return the names of a struct's fields; None if there is no such struct."""
    try:
        kind = find(dataset, "", name).kind
    except ValueError:
        return None
    return list(kind.names) if isinstance(kind, T.StructType) else None


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
