"""The tables of ``docs/benchmarks/federated.rst`` from the stored results."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from .contest import NEAR, POINTS, Cell

TABLES = Path(__file__).parents[3] / "docs" / "benchmarks" / "tables"
NAMES = {
    "pooled": "all rows in one place",
    "consensus ring": "ours, ring",
    "consensus star": "ours, star",
    "flower": "Flower, FedAvg",
    "nvflare linear": "NVFlare SVM, linear",
    "nvflare rbf": "NVFlare SVM, RBF",
}
SET_NAMES = {"covtype_binary": "covtype, 20,000 rows"}
HEADER = (
    *("Data", "Sites", "Method", "Accuracy, %"),
    *(f"Rounds to {POINTS:g} points", "MB until then", f"Rounds to {NEAR:.0%} of the objective"),
    "Leaves a site",
)
VECTORS, MODELS = "a vector to each neighbour", "its model, to the server"


def write(results: dict[str, dict[str, Cell]]) -> None:
    """Write the table of contestants, and that of Flower's settings."""
    lines, settings = [], []
    for key, cells in results.items():
        name, _, division = key.partition("/")
        shown = SET_NAMES.get(name, name)
        for method, cell in cells.items():
            lines.append([shown, division, NAMES[method], *_figures(method, cell)])
        if "flower" in cells:
            settings.append([shown, division, *_settings(cells["flower"]["settings"])])
    _write("federated.csv", HEADER, lines)
    _write("federated_flower.csv", ("Data", "Sites", "Rate", "Local epochs", "alpha"), settings)


def _figures(method: str, cell: Cell) -> list[str]:
    if "error" in cell:
        return ["does not run", "–", "–", "–", "– (a site must have both classes)"]
    accuracy = f"{100 * cell['accuracy']:.2f}"
    if method == "pooled":
        return [accuracy, "–", "–", "–", "all rows"]
    if "rows_sent" in cell:
        leaves = f"{cell['rows_sent']:,} of {cell['rows']:,} rows, with labels"
        return [accuracy, "1, and done", f"{cell['bytes'] / 1e6:.2f}", "–", leaves]
    rounds = cell["rounds_accuracy"]
    never = f"not in {cell['rounds_run']}"
    near = never if rounds is None else f"{rounds:,}"
    sent = cell["bytes_a_round"] * (cell["rounds_run"] if rounds is None else rounds) / 1e6
    close = cell["rounds_objective"]
    leaves = MODELS if method == "flower" else VECTORS
    return [accuracy, near, f"{sent:.2f}", never if close is None else f"{close:,}", leaves]


def _settings(settings: dict[str, Any]) -> list[str]:
    rate = settings["learning_rate"]
    if "eta0" in settings:
        rate = f"{rate}, {settings['eta0']:g}"
    return [rate, str(settings["epochs"]), f"{settings['alpha']:g}"]


def _write(name: str, header: tuple[str, ...], lines: list[list[str]]) -> None:
    with open(TABLES / name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
