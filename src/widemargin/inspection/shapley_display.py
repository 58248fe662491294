"""Pictures of Shapley values: all rows by feature, or one row."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp

from ..core.arrays import Array
from .display import COLOURS, Display, require_matplotlib
from .shapley import ShapleyValues, shapley_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.container import BarContainer

Kind: TypeAlias = Literal["beeswarm", "bar", "waterfall"]
# Half the height of a swarm, and the bins that decide how far marks are moved apart.
HALF_HEIGHT, BINS = 0.38, 60


@dataclass(eq=False, repr=False)
class ShapleyDisplay(Display):
    """Shapley values by feature, the features with the largest ones at the top.

    Use :meth:`from_estimator` or :meth:`from_values` to create one.

    Parameters
    ----------
    explained : ShapleyValues
        What :func:`shapley_values` returned.
    output : int or str, default=None
        Place or name of the output to draw; not needed if there is one.

    Attributes
    ----------
    features_ : array of int
        The features drawn, from the top.
    marks_ : list of matplotlib PathCollection
        Marks of the beeswarm, one collection per feature.
    bars_ : matplotlib BarContainer or None
        Bars, if drawn.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVMClassifier
    >>> from widemargin.inspection import ShapleyDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SVMClassifier(multi_class="ovr").fit(X, y)
    >>> display = ShapleyDisplay.from_estimator(model, X, background=X[::10], output=2, kind="bar")
    >>> [display.explained.feature_names[j] for j in display.features_][0]
    'petal length (cm)'
    """

    explained: ShapleyValues
    _: KW_ONLY
    output: int | str | None = None
    features_: Any = field(init=False)
    marks_: list[PathCollection] = field(init=False)
    bars_: BarContainer | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        background: Any = None,
        output: int | str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Compute the Shapley values of a fitted kernel machine, and draw them.

        Parameters
        ----------
        estimator : estimator
            As in :func:`shapley_values`.
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows to explain.
        background : {array-like, sparse matrix} of shape (n_background, n_features), default=None
            As in :func:`shapley_values`.
        output : int or str, default=None
            Place or name of the output to draw; not needed if there is one.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``kind``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        explained = shapley_values(estimator, X, background=background)
        return cls(explained, output=output).plot(**plot_options)

    @classmethod
    def from_values(
        cls, explained: ShapleyValues, *, output: int | str | None = None, **plot_options: Any
    ) -> Self:
        """Draw Shapley values.

        Parameters
        ----------
        explained : ShapleyValues
            What :func:`shapley_values` returned.
        output : int or str, default=None
            Place or name of the output to draw; not needed if there is one.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``kind``.
        """
        return cls(explained, output=output).plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "beeswarm",
        row: int = 0,
        max_features: int = 12,
        mark_kw: dict[str, Any] | None = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        kind : {'beeswarm', 'bar', 'waterfall'}, default='beeswarm'
            A mark for every row, coloured by the feature's value; bars of the mean absolute value;
            or the steps from the base value to the decision about one row.
        row : int, default=0
            The row of 'waterfall'.
        max_features : int, default=12
            Features to draw, those with the largest (mean) absolute values. The last step of a
            waterfall is the sum of the others.
        mark_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.scatter`.
        bar_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.barh`.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        if kind not in get_args(Kind):
            raise ValueError(f"`kind` must be one of {', '.join(get_args(Kind))}; got {kind!r}.")
        if max_features < 1:
            raise ValueError(f"`max_features` must be at least 1; got {max_features}.")
        values, base, title = self._of_output()
        if kind == "waterfall" and not -len(values) <= row < len(values):
            raise ValueError(f"`row` must number one of {len(values)} rows; got {row}.")
        sizes = np.abs(values[row] if kind == "waterfall" else values)
        sizes = sizes if sizes.ndim == 1 else sizes.mean(axis=0)
        self.features_ = np.argsort(-sizes, kind="stable")[:max_features]
        ax = self._use_axes(ax)
        self.marks_, self.bars_ = [], None
        names = [self.explained.feature_names[j] for j in self.features_]
        if kind == "waterfall":
            names = self._waterfall(values[row], float(base[row]), names, bar_kw or {})
        elif kind == "bar":
            options = {"color": COLOURS[0], **(bar_kw or {})}
            self.bars_ = ax.barh(range(len(names)), sizes[self.features_], **options)
        else:
            self._beeswarm(values, mark_kw or {})
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        label = {"bar": "mean absolute Shapley value", "beeswarm": "Shapley value"}
        self._finish(label.get(kind, "decision"), "", title)
        return self

    def _of_output(self) -> tuple[Array, Array, str | None]:
        """Return values (rows, features), base values and name of the output to draw."""
        values, base = self.explained.values, self.explained.base_values
        names, output = self.explained.output_names, self.output
        if names is None:
            if output not in (None, 0):
                raise ValueError(f"There is one output only; got output={output!r}.")
            return values, base, None
        number = names.index(output) if isinstance(output, str) and output in names else output
        if not isinstance(number, int | np.integer) or not 0 <= number < len(names):
            raise ValueError(
                f"`output` must be one of {names} or its index: each output has its own picture; "
                f"got {output!r}."
            )
        return values[:, :, number], base[:, number], names[number]

    def _beeswarm(self, values: Array, options: dict[str, Any]) -> None:
        for place, j in enumerate(self.features_):
            x = values[:, j]
            data = self.explained.data[:, [j]]
            data = data.toarray() if sp.issparse(data) else np.asarray(data)
            colour = _ranks(np.ravel(data))
            marks = self.ax_.scatter(
                x,
                place + HALF_HEIGHT * _apart(x),
                **{
                    "c": colour,
                    "cmap": "viridis",
                    "vmin": 0.0,
                    "vmax": 1.0,
                    "s": 9.0,
                    "linewidths": 0,
                    **options,
                },
            )
            self.marks_.append(marks)
        self.ax_.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        bar = self.figure_.colorbar(self.marks_[0], ax=self.ax_, ticks=[0.0, 1.0])
        bar.set_ticklabels(["lowest", "highest"])
        bar.set_label("value of the feature (rank)")

    def _waterfall(
        self, values: Array, base: float, names: list[str], options: dict[str, Any]
    ) -> list[str]:
        steps = values[self.features_]
        others = len(values) - len(steps)
        if others > 0:
            steps = np.append(steps, values.sum() - steps.sum())
            names = [*names, f"{others} others"]
        ends = base + np.cumsum(steps)
        colours = [COLOURS[0] if step >= 0 else COLOURS[1] for step in steps]
        self.bars_ = self.ax_.barh(
            range(len(steps)), steps, left=ends - steps, **{"color": colours, **options}
        )
        self.ax_.bar_label(
            self.bars_, [f"{step:+.2g}" for step in steps], padding=3, fontsize="small"
        )
        self.ax_.margins(x=0.15)  # for the labels
        self.ax_.use_sticky_edges = False
        for place, end in enumerate(ends[:-1]):
            self.ax_.plot([end, end], [place - 0.4, place + 1.4], color="0.6", linewidth=0.8)
        self.ax_.axvline(base, color="0.6", linestyle=":", zorder=0, label=f"base {base:.3g}")
        self.ax_.axvline(
            ends[-1], color="black", linestyle=":", zorder=0, label=f"decision {ends[-1]:.3g}"
        )
        return names


def _ranks(x: Array) -> Array:
    """Return ranks between 0 and 1, equal ones where entries are equal."""
    distinct, place = np.unique(x, return_inverse=True)
    return np.asarray(place / max(1, len(distinct) - 1))


def _apart(x: Array) -> Array:
    """Return places between -1 and 1 that move marks of similar values apart."""
    low, high = float(x.min()), float(x.max())
    bins = ((x - low) / (high - low) * (BINS - 1)).astype(np.int64) if high > low else 0 * x
    order = np.argsort(bins, kind="stable")
    _, first, count = np.unique(np.asarray(bins)[order], return_index=True, return_counts=True)
    within = np.arange(len(x)) - np.repeat(first, count)
    sign = np.where(within % 2 == 0, 1.0, -1.0)
    places = np.empty(len(x))
    places[order] = sign * ((within + 1) // 2) / max(1.0, count.max() / 2.0)
    return places
