"""The base of all displays: matplotlib on demand, axes, legend, title, colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sklearn.pipeline import Pipeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette for colour-blind readers; grey replaces its yellow, which is hard to see
# on white.
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


class Display:
    """Base class of the displays.

    A display is a dataclass of the data to draw; ``plot`` draws them, and class methods named
    ``from_…`` compute and draw them. Both call :func:`require_matplotlib` before any work is done.
    """

    ax_: Axes
    figure_: Figure

    def _use_axes(self, ax: Axes | None) -> Axes:
        """Draw on these axes, or on those of a new figure."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        return ax

    def _next_style(self, kind: str) -> dict[str, Any]:
        """Return colour and marker for the next line of a kind on the axes."""
        drawn = sum(line.get_gid() == kind for line in self.ax_.lines)
        return {
            "color": COLOURS[drawn % len(COLOURS)],
            "marker": MARKERS[drawn % len(MARKERS)],
            "gid": kind,
        }

    def _finish(self, xlabel: str, ylabel: str, title: str | None = None) -> None:
        """Set the labels and the title, and add a legend if anything has a name."""
        self.ax_.set(xlabel=xlabel, ylabel=ylabel)
        if title:
            self.ax_.set_title(title)
        if self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend(fontsize="small")  # it gets long where displays share axes


def final_estimator(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the best estimator of a search."""
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator
