"""Decide what becomes of a column: number, truth value, date, category, or nothing.

A plan is a dictionary of plain values, so that a model file can hold it. Its ``role`` is one of

==============  ======================================================================
``number``      parsed by ``style``; with ``unit``, squeezed by a logarithm
``boolean``     ``false`` and ``true`` are its two texts
``date``        parsed by ``form``; ``parts`` are its features
``category``    one feature for each frequent level
``dropped``     ``reason`` says why
==============  ======================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import Column
from .dates import ISO, date_form, date_parts, days_of_times, parse_days
from .levels import Levels, find_levels
from .number_text import are_codes, number_style, parse_numbers

Plan = dict[str, Any]

#: Pairs of words for no and yes.
BOOLEANS = (
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("f", "t"),
    ("off", "on"),
    ("nein", "ja"),
    ("non", "oui"),
)
#: Share of the rows with a value that must be numbers or dates for the column to count as such.
ENOUGH = 0.95
#: Fewer rows than this are too few to call a column of distinct values an identifier.
FEW_ROWS = 20
#: A value further from the mean than this many standard deviations makes a long tail …
LONG_TAIL = 8.0
#: … in a column of more distinct values than this.
MANY_VALUES = 20
_IDENTIFIER = re.compile(
    r"(^|[\W_])(id|ids|uuid|guid|key|index|idx|nr|no|num|number|row|rownum|serial)$"
    r"|(identifier|nummer|kennung)$|^(unnamed: ?\d+)?$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"[a-z](Id|ID)$")


@dataclass(frozen=True)
class Rules:
    """The settings of a preprocessor that decide about columns."""

    marks: frozenset[str]
    min_frequency: int
    long_tails: str
    named: bool  # columns of arrays have no names that could show what they hold


def plan_column(column: Column, rules: Rules) -> Plan:
    """Return what is to become of a column."""
    kind = column.values.dtype.kind
    if kind == "M":
        return _plan_dates(days_of_times(column.values), ISO)
    if kind == "b":
        return _plan_truth(column.values)
    if kind in "fiu":
        return _plan_numbers(column.values, column.name, "point", rules)
    return _plan_text(find_levels(column, rules.marks), column.name, rules)


def dropped(reason: str) -> Plan:
    """Return the plan of a column that is left out."""
    return {"role": "dropped", "reason": reason}


def _plan_truth(values: NDArray[Any]) -> Plan:
    if len(values) > 1 and (values == values[0]).all():
        return dropped("constant")
    return {"role": "boolean", "false": "false", "true": "true", "missing": 0}


def _plan_numbers(values: NDArray[Any], name: str, style: str, rules: Rules) -> Plan:
    finite = np.isfinite(values)
    present = values if finite.all() else values[finite]
    if not present.size:
        return dropped("empty")
    missing = int(np.count_nonzero(~finite))
    least, largest = present.min(), present.max()
    if least == largest and not missing and len(values) > 1:
        return dropped("constant")
    if rules.named and _named_like_an_identifier(name) and _all_distinct_integers(present):
        return dropped("identifier")
    plan: Plan = {"role": "number", "style": style, "missing": missing}
    infinite = int(np.count_nonzero(np.isinf(values)))
    if infinite:
        plan["infinite"] = infinite
    if rules.long_tails == "log":
        plan["unit"] = _tail_unit(present)
    return plan


def _plan_dates(days: NDArray[np.float64], form: str) -> Plan:
    present = days[np.isfinite(days)]
    if not present.size:
        return dropped("empty")
    if len(days) > 1 and len(present) == len(days) and np.ptp(present) == 0.0:
        return dropped("constant")
    missing = int(np.count_nonzero(~np.isfinite(days)))
    return {"role": "date", "form": form, "parts": list(date_parts(days)), "missing": missing}


def _plan_text(levels: Levels, name: str, rules: Rules) -> Plan:
    n_rows, missing = len(levels.codes), levels.n_missing
    if not levels.texts:
        return dropped("empty")
    if len(levels.texts) == 1 and not missing and n_rows > 1:
        return dropped("constant")
    words = {text.lower() for text in levels.texts}
    for pair in BOOLEANS:
        if words <= set(pair) and (len(words) == 2 or missing):
            return {"role": "boolean", "false": pair[0], "true": pair[1], "missing": missing}
    counts = levels.counts
    plan = _plan_number_text(levels, counts, name, rules)
    if plan is not None:
        return plan
    form = date_form(levels.texts, counts, ENOUGH)
    if form is not None:
        days = parse_days(levels.texts, form)
        plan = _plan_dates(levels.spread(days, np.nan), form)
        return _with_strays(plan, levels, np.isnan(days))
    frequent = counts >= rules.min_frequency
    if missing < rules.min_frequency and not frequent.any() and n_rows > 1:
        words_per_text = np.mean([len(text.split()) for text in levels.texts[:1000]])
        return dropped("text" if words_per_text >= 3 else "identifier")
    return {"role": "category", "levels": len(levels.texts), "missing": missing}


def _plan_number_text(
    levels: Levels, counts: NDArray[np.int64], name: str, rules: Rules
) -> Plan | None:
    """Return the plan of a column whose texts are numbers; None for another column."""
    style = number_style(levels.texts)
    numbers = parse_numbers(levels.texts, style)
    strays = np.isnan(numbers)
    if counts[strays].sum() > (1.0 - ENOUGH) * counts.sum() or are_codes(levels.texts):
        return None
    values = levels.spread(numbers, np.nan)
    return _with_strays(_plan_numbers(values, name, style, rules), levels, strays)


def _with_strays(plan: Plan, levels: Levels, strays: NDArray[np.bool_]) -> Plan:
    """Add the texts of a column of numbers or dates that are neither, and so count as missing."""
    if strays.any() and plan["role"] != "dropped":
        plan["strays"] = [levels.texts[i] for i in np.flatnonzero(strays)[:5]]
    return plan


def _named_like_an_identifier(name: str) -> bool:
    return bool(_IDENTIFIER.search(name) or _CAMEL.search(name))


def _all_distinct_integers(values: NDArray[Any]) -> bool:
    if len(values) < FEW_ROWS:
        return False
    whole = values.dtype.kind in "iu" or bool((values == np.floor(values)).all())
    return whole and np.unique(values).size == len(values)


def _tail_unit(values: NDArray[Any]) -> float | None:
    """Return the unit of the logarithm for a column with a long tail, None for others."""
    values = values.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = values.std()
        furthest = np.abs(values - values.mean()).max()
    if not furthest > LONG_TAIL * spread or np.unique(values).size <= MANY_VALUES:
        return None
    sizes = np.abs(values[values != 0.0])
    return float(np.median(sizes))
