"""Accuracy or objective of the sites of a network over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from .display import Display, require_matplotlib
from .network_display import fitted_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

Measure: TypeAlias = Literal["accuracy", "objective"]
Against: TypeAlias = Literal["round", "messages", "bytes", "seconds"]

X_LABELS = {
    "round": "round",
    "messages": "messages sent",
    "bytes": "bytes sent",
    "seconds": "seconds",
}


@dataclass(eq=False, repr=False)
class PerformanceProfileDisplay(Display):
    """Accuracy or objective of the sites' models over the rounds of a network.

    The line is the mean over the sites, the band reaches from the minimum to the maximum.

    Use :meth:`from_estimator` or :meth:`from_history` to create one.

    Parameters
    ----------
    x : array-like of shape (n_checkpoints,)
        Rounds, messages, bytes or seconds up to each checkpoint.
    minimum, mean, maximum : array-like of shape (n_checkpoints,)
        Of the sites, at each checkpoint.
    measure : {'accuracy', 'objective'}, default='accuracy'
        The measure that is drawn.
    against : {'round', 'messages', 'bytes', 'seconds'}, default='round'
        The quantity in ``x``.
    optimum : float, default=None
        The optimal objective, if known; the relative excess over it is then drawn.
    one_vs_rest : bool, default=False
        Whether the values are of one class against the rest, which the label then says.
    estimator_name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The mean.
    band_ : matplotlib PolyCollection
        From the minimum to the maximum.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    See Also
    --------
    widemargin.inspection.NetworkDisplay : The disagreement of each site.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import GossipClassifier
    >>> from widemargin.inspection import PerformanceProfileDisplay
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> model = GossipClassifier(6, C=0.1, random_state=0).fit(X, y)
    >>> display = PerformanceProfileDisplay.from_estimator(model, against="messages")
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('messages sent', 'accuracy of the sites')
    """

    x: ArrayLike
    minimum: ArrayLike
    mean: ArrayLike
    maximum: ArrayLike
    _: KW_ONLY
    measure: Measure = "accuracy"
    against: Against = "round"
    optimum: float | None = None
    one_vs_rest: bool = False
    estimator_name: str | None = None
    line_: Line2D = field(init=False)
    band_: PolyCollection = field(init=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, **options: Any) -> Self:
        """Draw the history of a fitted classifier.

        Parameters
        ----------
        estimator : GossipClassifier
            Fitted, or a pipeline or search that ends in one.
        name : str, default=None
            Name in the legend; None takes that of the estimator's class, and with several classes
            says which is drawn.
        **options : dict
            Passed to :meth:`from_history`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        final = fitted_network(estimator)
        if name is None:
            name, labels = type(final).__name__, dict(enumerate(final.classes_))
            if len(labels) > 2 and (problem := options.get("problem", 0)) in labels:
                name += f", {labels[problem]} against the rest"
        return cls.from_history(final.history_, name=name, **options)

    @classmethod
    def from_history(
        cls,
        history: Mapping[str, ArrayLike],
        *,
        measure: Measure = "accuracy",
        against: Against = "round",
        optimum: float | None = None,
        problem: int = 0,
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the checkpoints of a history.

        Parameters
        ----------
        history : dict of arrays
            With the columns ``min_…``, ``mean_…`` and ``max_…`` of the measure, the column
            ``against``, and ``problem`` if it holds several binary problems.
        measure : {'accuracy', 'objective'}, default='accuracy'
            What to draw.
        against : {'round', 'messages', 'bytes', 'seconds'}, default='round'
            Quantity on the horizontal axis.
        optimum : float, default=None
            The optimal objective, if known: that of the same problem solved in one place. The
            relative excess over it is then drawn.
        problem : int, default=0
            Number of the binary problem to draw; with several classes each is one class against
            the rest.
        name : str, default=None
            Name in the legend.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_history")
        _check_choices(measure, against, optimum)
        columns = [against, *(f"{which}_{measure}" for which in ("min", "mean", "max"))]
        if missing := [column for column in columns if column not in history]:
            raise ValueError(
                f"`history` must have the columns {columns}; it lacks {missing}. Take that of a "
                "GossipClassifier."
            )
        chosen = np.ones(np.shape(history[against]), dtype=bool)
        if "problem" in history:
            chosen = np.asarray(history["problem"]) == problem
        if not chosen.any() or ("problem" not in history and problem != 0):
            raise ValueError(
                f"`problem` must be the number of a problem in `history`; got {problem!r}."
            )
        display = cls(
            *(np.asarray(history[column])[chosen] for column in columns),
            measure=measure,
            against=against,
            optimum=optimum,
            one_vs_rest="problem" in history and len(np.unique(history["problem"])) > 1,
            estimator_name=name,
        )
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kw: dict[str, Any] | None = None,
        name: str | None = None,
        band_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw line and band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure. Several displays may share axes.
        line_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.plot`.
        name : str, default=None
            Name in the legend; None takes ``estimator_name``.
        band_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.fill_between`.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        _check_choices(self.measure, self.against, self.optimum)
        x = np.asarray(self.x, dtype=np.float64)
        low, mean, high = (self._drawn(each) for each in (self.minimum, self.mean, self.maximum))
        shapes = [low.shape, mean.shape, high.shape]
        if x.ndim != 1 or shapes != [x.shape] * 3:
            raise ValueError(
                "`x`, `minimum`, `mean` and `maximum` must be one-dimensional and of equal length; "
                f"got shapes {x.shape}, {', '.join(map(str, shapes))}."
            )
        ax = self._use_axes(ax)
        options: dict[str, Any] = {"label": name or self.estimator_name, "markersize": 3.0}
        options |= {**self._next_style("profile"), **(line_kw or {})}
        (self.line_,) = ax.plot(x, mean, **options)
        band = {"color": self.line_.get_color(), "alpha": 0.2, "linewidth": 0.0}
        self.band_ = ax.fill_between(x, low, high, **{**band, **(band_kw or {})})
        # Checkpoints lie farther and farther apart. A network of one site sends nothing.
        if np.all(x > 0):
            ax.set_xscale("log")
        ylabel = f"{self.measure} of the sites"
        if self.optimum is not None:
            ax.set_yscale("log", nonpositive="clip")
            ylabel += " / optimum − 1"
        if self.one_vs_rest:
            ylabel += ", one class against the rest"
        self._finish(X_LABELS[self.against], ylabel)
        return self

    def _drawn(self, values: ArrayLike) -> Array:
        y = np.asarray(values, dtype=np.float64)
        return y if self.optimum is None else y / self.optimum - 1.0


def _check_choices(measure: str, against: str, optimum: float | None) -> None:
    if measure not in ("accuracy", "objective"):
        raise ValueError(f"`measure` must be 'accuracy' or 'objective'; got {measure!r}.")
    if against not in X_LABELS:
        raise ValueError(
            f"`against` must be one of {', '.join(map(repr, X_LABELS))}; got {against!r}."
        )
    if optimum is not None and (measure != "objective" or not optimum > 0):
        raise ValueError(
            "`optimum` must be a positive number, with measure='objective'; got "
            f"{optimum!r} and measure={measure!r}."
        )
