"""Time against gap: ours from its history, the peers from the tols they were measured with."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from benchmarks.papers.figures import Cells

from .cases import CASES
from .ladder import TARGET_GAP

Curve = list[tuple[float, float]]
COLUMNS = 3
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
    """Draw one panel for every case that was measured, if matplotlib is there."""
    if find_spec("matplotlib") is None:
        print(f"{path.name} was not drawn: it needs matplotlib (pip install 'widemargin[plot]').")
        return
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = {case: curves for case in CASES if (curves := curves_of(cells, case))}
    lines = max(1, -(-len(panels) // COLUMNS))
    # The same cells give the same file: no date, no random names.
    with mpl.rc_context({"svg.hashsalt": "widemargin", "svg.fonttype": "path"}):
        figure = Figure(figsize=(11, 3.2 * lines), layout="constrained")
        axes = figure.subplots(lines, COLUMNS, squeeze=False).ravel()
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        if not panels:
            figure.text(0.5, 0.5, "not measured yet", ha="center")
        for axis, (case, curves) in zip(axes, panels.items(), strict=False):
            for title, curve in curves.items():
                marker = "o" if title in PEERS else ""
                axis.plot(*zip(*curve, strict=True), marker=marker, label=title)
            axis.axhline(TARGET_GAP, color="0.7", linewidth=0.8)
            axis.set(xscale="log", yscale="log", title=CASES[case].title)
            axis.set(xlabel="seconds", ylabel="relative gap")
            axis.legend(fontsize="small")
        figure.savefig(path, metadata={"Date": None})
