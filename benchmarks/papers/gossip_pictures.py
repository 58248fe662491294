"""Pictures of the gossip tables: stops by the paper's rule, profiles of ours, convergences."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import panels

from .figures import Cells
from .gossip_comparison import BATCHES, DATA_SETS
from .gossip_figures import name_of
from .gossip_reference import cell_name as reference_name
from .gossip_robustness import DATA_SETS as ROBUSTNESS_SETS
from .gossip_robustness import TIMES

PROFILED = ("consensus", "gadget")


def draw(cells: Cells, folder: Path) -> None:
    """Draw all pictures; a set without cells has no panel."""
    stopped = [name for name in DATA_SETS if f"table_2/{name}/printed/1" in cells]
    stops = {name_of(name): partial(_fill_stops, cells, name) for name in stopped}
    panels.draw(folder / "gossip_stops.svg", stops)
    measured = [name for name in DATA_SETS if f"table_3/{name}/{PROFILED[0]}" in cells]
    profiles = {name_of(name): partial(_fill_profile, cells, name) for name in measured}
    panels.draw(folder / "gossip_profiles.svg", profiles)
    counted = [name for name in ROBUSTNESS_SETS if f"figure_4/{name}" in cells]
    counts = {name_of(name): partial(_fill_counts, cells[f"figure_4/{name}"]) for name in counted}
    panels.draw(folder / "gossip_convergences.svg", counts)


def _fill_stops(cells: Cells, name: str, axis: Any) -> None:
    """Draw least, mean and most accuracy of the sites at the paper's stop, as in Figure 1."""
    for place, batch in enumerate(BATCHES):
        cell = cells.get(f"table_2/{name}/printed/{batch}")
        if cell is None:
            continue
        sites = 100 * np.array(cell["accuracy_of_sites"])
        span = [[sites.mean() - sites.min()], [sites.max() - sites.mean()]]
        axis.errorbar([place], [sites.mean()], span, fmt="o", capsize=5, color="C0")
    optimum = 100 * cells[reference_name(name)]["accuracy"]
    axis.axhline(optimum, color="C1", label="optimum of all rows")
    axis.set_xticks(range(len(BATCHES)), BATCHES)
    axis.set(xlabel="rows per step", ylabel="accuracy, %")
    axis.legend(fontsize="small", loc="lower right")


def _fill_profile(cells: Cells, name: str, axis: Any) -> None:
    """Draw least, mean and most accuracy of the sites over the rounds."""
    for number, solver in enumerate(PROFILED):
        cell = cells.get(f"table_3/{name}/{solver}")
        if cell is None:
            continue
        history, color = cell["history"], f"C{number}"
        low, middle, high = (
            100 * np.array(history[f"{each}_accuracy"], dtype=float)
            for each in ("min", "mean", "max")
        )
        axis.fill_between(history["round"], low, high, color=color, alpha=0.3, linewidth=0)
        axis.plot(history["round"], middle, color=color, label=solver)
    stop = cells.get(f"table_2/{name}/printed/1")
    if stop is not None and any(stop["first"]):
        when = np.median([each for each in stop["first"] if each > 0])
        axis.axvline(when, color="grey", linestyle=":", label="the paper's stop, one row a step")
    axis.set(xscale="log", xlabel="rounds", ylabel="accuracy, %")
    axis.legend(fontsize="small", loc="lower right")


def _fill_counts(cell: dict[str, Any], axis: Any) -> None:
    """Draw how often every site converged, as in Figure 4."""
    for number, times in enumerate(TIMES):
        entered = cell[str(times)]["entered"]
        places = np.arange(1, len(entered) + 1) + 0.27 * (number - 1)
        axis.bar(places, entered, width=0.25, label=f"k = {times}")
    axis.set(xlabel="site", ylabel="times converged")
    axis.margins(y=0.2)  # room for the legend
    axis.legend(fontsize="small", ncols=len(TIMES), loc="upper center")
