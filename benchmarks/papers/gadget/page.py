"""[GADGET] Tables 2 to 7 and Figures 1 and 3 to 5 with ours beside them, and the other tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds
from benchmarks.race.tables import draw as draw_panels

from . import course, effect_page, other_models, published
from .comparison import BATCHES, DATA_SETS, ROBUSTNESS_SETS, ROBUSTNESS_TIMES, TABLE_3
from .figures import above, accuracy, megabytes, name_of, printed
from .runs import joined, run_cell
from .sets import AS_PUBLISHED, LAM, LAMS, optimum_cell
from .tables import DATA_SETS as ALL_SETS

TITLES = {
    "consensus": "consensus",
    "gadget": "gadget",
    "tracking": "tracking",
    "printed": "GADGET as printed",
    "pegasos": "Pegasos",
    "asg": "ASG-SVM",
    "asg_3": "ASG-SVM, 3 % of rows",
    "dist_eval": "Dist-Eval",
    "choco": "CHOCO-SGD",
    "alone": "LIBLINEAR at every site",
    "admm": "ADMM at every site",
    "pooled": "LIBLINEAR pooled",
}
SCALING = {"a9a": "indicators only", "reuters_moneyfx": "as published, rows of unit length"}
# As often as the paper counts "more than 80 times".
OFTEN = 80


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "Rows", "Test rows", "Features", "Positive, %", "λ", "Numeric features"]
    yield "gossip_sets", [*columns, "Accuracy of the optimum"], _sets(cells)
    columns = ["Data set", "Rows per step", "GADGET (published)", "Pegasos (published)"]
    columns += ["GADGET as printed", "Pegasos", "Our gadget", "Optimum"]
    yield "gossip_table_2_accuracy", columns, _table_2_accuracy(cells)
    columns = ["Data set", "Rows per step"]
    for method in ("GADGET as printed", "Pegasos", "our gadget"):
        columns += [f"{method}: above optimum, %", "iterations", "seconds"]
    yield "gossip_table_2_distance", columns, _table_2_distance(cells)
    yield (
        "gossip_figure_1",
        [
            "Data set",
            "Rows per step",
            "First and last stop",
            "Least accuracy",
            "Mean",
            "Most",
        ],
        _figure_1(cells),
    )
    columns = ["Data set", *(f"{title} (published)" for title in PRINTED_IN_TABLE_3.values())]
    yield "gossip_table_3_published", columns, _table_3_published()
    columns = ["Data set", "Method", "Accuracy", "least", "most", "Worst site above optimum, %"]
    columns += ["Rounds", "Messages", "MB sent", "Seconds"]
    yield "gossip_table_3", columns, _table_3(cells)
    columns = ["Data set", *(f"{title} (published)" for title in PRINTED_IN_TABLE_4.values())]
    yield (
        "gossip_table_4",
        [*columns, *(TITLES[each.split("/")[0]] for each in IN_TABLE_4)],
        _table_4(cells),
    )
    columns = ["Data set", "k", "Converged: least often", "median", "most often"]
    columns += [f"Sites above {OFTEN} times, %", "First time: median iteration"]
    columns += ["Accuracy then: mean", "most", "Accuracy at the end: mean"]
    yield "gossip_figure_4", columns, _figure_4(cells)
    yield from other_models.tables(cells)
    yield from effect_page.tables(cells)


# Names in the published tables, where "gadget" is the paper's.
PRINTED_IN_TABLE_3 = {
    "gadget": "GADGET",
    "asg": "ASG-SVM",
    "dist_eval": "Dist-Eval",
    "choco": "CHOCO-SGD",
}
PRINTED_IN_TABLE_4 = {
    "gadget": "GADGET",
    "SVMperf": "SVMperf",
    "LIBLINEAR": "LIBLINEAR",
    "LIBSVM": "LIBSVM",
    "ADMM": "ADMM",
}
IN_TABLE_4 = ("alone", "admm", "printed/1", "consensus", "pooled")


def _batch(batch: str) -> str:
    return batch if batch == "all" else f"{int(batch):,}"


def _sets(cells: Cells) -> Rows:
    for name in ALL_SETS:
        cell = cells.get(optimum_cell(name))
        if cell is None:
            continue
        shift = "mean 0, variance 1"
        scaling = SCALING.get(name, "variance 1" if name == "census_income" else shift)
        assert (name in AS_PUBLISHED) == scaling.startswith("as published")
        counts = [f"{cell[key]:,}" for key in ("rows", "test_rows", "features")]
        lam = f"{LAMS.get(name, LAM):g}"
        share = f"{100 * cell['positives']:.1f}"
        yield [name_of(name), *counts, share, lam, scaling, percent(cell["accuracy"])]


def _table_2_accuracy(cells: Cells) -> Rows:
    for name in DATA_SETS:
        optimum = cells.get(optimum_cell(name))
        for batch in BATCHES:
            theirs = published.TABLE_2.get(name, {}).get(batch, (None, None))
            row = [name_of(name), _batch(batch), *(printed(each) for each in theirs)]
            for method in ("printed", "pegasos", "gadget"):
                row.append(accuracy(joined(cells, "table_2", name, f"{method}/{batch}")))
            yield [*row, NONE if optimum is None else percent(optimum["accuracy"])]


def _table_2_distance(cells: Cells) -> Rows:
    for name in DATA_SETS:
        for batch in BATCHES:
            row = [name_of(name), _batch(batch)]
            for method in ("printed", "pegasos", "gadget"):
                cell = joined(cells, "table_2", name, f"{method}/{batch}")
                late = "†" if cell is not None and cell.get("out_of_time") else ""
                row.append(above(cell) + late)
                row += [NONE] * 2 if cell is None else _effort(cell)
            yield row


def _effort(cell: dict[str, Any]) -> list[str]:
    return [f"{cell['rounds']:,.0f}", seconds(cell["fit_seconds"])]


def _figure_1(cells: Cells) -> Rows:
    for name in DATA_SETS:
        for batch in BATCHES:
            cell = joined(cells, "table_2", name, f"printed/{batch}")
            if cell is None:
                continue
            stops = [each for each in cell["first"] if each > 0]
            when = f"{min(stops):,} – {max(stops):,}" if stops else NONE
            late = "†" if cell["out_of_time"] else ""
            sites = cell["accuracy_of_sites"]
            figures = (min(sites), cell["accuracy"], max(sites))
            yield [name_of(name), _batch(batch), when + late, *(percent(each) for each in figures)]


def _table_3_published() -> Rows:
    for name, figures in published.TABLE_3.items():
        yield [name_of(name), *(printed(figures[each]) for each in PRINTED_IN_TABLE_3)]


def _table_3(cells: Cells) -> Rows:
    for name in DATA_SETS:
        found = {method: joined(cells, "table_3", name, method) for method in TABLE_3}
        found["printed"] = joined(cells, "table_2", name, "printed/1")
        for method, title in TITLES.items():
            cell = found.get(method)
            if cell is None:
                continue
            sites = cell["accuracy_of_sites"]
            row = [name_of(name), title, accuracy(cell, deviation=False)]
            row += [percent(min(sites)), percent(max(sites)), above(cell)]
            row += [f"{cell['rounds']:,.0f}", f"{cell['messages']:,.0f}", megabytes(cell["bytes"])]
            yield [*row, seconds(cell["fit_seconds"])]


def _table_4(cells: Cells) -> Rows:
    for name in DATA_SETS:
        theirs = published.TABLE_4.get(name, {})
        row = [name_of(name), *(printed(theirs.get(each)) for each in PRINTED_IN_TABLE_4)]
        for each in IN_TABLE_4:
            table = "table_2" if each.startswith("printed") else "table_3"
            row.append(accuracy(joined(cells, table, name, each)))
        yield row


def _figure_4(cells: Cells) -> Rows:
    for name in ROBUSTNESS_SETS:
        cell = cells.get(f"figure_4/{name}")
        if cell is None:
            continue
        for times in ROBUSTNESS_TIMES:
            part = cell[str(times)]
            entered, first = part["entered"], [each for each in part["first"] if each > 0]
            often = 100 * sum(each > OFTEN for each in entered) / len(entered)
            row = [name_of(name), str(times), f"{min(entered)}", f"{median(entered):g}"]
            row += [f"{max(entered)}", f"{often:.0f}", f"{median(first):,g}" if first else NONE]
            pairs = zip(part["first"], part["accuracy"], strict=True)
            found = [accuracy for when, accuracy in pairs if when > 0]
            row += [percent(mean(found)), percent(max(found))] if found else [NONE] * 2
            yield [*row, percent(mean(cell["accuracy_at_the_end"]))]


# ---------------------------------------------------------------------------------- pictures

PROFILED = ("consensus", "gadget")


def draw(cells: Cells, folder: Path) -> None:
    """Draw all pictures; a set without cells has no panel."""
    stopped = [name for name in DATA_SETS if run_cell("table_2", name, 0, "printed/1") in cells]
    stops = {name_of(name): partial(_fill_stops, cells, name) for name in stopped}
    draw_panels(folder / "gossip_stops.svg", stops)
    measured = [name for name in DATA_SETS if run_cell("table_3", name, 0, PROFILED[0]) in cells]
    profiles = {name_of(name): partial(_fill_profile, cells, name) for name in measured}
    draw_panels(folder / "gossip_profiles.svg", profiles)
    counted = [name for name in ROBUSTNESS_SETS if f"figure_4/{name}" in cells]
    counts = {name_of(name): partial(_fill_counts, cells[f"figure_4/{name}"]) for name in counted}
    draw_panels(folder / "gossip_convergences.svg", counts)
    course.draw(cells, folder)


def _fill_stops(cells: Cells, name: str, axis: Any) -> None:
    """Draw least, mean and most accuracy of the sites at the paper's stop, as in Figure 1."""
    for place, batch in enumerate(BATCHES):
        cell = joined(cells, "table_2", name, f"printed/{batch}")
        if cell is None:
            continue
        sites = 100 * np.array(cell["accuracy_of_sites"])
        span = [[sites.mean() - sites.min()], [sites.max() - sites.mean()]]
        axis.errorbar([place], [sites.mean()], span, fmt="o", capsize=5, color="C0")
    optimum = 100 * cells[optimum_cell(name)]["accuracy"]
    axis.axhline(optimum, color="C1", label="optimum of all rows")
    axis.set_xticks(range(len(BATCHES)), BATCHES)
    axis.set(xlabel="rows per step", ylabel="accuracy, %")
    axis.legend(fontsize="small", loc="lower right")


def _fill_profile(cells: Cells, name: str, axis: Any) -> None:
    """Draw least, mean and most accuracy of the sites over the rounds."""
    for number, solver in enumerate(PROFILED):
        cell = cells.get(run_cell("table_3", name, 0, solver))
        if cell is None:
            continue
        history, color = cell["history"], f"C{number}"
        low, middle, high = (
            100 * np.array(history[f"{each}_accuracy"], dtype=float)
            for each in ("min", "mean", "max")
        )
        axis.fill_between(history["round"], low, high, color=color, alpha=0.3, linewidth=0)
        axis.plot(history["round"], middle, color=color, label=solver)
    stop = joined(cells, "table_2", name, "printed/1")
    if stop is not None and any(stop["first"]):
        when = np.median([each for each in stop["first"] if each > 0])
        axis.axvline(when, color="grey", linestyle=":", label="the paper's stop, one row a step")
    axis.set(xscale="log", xlabel="rounds", ylabel="accuracy, %")
    axis.legend(fontsize="small", loc="lower right")


def _fill_counts(cell: dict[str, Any], axis: Any) -> None:
    """Draw how often every site converged, as in Figure 4."""
    for number, times in enumerate(ROBUSTNESS_TIMES):
        entered = cell[str(times)]["entered"]
        places = np.arange(1, len(entered) + 1) + 0.27 * (number - 1)
        axis.bar(places, entered, width=0.25, label=f"k = {times}")
    axis.set(xlabel="site", ylabel="times converged")
    axis.margins(y=0.2)  # room for the legend
    axis.legend(fontsize="small", ncols=len(ROBUSTNESS_TIMES), loc="upper center")
