"""What the displays share: matplotlib when it is needed, axes, colours that all eyes tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette without its yellow, which is lost on white; grey stands in.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#888888")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")


def require_matplotlib(caller: str) -> None:
    """Raise a helpful error if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib. Install it with: pip install matplotlib"
        ) from error


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def next_style(ax: Axes, kind: str) -> dict[str, Any]:
    """Return colour and marker of the next display of a kind on some axes."""
    drawn = sum(line.get_gid() == kind for line in ax.lines)
    return {
        "color": COLOURS[drawn % len(COLOURS)],
        "marker": MARKERS[drawn % len(MARKERS)],
        "gid": kind,
    }
