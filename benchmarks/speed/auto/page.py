"""The tables of the page."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds

from .contestants import CONTESTANTS
from .sets import SETS


def page(cells: Cells) -> Iterator[Table]:
    """Yield the table by set, whose last row has means and sums, and that of log losses."""
    titles = [each.title for each in CONTESTANTS.values()]
    columns = ["Data set", "Rows", "Features", "Classes"]
    columns += [f"Accuracy, {title}" for title in titles]
    columns += [f"Seconds, {title}" for title in titles] + ["Chosen"]
    yield "auto_sets", columns, _by_set(cells)
    columns = ["", *titles]
    yield "auto_summary", columns, _summary(cells)


def _by_set(cells: Cells) -> Rows:
    for name, each in SETS.items():
        found = {who: cells.get(f"{name}/{who}", {}) for who in CONTESTANTS}
        auto = found["auto"]
        row = [each.title]
        row += [
            f"{auto[key]:,}" if key in auto else NONE for key in ("rows", "features", "classes")
        ]
        row += [percent(cell.get("accuracy")) for cell in found.values()]
        row += [seconds(cell.get("fit_seconds")) for cell in found.values()]
        yield [*row, auto.get("chosen", NONE)]


def complete(cells: Cells) -> list[str]:
    """Return the sets on which all contestants were measured."""
    return [
        name
        for name in SETS
        if all("accuracy" in cells.get(f"{name}/{who}", {}) for who in CONTESTANTS)
    ]


def _summary(cells: Cells) -> Rows:
    names = complete(cells)
    if not names:
        return
    by_contestant = {who: [cells[f"{name}/{who}"] for name in names] for who in CONTESTANTS}
    yield [
        f"Mean accuracy, {len(names)} sets",
        *(percent(mean(cell["accuracy"] for cell in of)) for of in by_contestant.values()),
    ]
    best = [max(cells[f"{name}/{who}"]["accuracy"] for who in CONTESTANTS) for name in names]
    yield [
        "Best or equal, sets",
        *(
            str(sum(cell["accuracy"] >= top for cell, top in zip(of, best, strict=True)))
            for of in by_contestant.values()
        ),
    ]
    for title, key in (("Seconds of all fits", "fit_seconds"), ("CPU seconds", "cpu_seconds")):
        yield [title, *(seconds(sum(cell[key] for cell in of)) for of in by_contestant.values())]
    yield [
        "Mean log loss",
        *(
            f"{mean(cell['log_loss'] for cell in of):.4f}"
            if all("log_loss" in cell for cell in of)
            else NONE
            for of in by_contestant.values()
        ),
    ]
