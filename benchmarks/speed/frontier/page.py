"""Who is on the frontier: the tables of the page.

A contestant is on the frontier of a set if nobody is at least as accurate in less time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds

from .contestants import CONTESTANTS, Contestant
from .grids import GRIDS, tried
from .sets import KERNEL, SETS, TEXT

FIT, PREDICT = "fit_seconds", "predict_seconds"
BUSY = "°"


@dataclass(frozen=True)
class Point:
    """A contestant that was measured on a set."""

    name: str
    seconds: float
    accuracy: float
    busy: bool = False

    @property
    def of(self) -> Contestant:
        """The contestant."""
        return CONTESTANTS[self.name]


def marked(store: Store) -> dict[str, Cell]:
    """Return the cells of a store, with whether other work shared the machine."""
    stamps = store.stamps
    return {
        name: {**cell, "busy": stamps[name].get("quiet") is False}
        for name, cell in store.cells.items()
    }


def points(cells: Cells, data_set: str, key: str = FIT) -> list[Point]:
    """Return who was measured on a set, the fastest first."""
    found = []
    for name in CONTESTANTS:
        cell = cells.get(f"{data_set}/{name}", {})
        if "accuracy" in cell:
            found.append(Point(name, cell[key], cell["accuracy"], cell.get("busy", False)))
    return sorted(found, key=lambda each: (each.seconds, -each.accuracy))


def frontier(found: list[Point]) -> list[Point]:
    """Return the points that no faster one equals, of points sorted by time."""
    best: list[Point] = []
    for each in found:
        if not best or each.accuracy > best[-1].accuracy:
            best.append(each)
    return best


def best_of_ours(found: list[Point], until: float) -> Point | None:
    """Return our most accurate model that is ready in time."""
    ours = [each for each in found if each.of.ours and each.seconds <= until]
    return max(ours, key=lambda each: each.accuracy, default=None)


# ------------------------------------------------------------------------------------- tables


def page(cells: Cells) -> Iterator[Table]:
    """Yield sets, contestants, the frontier step by step, and what was chosen."""
    columns = ["Data set", "Training rows", "Test rows", "Features", "Classes", "Scaling"]
    yield "frontier_sets", columns, _sets(cells)
    columns = ["Data set", "Frontiers", "Steps", "Steps that are ours", "Where it is not ours"]
    yield "frontier_verdict", columns, _verdicts(cells)
    columns = ["Data set", "From, seconds", "Contestant", "Accuracy", "Best of ours by then"]
    yield "frontier_steps", [*columns, "Ours behind, points"], _steps(cells)
    columns = ["Data set", "Contestant", "Settings", "Accuracy", "Seconds", "CPU seconds"]
    columns += ["Prediction, seconds", "Peak memory, MB", "On the frontier"]
    for kind in (KERNEL, TEXT):
        yield f"frontier_{kind}", columns, _contestants(cells, kind)
    yield "frontier_grids", ["Contestants", "Tried on held-out rows"], _grids()


def _sets(cells: Cells) -> Rows:
    for name, each in SETS.items():
        fits = (cells.get(f"{name}/{who}", {}) for who in CONTESTANTS)
        fit = next((cell for cell in fits if "rows" in cell), {})
        sizes = ("rows", "test_rows", "features", "classes")
        yield [
            each.title,
            *(f"{fit[key]:,}" if key in fit else NONE for key in sizes),
            each.scaling,
        ]


def _verdicts(cells: Cells) -> Rows:
    """Say for each set where the frontier is not ours, in training and in prediction."""
    for name, each in SETS.items():
        for key, title in ((FIT, "training"), (PREDICT, "prediction")):
            found = points(cells, name, key)
            if not any(point.of.ours for point in found):
                continue
            steps = frontier(found)
            own = [step for step in steps if step.of.ours]
            texts = [_behind(step, found) for step in steps if not step.of.ours]
            shown = "; ".join(texts) or "ours everywhere"
            yield [each.title, title, str(len(steps)), str(len(own)), shown]


def _behind(step: Point, found: list[Point]) -> str:
    ours = best_of_ours(found, step.seconds)
    place = f"{step.of.title}, {percent(step.accuracy)} in {_time(step.seconds, step.busy)} s"
    if ours is None:
        return f"{place} (ours takes longer)"
    return f"{place} (ours by then {percent(ours.accuracy)})"


def _steps(cells: Cells) -> Rows:
    for name, each in SETS.items():
        found = points(cells, name)
        for step in frontier(found):
            ours = best_of_ours(found, step.seconds)
            row = [each.title, _time(step.seconds, step.busy), _title(step.of)]
            row += [percent(step.accuracy)]
            if ours is None:
                yield [*row, NONE, NONE]
            else:
                lost = 100 * (step.accuracy - ours.accuracy)
                shown = "0" if step.of.ours else f"**{lost:.2f}**"
                yield [*row, f"{ours.of.title}: {percent(ours.accuracy)}", shown]


def _time(value: float, busy: bool) -> str:
    """Show seconds, with a mark where they cannot be compared."""
    return seconds(value) + BUSY * busy


def _title(contestant: Contestant) -> str:
    return f"**{contestant.title}**" if contestant.ours else contestant.title


def _contestants(cells: Cells, kind: str) -> Rows:
    for data_set, each in SETS.items():
        if each.kind != kind:
            continue
        steps = {
            key: {p.name for p in frontier(points(cells, data_set, key))} for key in (FIT, PREDICT)
        }
        for name, contestant in CONTESTANTS.items():
            cell = cells.get(f"{data_set}/{name}")
            if cell is None:
                continue
            row = [each.title, _title(contestant), _settings(cell.get("settings"))]
            if "accuracy" not in cell:
                yield [*row, _missing(cell), seconds(cell.get(FIT)), *[NONE] * 4]
                continue
            row += [percent(cell["accuracy"])]
            busy = cell.get("busy", False)
            row += [_time(cell[key], busy) for key in (FIT, "cpu_seconds", PREDICT)]
            row += [f"{cell['peak_memory_mb']:,.0f}"]
            marks = {FIT: "training", PREDICT: "prediction"}
            on = [text for key, text in marks.items() if name in steps[key]]
            yield [*row, ", ".join(on) or NONE]


def _missing(cell: Cell) -> str:
    if cell.get("out_of_memory"):
        return f"more than {cell['memory_gb']} GB"
    return f"more than {cell['limit']:g} s"


def _settings(chosen: Cell | None) -> str:
    if not chosen:
        return NONE
    return ", ".join(f"{key}={_value(value)}" for key, value in chosen.items())


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _grids() -> Rows:
    """Show what the grids hold, and for whom; the widths are multiples of the set's middle."""
    for grid in GRIDS:
        who = [each.title for each in CONTESTANTS.values() if each.grid == grid]
        of_kind = next(each.kind for each in CONTESTANTS.values() if each.grid == grid)
        first = next(name for name, each in SETS.items() if each.kind == of_kind)
        settings = tried(grid, first)
        if len(settings) < 2:
            yield ["; ".join(who), "nothing: all is fixed"]
            continue
        values = {key: sorted({each[key] for each in settings}) for key in settings[0]}
        for key, middle in (("gamma", SETS[first].gamma), ("C", SETS[first].C)):
            if key in values and of_kind == KERNEL:
                values[key] = [f"{each / middle:g}×" for each in values[key]]
        texts = (f"{key} {', '.join(map(_value, each))}" for key, each in values.items())
        yield ["; ".join(dict.fromkeys(who)), "; ".join(texts)]
