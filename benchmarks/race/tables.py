"""Cells as the CSV files and pictures that the documentation shows.

Accuracies are percentages. ``†`` marks a figure with a fit that ran out of time; ``(n)`` one that
is the mean of fewer splits than the table asks for; ``–`` what was not measured or not published.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any

from .store import UNKNOWN, Cell, Stamp, Store

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks" / "tables"
NONE = "–"
NAMES = {
    "a9a": "a9a (a7a)",
    "census_income": "census",
    "covtype_binary": "covtype",
    "skin_nonskin": "skin-nonskin",
    "susy_30k": "SUSY (30,000 rows)",
}
STAMP = ("date", "commit", "cpu", "cores", "instruction_set", "system", "python", "widemargin")
PANELS_IN_A_ROW = 3
GREY = "#808080"
NEUTRAL = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none")
NEUTRAL |= dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), GREY)
NEUTRAL |= dict.fromkeys(("xtick.color", "ytick.color"), GREY)
Cells = Mapping[str, Cell]
Rows = Iterable[list[str]]
# File name, columns and rows.
Table = tuple[str, list[str], Rows]


def name_of(data_set: str) -> str:
    """Return what the papers call a data set."""
    return NAMES.get(data_set, data_set)


def percent(value: float | None) -> str:
    """Show a share."""
    return NONE if value is None else f"{100 * value:.2f}"


def seconds(value: float | None) -> str:
    """Show a time with two or three digits."""
    if value is None:
        return NONE
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ratio_text(value: float | None, target: float = float("inf")) -> str:
    """Show a ratio, bold where it exceeds its target."""
    if value is None:
        return NONE
    return f"{value:.2f}" if value <= target else f"**{value:.2f}**"


def figure(cells: list[Cell], key: str, text: Callable[[float], str], full: int) -> str:
    """Show the mean of some cells, of which ``full`` are wanted."""
    if not cells:
        return NONE
    late = "†" if any(cell.get("out_of_time") for cell in cells) else ""
    few = f" ({len(cells)})" if len(cells) < full else ""
    return text(mean(cell[key] for cell in cells)) + late + few


def of_splits(cells: Cells, data_set: str, rest: str, splits: int) -> list[Cell]:
    """Collect the cells of a method, one for each split."""
    names = (f"{data_set}/{number}/{rest}" for number in range(splits))
    return [cells[name] for name in names if name in cells]


def marked(store: Store) -> dict[str, Cell]:
    """Return cells that say whether a cell of their data set was measured while others worked."""
    busy = {of_set(name) for name, each in store.stamps.items() if each.get("quiet") is False}
    return {name: {**cell, "busy": of_set(name) in busy} for name, cell in store.cells.items()}


def of_set(name: str) -> str:
    """Return the data set of a cell."""
    return name.partition("/")[0]


def undisturbed(cells: list[Cell]) -> list[Cell]:
    """Return the cells, or none where others worked on the machine: their seconds say little."""
    return [] if any(cell.get("busy") for cell in cells) else cells


def write_csv(path: Path, columns: list[str], rows: Rows) -> None:
    """Write a table; one without rows gets an open row."""
    rows = list(rows) or [[NONE] * len(columns)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def oldest(store: Store) -> Stamp:
    """Return the stamp of the cell that was measured first."""
    return min(store.stamps.values(), key=lambda each: each["date"], default={})


def quiet_text(store: Store) -> str:
    """Say in how many cells the machine was quiet; a word where it is the same for all of them."""
    words = {"True": "yes", "False": "no"}
    states = [str(each.get("quiet", UNKNOWN)) for each in store.stamps.values()]
    counts = {words.get(each, each): states.count(each) for each in ("False", "True", UNKNOWN)}
    found = {word: count for word, count in counts.items() if count}
    if len(found) > 1:
        return ", ".join(f"{word}: {count}" for word, count in found.items())
    return next(iter(found), NONE)


def stamp_rows(stores: Iterable[Store]) -> Rows:
    """Show the stamp of the oldest cell of each store, and in how many it was quiet."""
    stores = list(stores)
    stamps = [oldest(store) for store in stores]
    titles = {"date": "oldest cell measured", "cpu": "CPU"}
    for key in STAMP:
        shown = (str(each.get(key, NONE)) for each in stamps)
        yield [titles.get(key, key.replace("_", " ")), *shown]
    yield ["quiet", *map(quiet_text, stores)]


def write_machine(path: Path, store: Store) -> None:
    """Write what a store was measured with, the packages among it."""
    versions = {cell["version"] for cell in store.cells.values() if "version" in cell}
    packages = ["packages", ", ".join(sorted(versions)) or NONE]
    write_csv(path, ["", "Measured with"], [*stamp_rows([store]), packages])


def draw(
    path: Path,
    panels: Mapping[str, Callable[[Any], None]],
    columns: int = PANELS_IN_A_ROW,
    width: float = 11.0,
    height: float = 3.2,
    neutral: bool = False,
) -> None:
    """Draw a picture of panels, given by title as functions that fill axes, if matplotlib exists.

    ``height`` is that of a panel. A ``neutral`` picture has no background and grey text, for light
    and dark pages. The same cells give the same file.
    """
    if find_spec("matplotlib") is None:
        print(f"{path.name} was not drawn: it needs matplotlib (pip install 'widemargin[plot]').")
        return
    import matplotlib as mpl
    from matplotlib.figure import Figure

    lines = max(1, -(-len(panels) // columns))
    # No date, no random names.
    style: dict[str, Any] = {"svg.hashsalt": "widemargin", "svg.fonttype": "path"}
    with mpl.rc_context(style | (NEUTRAL if neutral else {})):
        picture = Figure(figsize=(width, height * lines), layout="constrained")
        axes = picture.subplots(lines, columns, squeeze=False).ravel()
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        if not panels:
            picture.text(0.5, 0.5, "not measured yet", ha="center")
        for axis, (title, fill) in zip(axes, panels.items(), strict=False):
            fill(axis)
            axis.set_title(title)
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(path, metadata={"Date": None})
