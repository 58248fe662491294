"""Time against gap: ours from its history, the peers from the tols they were measured with."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import panels
from benchmarks.papers.figures import Cells

from .cases import CASES
from .ladder import TARGET_GAP

Curve = list[tuple[float, float]]
PEERS = {"scikit-learn SVC": "svc", "intelex SVC": "intelex"}


def curves_of(cells: Cells, case: str) -> dict[str, Curve]:
    """Return points (seconds, relative gap) by name; binary problems only."""
    if CASES[case].multi_class:
        return {}
    found = {}
    for title, contestant in PEERS.items():
        choice = cells.get(f"{case}/{contestant}/choice", {})
        start = f"{case}/{contestant}/fit/{choice.get('format')}/"
        rungs = (cells[name] for name in cells if name.startswith(start) and name.endswith("/0"))
        points = (
            (cell["fit_seconds"], cell["relative_gap"]) for cell in rungs if "relative_gap" in cell
        )
        found[title] = sorted(points, key=lambda point: -point[1])
    for contestant in ("svm_curve", "svm"):  # the one that was asked for the smaller gap, if any
        form = cells.get(f"{case}/svm/choice", {}).get("format")
        history = cells.get(f"{case}/{contestant}/fit/{form}/0", {}).get("history")
        if history is not None:
            pairs = zip(history["seconds"], history["relative_gap"], strict=True)
            found["SVM (widemargin)"] = list(pairs)
            break
    return {title: curve for title, curve in found.items() if curve}


def draw(cells: Cells, path: Path) -> None:
    """Draw one panel for every case that was measured."""
    found = {case: curves for case in CASES if (curves := curves_of(cells, case))}
    panels.draw(path, {CASES[case].title: partial(_fill, each) for case, each in found.items()})


def _fill(curves: dict[str, Curve], axis: Any) -> None:
    for title, curve in curves.items():
        marker = "o" if title in PEERS else ""
        axis.plot(*zip(*curve, strict=True), marker=marker, label=title)
    axis.axhline(TARGET_GAP, color="0.7", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="seconds", ylabel="relative gap")
    axis.legend(fontsize="small")
