"""How well the sites of a network do as time goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import Array
from .canvas import axes_or_new, next_style, require_matplotlib
from .network import fitted_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Measure: TypeAlias = Literal["accuracy", "objective"]
Against: TypeAlias = Literal["round", "messages", "bytes", "seconds"]

X_LABELS = {
    "round": "round",
    "messages": "messages sent",
    "bytes": "bytes sent",
    "seconds": "seconds",
}


class PerformanceProfileDisplay:
    """Accuracy or objective of the sites' models as a network runs.

    The line is the mean over the sites, the band goes from the lowest to the highest.

    It is recommended to use :meth:`from_estimator` or :meth:`from_history`. All parameters are
    stored as attributes.

    Parameters
    ----------
    x : array-like of shape (n_checkpoints,)
        Rounds, messages, bytes or seconds up to each checkpoint.
    minimum, mean, maximum : array-like of shape (n_checkpoints,)
        Of the sites, at each checkpoint.
    measure : {'accuracy', 'objective'}, default='accuracy'
        What these are.
    against : {'round', 'messages', 'bytes', 'seconds'}, default='round'
        What ``x`` is.
    optimum : float, default=None
        The least objective, if it is known; by how much it is exceeded is then drawn.
    one_vs_rest : bool, default=False
        Whether these are of one of several classes against the rest, which the label then says.
    estimator_name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure containing the axes.
    line_ : matplotlib Line2D
        The mean.
    band_ : matplotlib PolyCollection
        From the lowest to the highest.

    See Also
    --------
    widemargin.inspection.NetworkDisplay : Which sites differ from the others.

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

    ax_: Axes
    figure_: Figure
    line_: Line2D
    band_: PolyCollection

    def __init__(
        self,
        x: ArrayLike,
        minimum: ArrayLike,
        mean: ArrayLike,
        maximum: ArrayLike,
        *,
        measure: Measure = "accuracy",
        against: Against = "round",
        optimum: float | None = None,
        one_vs_rest: bool = False,
        estimator_name: str | None = None,
    ) -> None:
        self.x = x
        self.minimum = minimum
        self.mean = mean
        self.maximum = maximum
        self.measure = measure
        self.against = against
        self.optimum = optimum
        self.one_vs_rest = one_vs_rest
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw how a fitted classifier came about.

        Parameters
        ----------
        estimator : GossipClassifier
            Fitted, or a pipeline or search that ends in one.
        name : str, default=None
            Name in the legend; None takes that of the estimator's class, and with several classes
            says which is drawn.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Passed to :meth:`from_history`.

        Returns
        -------
        PerformanceProfileDisplay
            The display, drawn.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        final = fitted_network(estimator)
        if name is None:
            name, labels = type(final).__name__, dict(enumerate(final.classes_))
            if len(labels) > 2 and (problem := options.get("problem", 0)) in labels:
                name += f", {labels[problem]} against the rest"
        return cls.from_history(final.history_, name=name, ax=ax, **options)

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
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw what was noted at checkpoints.

        Parameters
        ----------
        history : dict of arrays
            With the columns ``min_…``, ``mean_…`` and ``max_…`` of the measure, that of
            ``against``, and ``problem`` where several binary problems follow each other.
        measure : {'accuracy', 'objective'}, default='accuracy'
            What to draw.
        against : {'round', 'messages', 'bytes', 'seconds'}, default='round'
            Over what to draw it.
        optimum : float, default=None
            The least objective, if it is known: of the same problem solved in one place. By how
            much it is exceeded is then drawn.
        problem : int, default=0
            Which binary problem to draw; with several classes each is one against the rest.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        PerformanceProfileDisplay
            The display, drawn.
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
        return display.plot(ax=ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
        band_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw line and band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Several displays may share one.
        name : str, default=None
            Name in the legend; None takes ``estimator_name``.
        line_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.plot`.
        band_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.fill_between`.

        Returns
        -------
        PerformanceProfileDisplay
            Itself.
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
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        options: dict[str, Any] = {"label": name or self.estimator_name, "markersize": 3.0}
        options |= {**next_style(ax, "profile"), **(line_kw or {})}
        (self.line_,) = ax.plot(x, mean, **options)
        band = {"color": self.line_.get_color(), "alpha": 0.2, "linewidth": 0.0}
        self.band_ = ax.fill_between(x, low, high, **{**band, **(band_kw or {})})
        # Checkpoints lie ever farther apart. A network of one site sends nothing, ever.
        if np.all(x > 0):
            ax.set_xscale("log")
        ax.set_xlabel(X_LABELS[self.against])
        label = f"{self.measure} of the sites"
        if self.optimum is not None:
            ax.set_yscale("log", nonpositive="clip")
            label += " / optimum − 1"
        ax.set_ylabel(label + (", one class against the rest" if self.one_vs_rest else ""))
        if ax.get_legend_handles_labels()[1]:
            ax.legend(fontsize="small")
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
