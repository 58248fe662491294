"""[SODM] Theorems 1 and 2: the bounds beside the true gaps, on a thousand rows of real sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.race import data
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import Cells, Rows, Table, name_of
from widemargin import ODMClassifier, Stratified
from widemargin.inspection import leaf_partition, theorem1_bounds, theorem2_bound

from .settings import SETTINGS

DATA_SETS = ("phishing", "cod-rna", "ijcnn1")
# Levels of a division by four.
LEVELS = (1, 2)
ROWS, QUICK_ROWS = 1_000, 200


def run(store: Store, names: Sequence[str], *, quick: bool) -> None:
    """Measure what is missing, with the C and γ of SODM's tables."""
    n_rows = QUICK_ROWS if quick else ROWS
    for name in names:
        C, gamma = SETTINGS[name]["odm"]
        for levels in LEVELS:
            settings = {"C": C, "gamma": gamma, "rows": n_rows}
            store.cell(
                f"{name}/{levels}",
                settings,
                lambda name=name, levels=levels, settings=settings: gaps(name, levels, settings),
            )


def gaps(name: str, levels: int, settings: dict[str, Any]) -> Cell:
    """Divide rows by landmark strata; compare the bounds with the gaps."""
    split = data.random_split(*data.whole_set(name), 0)
    drawn = np.random.default_rng(0).choice(len(split.y), settings["rows"], replace=False)
    X, y = split.X[drawn], split.y[drawn]
    kept = {each: settings[each] for each in ("C", "gamma")}
    strategy = Stratified(levels=levels)
    model = ODMClassifier(fit_intercept=False, strategy=strategy, random_state=0, **kept)
    leaves = leaf_partition(model, X, y)
    first = theorem1_bounds(model, X, y, leaves.part)
    second = theorem2_bound(model, X, y, leaves.part, leaves.stratum)
    return {
        "parts": leaves.n_parts,
        "optimum": second.optimum,
        "gap": first.gap,
        "divided_gap": first.divided_gap,
        "gap_bound": first.gap_bound,
        "distance": first.distance,
        "distance_bound": first.distance_bound,
        "part_gaps": second.gaps.tolist(),
        "bound": second.bound,
        "plain_bound": second.plain_bound,
        "angle": second.angle,
    }


# -------------------------------------------------------------------------------------- page


def tables(cells: Cells) -> Iterator[Table]:
    """Yield a table for each theorem, gaps and bounds as multiples of the gap of a start at 0."""
    columns = ["Data set", "Parts", "Gap, duals as they are", "Gap, duals divided", "Bound (5)"]
    yield "sodm_theorem_1", [*columns, "Squared distance", "Bound (6)"], _first(cells)
    columns = ["Data set", "Parts", "Gap of a part: least", "largest", "Bound", "Without τ"]
    yield "sodm_theorem_2", [*columns, "τ, degrees"], _second(cells)


def _first(cells: Cells) -> Rows:
    for name, cell in _measured(cells):
        zero = -cell["optimum"]
        yield [
            name,
            str(cell["parts"]),
            f"{cell['gap'] / zero:.2f}",
            f"{cell['divided_gap'] / zero:.2f}",
            f"{cell['gap_bound'] / zero:.1e}",
            f"{cell['distance']:.3g}",
            f"{cell['distance_bound']:.1e}",
        ]


def _second(cells: Cells) -> Rows:
    for name, cell in _measured(cells):
        zero, found = -cell["optimum"], cell["part_gaps"]
        yield [
            name,
            str(cell["parts"]),
            f"{min(found) / zero:.2f}",
            f"{max(found) / zero:.2f}",
            f"{cell['bound'] / zero:.1e}",
            f"{cell['plain_bound'] / zero:.1e}",
            f"{np.degrees(cell['angle']):.1f}",
        ]


def _measured(cells: Cells) -> Iterator[tuple[str, Cell]]:
    for name in DATA_SETS:
        for levels in LEVELS:
            if cell := cells.get(f"{name}/{levels}"):
                yield name_of(name), cell
