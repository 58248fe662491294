"""The scores of a search over parameters."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from ..core.arrays import Array
from .display import Display, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class SearchDisplay(Display):
    """Mean score of every setting that a search has tried.

    One parameter gives a line with a band of one standard deviation over the folds, two give a
    map; the best setting is marked. Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    x : array-like of shape (n_settings,)
        Values of the first parameter.
    score : array-like of shape (n_settings,)
        Mean score of each setting.
    y : array-like of shape (n_settings,), default=None
        Values of the second parameter, if there are two.
    deviation : array-like of shape (n_settings,), default=None
        Standard deviation of each score over the folds.
    x_name, y_name : str, default="C", "gamma"
        Names of the parameters.

    Attributes
    ----------
    mesh_ : matplotlib QuadMesh or None
        The map, if there is one.
    best_ : matplotlib Line2D
        The mark of the best setting.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import SVMClassifierCV
    >>> from widemargin.inspection import SearchDisplay
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> display = SearchDisplay.from_estimator(SVMClassifierCV(Cs=4, gammas=3).fit(X, y))
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('C', 'gamma')
    """

    x: ArrayLike
    score: ArrayLike
    _: KW_ONLY
    y: ArrayLike | None = None
    deviation: ArrayLike | None = None
    x_name: str = "C"
    y_name: str = "gamma"
    mesh_: Any = field(init=False, default=None)
    best_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(cls, estimator: Any, **plot_options: Any) -> Self:
        """Draw the results of a search.

        Parameters
        ----------
        estimator : fitted search
            One of this library's …CV classes, or scikit-learn's GridSearchCV, over one or two
            parameters that vary and are numbers; a pipeline that ends with one.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        results = getattr(estimator, "cv_results_", None)
        if results is None:
            raise TypeError(
                "SearchDisplay needs a fitted search with `cv_results_`, such as ODMClassifierCV "
                f"or GridSearchCV; got {type(estimator).__name__}."
            )
        tried = {
            key.removeprefix("param_"): np.asarray(values, dtype=np.float64)
            for key, values in results.items()
            if key.startswith("param_") and _varies(values)
        }
        if not 1 <= len(tried) <= 2:
            raise ValueError(
                "SearchDisplay draws one or two parameters that take several numbers each; got "
                f"{len(tried)}: {sorted(tried)}. Search fewer at a time."
            )
        (x_name, x), *second = tried.items()
        display = cls(
            x,
            results["mean_test_score"],
            y=second[0][1] if second else None,
            deviation=results["std_test_score"],
            x_name=x_name,
            y_name=second[0][0] if second else "gamma",
        )
        return display.plot(**plot_options)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        ax = self._use_axes(ax)
        x, score = np.asarray(self.x, np.float64), np.asarray(self.score, np.float64)
        best = int(np.nanargmax(score))
        if self.y is None:
            self._plot_line(ax, x, score)
            at = score
        else:
            at = np.asarray(self.y, np.float64)
            self._plot_map(ax, x, at, score)
        label = f"best: {score[best]:.4g}"
        (self.best_,) = ax.plot(
            x[best], at[best], "*", markersize=14, color="#D55E00", mec="white", label=label
        )
        self._finish(self.x_name, "mean score" if self.y is None else self.y_name)
        return self

    def _plot_line(self, ax: Axes, x: Array, score: Array) -> None:
        order = np.argsort(x)
        (line,) = ax.plot(x[order], score[order], marker="o", markersize=4)
        if self.deviation is not None:
            spread = np.asarray(self.deviation, np.float64)[order]
            low, high = score[order] - spread, score[order] + spread
            ax.fill_between(x[order], low, high, alpha=0.2, color=line.get_color(), linewidth=0)
        ax.set_xscale("log" if np.all(x > 0) else "linear")

    def _plot_map(self, ax: Axes, x: Array, y: Array, score: Array) -> None:
        columns, column = np.unique(x, return_inverse=True)
        rows, row = np.unique(y, return_inverse=True)
        values = np.full((len(rows), len(columns)), np.nan)
        values[row, column] = score
        self.mesh_ = ax.pcolormesh(_edges(columns), _edges(rows), values, cmap="viridis")
        for axis, at in ((ax.set_xscale, columns), (ax.set_yscale, rows)):
            axis("log" if np.all(at > 0) else "linear")
        self.figure_.colorbar(self.mesh_, ax=ax, label="mean score")


def _edges(values: Array) -> Array:
    """Return the borders of cells around values, in the middle between them as they are drawn."""
    at = np.log(values) if np.all(values > 0) else values
    between = (at[1:] + at[:-1]) / 2
    first, last = 2 * at[0] - between[0], 2 * at[-1] - between[-1]
    edges = np.concatenate([[first], between, [last]])
    return np.asarray(np.exp(edges) if np.all(values > 0) else edges)


def _varies(values: Any) -> bool:
    """Whether a parameter took several values, all of them numbers."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return len(np.unique(numbers)) > 1
