"""[MC] Tables 1, 3, 4 and 5 with ours beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, takewhile
from statistics import mean

from benchmarks.race.store import Cell
from benchmarks.race.tables import NONE, Cells, Rows, Table, figure, seconds
from benchmarks.speed.multiclass.machines import TITLES

from . import published
from .sources import Source
from .tables import CS, MARGIN, SPLITS, TABLE_1, TABLE_3, TABLE_5, cell_name

NAMES = {
    "news20_bydate": "news20, by date",
    "news20_t": "news20, test file",
    "clinc150": "CLINC150",
    "generated_1000": "generated, 1,000 classes",
    "generated_5000": "generated, 5,000 classes",
    "generated_like_small": "generated, of LSHTC-small's size",
}
NO_TEST_PART = ("news20_t",)
COLUMNS = ("ww", "llw", "cs", "ovr")


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    titles = [TITLES[each] for each in COLUMNS]
    for key, text in (("error", "error"), ("density", "density")):
        theirs = [f"{title} (published)" for title in titles[:2]]
        columns = ["Data set", "C", *theirs, *titles]
        columns += ["WW − published, points"] if key == "error" else []
        yield f"multiclass_table_1_{text}", columns, _table_1(cells, key)
    columns = ["Data set", "C", "Published", "WW, first split", "Second solver"]
    columns += ["Our objective above the second solver's bound, %", "Our relative gap"]
    yield "multiclass_table_1_check", columns, _checks(cells)
    columns = ["Data set", "Split", "Scaling", "Rows", "Features", "Classes"]
    columns += ["Largest relative gap"]
    yield "multiclass_table_1_sets", columns, _sets(cells)
    for key in ("error", "macro_f1", "density", "fit_seconds"):
        columns = ["Data set", "C", *titles]
        yield f"multiclass_table_3_{key}", columns, _table_3(cells, key)
    columns = ["Data set", *titles, "OVR − the better of WW and CS, points"]
    yield "multiclass_table_3_best", columns, _best_errors(cells)
    columns = ["Data set", "C", "Error", "Micro-F1", "Macro-F1", "Density of weights"]
    columns += ["Density of multipliers", "Relative gap", "Seconds"]
    yield "multiclass_table_5", columns, _table_5(cells)


def error(value: float) -> str:
    """Show an accuracy as an error, per cent."""
    return f"{100 * (1 - value):.2f}"


def share(value: float) -> str:
    """Show a share, per cent."""
    return f"{100 * value:.2f}"


# Key of a cell, and how it is shown.
SHOWN: dict[str, tuple[str, Callable[[float], str]]] = {
    "error": ("accuracy", error),
    "macro_f1": ("macro_f1", share),
    "density": ("density", share),
    "fit_seconds": ("fit_seconds", seconds),
}


def _name(source: Source) -> str:
    return NAMES.get(source.name, source.name)


def _fits(cells: Cells, table: str, source: Source, formulation: str, C: float) -> list[Cell]:
    names = (cell_name(table, source.name, number, formulation, C) for number in count())
    return [cells[name] for name in takewhile(cells.__contains__, names)]


def _shown(cells: Cells, table: str, source: Source, formulation: str, C: float, key: str) -> str:
    of_cell, text = SHOWN[key]
    full = SPLITS if table == "1" and source.name in NO_TEST_PART else 1
    return figure(_fits(cells, table, source, formulation, C), of_cell, text, full)


def _printed(source: Source, formulation: str, C: float, key: str) -> float | None:
    if source.published is None:
        return None
    figures = published.TABLE_1[source.published][formulation][CS["1"].index(C)]
    return figures[0 if key == "error" else 1]


def _table_1(cells: Cells, key: str) -> Rows:
    for source in TABLE_1:
        for C in CS["1"]:
            printed = [_printed(source, each, C, key) for each in ("ww", "llw")]
            row = [_name(source), f"{C:g}"]
            row += [NONE if each is None else f"{each:.2f}" for each in printed]
            row += [_shown(cells, "1", source, each, C, key) for each in COLUMNS]
            yield row if key != "error" else [*row, _points(cells, source, C, printed[0])]


def _points(cells: Cells, source: Source, C: float, printed: float | None) -> str:
    fits = _fits(cells, "1", source, "ww", C)
    if not fits or printed is None:
        return NONE
    points = 100.0 * (1.0 - mean(fit["accuracy"] for fit in fits)) - printed
    shown = f"{round(points, 2) + 0.0:+.2f}"  # never -0.00
    return shown if abs(points) <= MARGIN else f"**{shown}**"


def _checks(cells: Cells) -> Rows:
    for source in TABLE_1:
        for C in CS["1"]:
            check = cells.get(cell_name("1", source.name, 0, "check", C))
            ours = cells.get(cell_name("1", source.name, 0, "ww", C))
            if check is None or ours is None:
                continue
            above = 100.0 * (ours["objective"] / check["bound"] - 1.0)
            errors = [error(each["accuracy"]) for each in (ours, check)]
            errors[1] += "†" if check["out_of_time"] else ""
            printed = f"{_printed(source, 'ww', C, 'error'):.2f}"
            gaps = [f"{above:.3f}", f"{ours['relative_gap']:.1e}"]
            yield [_name(source), f"{C:g}", printed, *errors, *gaps]


def _sets(cells: Cells) -> Rows:
    for source in TABLE_1:
        fits = _fits(cells, "1", source, "ww", 1.0)
        split = "90/10, at random" if source.name in NO_TEST_PART else "published"
        split = "the authors' files" if source.authors else split
        sizes = [f"{fits[0][key]:,}" if fits else NONE for key in ("rows", "features", "classes")]
        remark = source.remark or ("" if source.published else "not in the paper's table")
        scaling = f"[-1, 1], then {source.scaling}" if source.to_range else source.scaling
        split = f"{split}; {remark}" if remark else split
        yield [_name(source), split, scaling, *sizes, _largest_gap(cells, source)]


def _largest_gap(cells: Cells, source: Source) -> str:
    """Show the largest gap that a fit of Table 1 was left with."""
    found = (_fits(cells, "1", source, each, C) for each in COLUMNS for C in CS["1"])
    gaps = [fit["relative_gap"] for fits in found for fit in fits]
    return f"{max(gaps):.0e}" if gaps else NONE


def _table_3(cells: Cells, key: str) -> Rows:
    place = {"error": 0, "macro_f1": 2, "density": 3}.get(key)
    for source in TABLE_3:
        for C in CS["3"]:
            figures = (_shown(cells, "3", source, each, C, key) for each in COLUMNS)
            yield [_name(source), f"{C:g}", *figures]
    if place is None:
        return
    for number, C in enumerate(CS["3"]):
        theirs = (f"{published.LSHTC_SMALL[each][number][place]:.2f}" for each in COLUMNS)
        yield ["LSHTC-small (published)", f"{C:g}", *theirs]


def _best_errors(cells: Cells) -> Rows:
    """Show the smallest error of every machine over the values of C."""
    for source in TABLE_3:
        found = {}
        for each in COLUMNS:
            of_each = ((C, _fits(cells, "3", source, each, C)) for C in CS["3"])
            found[each] = [(100.0 * (1.0 - fits[0]["accuracy"]), C) for C, fits in of_each if fits]
        yield [_name(source), *_with_best_C(found)]
    small = {each: [row[0] for row in rows] for each, rows in published.LSHTC_SMALL.items()}
    for name, errors in {"LSHTC-small": small, **published.LSHTC_ERRORS}.items():
        # Where LLW did not converge, the row of errors is shorter.
        found = {each: list(zip(errors[each], CS["3"], strict=False)) for each in COLUMNS}
        yield [f"{name} (published)", *_with_best_C(found)]


def _with_best_C(found: dict[str, list[tuple[float, float]]]) -> list[str]:
    """Show the smallest of the errors of each machine, with its C, and how far OVR is behind."""
    best = {each: min(errors) for each, errors in found.items() if errors}
    shown = [
        f"{best[each][0]:.2f} ({best[each][1]:g})" if each in best else NONE for each in COLUMNS
    ]
    if not {"ovr", "ww", "cs"} <= best.keys():
        return [*shown, NONE]
    return [*shown, f"{best['ovr'][0] - min(best['ww'], best['cs'])[0]:+.2f}"]


def _table_5(cells: Cells) -> Rows:
    for source in TABLE_5:
        for C in CS["5"]:
            fits = _fits(cells, "5", source, "llw", C)
            if not fits:
                yield [_name(source), f"{C:g}", *[NONE] * 7]
                continue
            (fit,) = fits
            late = "†" if fit["out_of_time"] else ""
            shares = ("accuracy", "macro_f1", "density", "dual_density")
            row = [_name(source), f"{C:g}", error(fit["accuracy"]) + late]
            row += [share(fit[key]) for key in shares]
            yield [*row, f"{fit['relative_gap']:.1e}", seconds(fit["fit_seconds"])]
    for C, figures in zip(CS["5"], published.TABLE_5, strict=True):
        theirs = [f"{each:.2f}" for each in figures]
        yield ["LSHTC-small (published)", f"{C:g}", *theirs, NONE, NONE]
