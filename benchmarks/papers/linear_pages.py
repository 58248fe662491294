"""[SODM] Table 3 with ours beside it."""

from __future__ import annotations

from collections.abc import Iterator

from . import linear_tables, published
from .figures import NONE, Cells, Rows, figure, name_of, percent, seconds
from .sodm_pages import of_splits

TITLES = {"odm": "ODM", "hinge": "SVM, hinge", "squared_hinge": "SVM, squared hinge"}
# Ours may be below the print by so many points.
MARGIN = 0.5


def tables(cells: Cells) -> Iterator[tuple[str, list[str], Rows]]:
    """Give every table as file name, columns and rows."""
    theirs = [f"{name} (published)" for name in ("ODM", "Ca-ODM", "DiP-ODM")]
    columns = ["Data set", *theirs, *TITLES.values(), "ODM − published, points"]
    yield "linear_accuracy", columns, _accuracy(cells)
    columns = ["Data set", "Rows", "Features", "ODM: C, υ, θ", "Hinge: C", "Squared hinge: C"]
    columns += [f"{title}: s" for title in TITLES.values()]
    yield "linear_settings", columns, _settings(cells)


def _accuracy(cells: Cells) -> Rows:
    for data_set, theirs in published.LINEAR.items():
        ours = [
            figure(of_splits(cells, data_set, loss), "accuracy", percent, linear_tables.SPLITS)
            for loss in TITLES
        ]
        yield [
            name_of(data_set),
            *(percent(theirs[method]) for method in ("whole", "cascade", "preserving")),
            *ours,
            _points(cells, data_set, theirs["whole"]),
        ]


def _points(cells: Cells, data_set: str, theirs: float) -> str:
    fits = of_splits(cells, data_set, "odm")
    if not fits:
        return NONE
    points = round(100 * (sum(fit["accuracy"] for fit in fits) / len(fits) - theirs), 6)
    return f"{points:+.2f}" if points >= -MARGIN else f"**{points:+.2f}**"


def _settings(cells: Cells) -> Rows:
    for data_set in linear_tables.DATA_SETS:
        searches = {loss: cells.get(f"{data_set}/search/{loss}") for loss in TITLES}
        found = [
            NONE
            if each is None
            else ", ".join(f"{each['search'][name]:g}" for name in linear_tables.GRIDS[loss])
            for loss, each in searches.items()
        ]
        fits = of_splits(cells, data_set, "odm")
        rows = f"{fits[0]['rows'] + fits[0]['test_rows']:,}" if fits else NONE
        features = NONE if searches["odm"] is None else str(searches["odm"]["features"])
        times = (
            figure(of_splits(cells, data_set, loss), "fit_seconds", seconds, linear_tables.SPLITS)
            for loss in TITLES
        )
        yield [name_of(data_set), rows, features, *found, *times]
