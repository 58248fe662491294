"""The race of linear machines, and its page."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.race import generated, objective, plugin
from benchmarks.race.data import CSR, DataSet, load
from benchmarks.race.plugin import Entry, Heat
from benchmarks.race.rounds import measured
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, ratio_text, seconds

from .contestants import CASES, CONTESTANTS, LOSSES, REFERENCES, Case, entries
from .libraries import LIBRARIES

QUICK_ROWS = 3_000
FIGURES = ["Seconds", "CPU seconds", "Above the optimum", "Setting", "Rows"]


class LinearRace(plugin.Race):
    """Seconds to within 1e-3 of the optimum of the same problem."""

    name = "linear"
    module = __name__
    libraries = LIBRARIES
    cases = CASES

    def add_options(self, group: Any) -> None:
        """Add the choice of losses."""
        group.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))

    def rows(self, case: Case, quick: bool) -> DataSet:
        """Read and scale the training rows: float32, labels ±1."""
        if case.source is None:
            return DataSet(
                *(generated.words(QUICK_ROWS, QUICK_ROWS) if quick else generated.words())
            )
        data = load(case.source)
        data = DataSet(data.X, np.where(np.isin(data.y, case.positive), 1, -1))
        return (data.few(QUICK_ROWS) if quick else data).scaled(case.scaling)

    def heats(
        self, name: str, store: Store, options: Namespace, rows: plugin.Rows
    ) -> Iterator[Heat]:
        """Yield a heat for each loss."""
        without = tuple(options.without)
        for loss in options.losses:
            long_runs = entries(name, loss, without, REFERENCES)
            references = {
                f"{name}/{loss}/reference/{each.name}": replace(each, forms=(CSR,))
                for each in long_runs
            }
            yield Heat(entries(name, loss, without), references)

    def ladder(self, entry: Entry, cells: Cells) -> tuple[float, ...]:
        """Return the ladder; none without an optimum to compare with."""
        return () if optimum(entry, cells) is None else entry.ladder

    def target(self, entry: Entry, cells: Cells) -> tuple[str, float] | None:
        """Climb to an objective that is close enough; to the end with a bound of its own."""
        best = optimum(entry, cells)
        return None if best is None or entry.always else ("objective", (1.0 + self.close) * best)

    def distance(self, entry: Entry, rung: Cell, cells: Cells) -> float | None:
        """Return by which share the objective exceeds the optimum."""
        best = optimum(entry, cells)
        return None if best is None else rung["objective"] / best - 1.0

    def score(self, job: Cell, model: Any, data: DataSet) -> Cell:
        """Value the weights by the one objective."""
        weights = LIBRARIES[job["library"]].weights(model)
        found = objective.objective(weights, data.X, data.y, **job["problem"])
        names = (each for each in ("solver_", "relative_gap_") if hasattr(model, each))
        own = {each.rstrip("_"): getattr(model, each) for each in names}
        return {"objective": objective.finite(found), **own}

    def tables(self, cells: Cells) -> Iterator[Table]:
        """Yield data, contestants by loss, and ratios."""
        columns = ["Data set", "Training rows", "Features", "Classes", "Scaling"]
        yield "linear_speed_cases", columns, _cases(cells)
        for loss in LOSSES:
            columns = ["Data set", "Contestant", *FIGURES]
            yield f"linear_speed_{loss}", columns, _contestants(cells, loss)
        columns = ["Data set", "Loss", "Ours ÷ fastest, seconds", "Fastest peer"]
        columns += ["Ours ÷ least, CPU seconds", "Peer with the least"]
        yield "linear_speed_ratios", columns, _ratios(cells)


RACE = LinearRace()


def optimum(entry: Entry, cells: Cells) -> float | None:
    """Return the lowest objective of the long runs."""
    names = (f"{entry.start}/reference/{name}" for name in REFERENCES)
    found = (cells[name].get("rungs", ()) for name in names if name in cells)
    return min((rung["objective"] for rungs in found for rung in rungs), default=None)


def _cases(cells: Cells) -> Rows:
    for name, case in CASES.items():
        any_fit = next((cells[each] for each in cells if each.startswith(f"{name}/")), {})
        sizes = [f"{any_fit[key]:,}" if key in any_fit else NONE for key in ("rows", "features")]
        yield [case.title, *sizes, case.classes, case.scaling]


def _contestants(cells: Cells, loss: str) -> Rows:
    for case in CASES:
        for entry in entries(case, loss):
            best, each = optimum(entry, cells), measured(RACE, cells, entry)
            if best is None or each is None:
                continue
            # Threads and random orders make the objective vary: the mark is that of the times.
            found = each.median("objective") or each.rung["objective"]
            yield [
                CASES[case].title,
                entry.title + ("" if found <= (1.0 + RACE.close) * best else "‡"),
                *(seconds(each.median(key)) for key in ("seconds", "cpu_seconds")),
                f"{found / best - 1.0:.1e}",
                f"{entry.rung}={each.value:g}",
                each.form,
            ]


def _ratios(cells: Cells) -> Rows:
    for case in CASES:
        for loss, title in LOSSES.items():
            if any(entry.is_peer for entry in entries(case, loss)):
                pairs = (ratio(cells, case, loss, key) for key in ("seconds", "cpu_seconds"))
                texts = ([NONE, NONE] if pair is None else _shown(*pair) for pair in pairs)
                yield [CASES[case].title, title, *(text for pair in texts for text in pair)]


def _shown(value: float, peer: str) -> list[str]:
    return [ratio_text(value, 1.0), CONTESTANTS[peer].title]


def ratio(cells: Cells, case: str, loss: str, key: str) -> tuple[float, str] | None:
    """Divide our median by that of the best peer, and name it; None where either is missing."""
    times = {}
    for entry in entries(case, loss):
        if entry.is_peer or entry.name == "ours":
            each = measured(RACE, cells, entry)
            value = None if each is None or not each.reached else each.median(key)
            if value is not None:
                times[entry.name] = value
    own = times.pop("ours", None)
    if own is None or not times:
        return None
    peer = min(times, key=lambda name: times[name])
    return own / times[peer], peer
