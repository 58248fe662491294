"""Pictures of several panels for the documentation; the same figures give the same file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

COLUMNS = 3


def draw(path: Path, panels: Mapping[str, Callable[[Any], None]], columns: int = COLUMNS) -> None:
    """Draw every panel, given as what fills its axes by its title, if matplotlib is there."""
    if find_spec("matplotlib") is None:
        print(f"{path.name} was not drawn: it needs matplotlib (pip install 'widemargin[plot]').")
        return
    import matplotlib as mpl
    from matplotlib.figure import Figure

    lines = max(1, -(-len(panels) // columns))
    # No date, no random names.
    with mpl.rc_context({"svg.hashsalt": "widemargin", "svg.fonttype": "path"}):
        figure = Figure(figsize=(11, 3.2 * lines), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        if not panels:
            figure.text(0.5, 0.5, "not measured yet", ha="center")
        for axis, (title, fill) in zip(axes, panels.items(), strict=False):
            fill(axis)
            axis.set_title(title)
        figure.savefig(path, metadata={"Date": None})
