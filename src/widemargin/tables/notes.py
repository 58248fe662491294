"""Sentences about what became of a table, and warnings about what fit had not seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .cleaning import MISSING_LEVEL, Cleaned
from .plans import Plan

REASONS = {
    "constant": "have one value only",
    "empty": "have no values",
    "identifier": "are identifiers, different in (nearly) every row",
    "text": "are free text, hardly any two cells alike (for words as features, use scikit-learn's "
    "TfidfVectorizer)",
}
#: Names or texts that a sentence lists before it says how many more there are.
LISTED = 6


def notes_of(plans: dict[str, Plan], joined: dict[str, int]) -> list[str]:
    """Say what was dropped, joined and filled, and why."""
    notes = []
    for reason, because in REASONS.items():
        names = [n for n, p in plans.items() if p["role"] == "dropped" and p["reason"] == reason]
        if names:
            notes.append(f"Dropped, because they {because}: {listed(names)}.")
    filled = {
        name: plan["missing"]
        for name, plan in plans.items()
        if plan["role"] in ("number", "boolean", "date") and plan["missing"]
    }
    if filled:
        notes.append(
            "Missing values are replaced by the median, and marked by a feature of their own: "
            f"{counted(filled)}."
        )
    blank = {n: p["missing"] for n, p in plans.items() if p["role"] == "category" and p["missing"]}
    if blank:
        notes.append(f"Missing categories are a level of their own: {counted(blank)}.")
    for name, plan in plans.items():
        if plan.get("strays"):
            kind = "dates" if plan["role"] == "date" else "numbers"
            notes.append(
                f"Cells of {name!r} that are no {kind} count as missing: {listed(plan['strays'])}."
            )
        if plan.get("infinite"):
            notes.append(f"{plan['infinite']:,} infinite values of {name!r} count as missing.")
    commas = [name for name, plan in plans.items() if plan.get("style") == "comma"]
    if commas:
        notes.append(f"Numbers with a decimal comma: {listed(commas)}.")
    dates = [f"{name!r} ({p['form']})" for name, p in plans.items() if p["role"] == "date"]
    if dates:
        notes.append(f"Dates became numbers: {', '.join(dates)}.")
    tails = [name for name, plan in plans.items() if plan.get("unit") is not None]
    if tails:
        notes.append(f"Long tails are squeezed by a logarithm: {listed(tails)}.")
    if joined:
        notes.append(f"Rare levels are joined into one: {counted(joined, 'levels')}.")
    return notes


def novelties(cleaned: Cleaned, known: dict[str, set[str]]) -> list[str]:
    """Say which categories and unreadable cells fit had not seen, by column, with their rows."""
    found = []
    for name, levels in cleaned.levels.items():
        counts = levels.counts
        unseen = {
            text: int(count)
            for text, count in zip(levels.texts, counts, strict=True)
            if text not in known[name] and text != MISSING_LEVEL
        }
        if unseen:
            found.append(f"column {name!r} has categories unseen in fit: {counted(unseen)}")
    for name, strays in cleaned.strays.items():
        found.append(f"column {name!r} has cells that cannot be read: {counted(strays)}")
    return found


def listed(names: Sequence[Any], most: int = LISTED) -> str:
    """List names, the first few of many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def counted(counts: dict[str, int], unit: str = "rows") -> str:
    """List names with their counts, the most frequent of many."""
    order: Iterable[str] = sorted(counts, key=lambda name: (-counts[name], name))
    shown = [
        f"{name!r} ({counts[name]:,} {unit if counts[name] > 1 else unit[:-1]})" for name in order
    ][:LISTED]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
