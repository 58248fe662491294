"""Accuracy over time, level by level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from .canvas import axes_or_new, next_style, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation


class LevelsDisplay:
    """Accuracy of the model of every level over the seconds that it took to get there.

    It is recommended to use :meth:`from_estimator` or :meth:`from_models`. All parameters are
    stored as attributes.

    Parameters
    ----------
    seconds : array-like of shape (n_levels,)
        Training time up to each level.
    accuracy : array-like of shape (n_levels,)
        Accuracy of each level's model.
    level : array-like of shape (n_levels,), default=None
        Number of each level, written beside its point.
    estimator_name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure containing the axes.
    line_ : matplotlib Line2D
        The line.
    numbers_ : list of matplotlib Annotation
        The levels' numbers.

    See Also
    --------
    widemargin.inspection.accuracy_over_time : The figures behind it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import Clustered, SVMClassifier
    >>> from widemargin.inspection import LevelsDisplay
    >>> X, y = make_moons(900, noise=0.2, random_state=0)
    >>> model = SVMClassifier(strategy=Clustered(levels=2))
    >>> display = LevelsDisplay.from_estimator(model, X[:600], y[:600], X[600:], y[600:])
    >>> display.level.tolist()
    [2, 1, 0]
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D
    numbers_: list[Annotation]

    def __init__(
        self,
        seconds: ArrayLike,
        accuracy: ArrayLike,
        *,
        level: ArrayLike | None = None,
        estimator_name: str | None = None,
    ) -> None:
        self.seconds = seconds
        self.accuracy = accuracy
        self.level = level
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        X_test: Any,
        y_test: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Fit level by level and draw.

        Parameters
        ----------
        estimator : ODMClassifier or SVMClassifier
            With a ``strategy`` that divides; it is not changed.
        X, y : array-like
            Training rows and labels.
        X_test, y_test : array-like
            Rows and labels to score on.
        name : str, default=None
            Name in the legend; None takes that of the estimator's class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        LevelsDisplay
            The display, drawn.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        from ..diagnostics import fit_levels

        models = fit_levels(estimator, X, y)
        name = name or type(estimator).__name__
        return cls.from_models(models, X_test, y_test, name=name, ax=ax, **plot_options)

    @classmethod
    def from_models(
        cls,
        models: Iterable[Any],
        X: Any,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw models that are fitted already.

        Parameters
        ----------
        models : iterable of fitted classifiers
            Such as :func:`~widemargin.inspection.fit_levels` gives. A single exact
            model is one
            point.
        X, y : array-like
            Rows and labels to score on.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        LevelsDisplay
            The display, drawn.
        """
        require_matplotlib(f"{cls.__name__}.from_models")
        from ..diagnostics import accuracy_over_time

        course = accuracy_over_time(models, X, y)
        display = cls(
            course["seconds"], course["accuracy"], level=course["level"], estimator_name=name
        )
        return display.plot(ax=ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the line.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Several displays may share one.
        name : str, default=None
            Name in the legend; None takes ``estimator_name``.
        line_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        LevelsDisplay
            Itself.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        seconds, accuracy = np.asarray(self.seconds, float), np.asarray(self.accuracy, float)
        if seconds.ndim != 1 or seconds.shape != accuracy.shape or not np.all(seconds > 0):
            raise ValueError(
                "`seconds` must be positive, with one `accuracy` each; got shapes "
                f"{seconds.shape} and {accuracy.shape}, seconds {seconds.tolist()}."
            )
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        options = {"label": name or self.estimator_name, **next_style(ax, "levels")}
        (self.line_,) = ax.plot(seconds, accuracy, **{**options, **(line_kw or {})})
        level = None if self.level is None else np.asarray(self.level)
        self.numbers_ = (
            []
            if level is None
            else [
                ax.annotate(
                    str(number),
                    (x, y),
                    (0, 5),
                    textcoords="offset points",
                    ha="center",
                    fontsize="x-small",
                    color=self.line_.get_color(),
                )
                for number, x, y in zip(level, seconds, accuracy, strict=True)
            ]
        )
        from matplotlib.ticker import LogLocator, NullFormatter

        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("seconds of training" + (" (numbers: levels)" if self.numbers_ else ""))
        ax.set_ylabel("accuracy")
        if ax.get_legend_handles_labels()[1]:
            ax.legend(fontsize="small")
        return self
