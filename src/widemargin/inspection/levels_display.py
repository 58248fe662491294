"""Accuracy over time, level by level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .display import Display, require_matplotlib
from .levels import accuracy_over_time, fit_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation


@dataclass(eq=False, repr=False)
class LevelsDisplay(Display):
    """Accuracy of the model of every level against the training time up to it.

    Use :meth:`from_estimator` or :meth:`from_models` to create one.

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
    line_ : matplotlib Line2D
        The line.
    numbers_ : list of matplotlib Annotation
        The levels' numbers.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    See Also
    --------
    widemargin.inspection.accuracy_over_time : The values that are drawn.

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

    seconds: ArrayLike
    accuracy: ArrayLike
    _: KW_ONLY
    level: ArrayLike | None = None
    estimator_name: str | None = None
    line_: Line2D = field(init=False)
    numbers_: list[Annotation] = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        name: str | None = None,
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
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        models = fit_levels(estimator, X, y)
        name = name or type(estimator).__name__
        return cls.from_models(models, X_test, y_test, name=name, **plot_options)

    @classmethod
    def from_models(
        cls,
        models: Iterable[Any],
        X: Any,
        y: ArrayLike,
        *,
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw models that are fitted already.

        Parameters
        ----------
        models : iterable of fitted classifiers
            For example from :func:`~widemargin.inspection.fit_levels`. A single exact model is one
            point.
        X, y : array-like
            Rows and labels to score on.
        name : str, default=None
            Name in the legend.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_models")
        table = accuracy_over_time(models, X, y)
        display = cls(
            table["seconds"], table["accuracy"], level=table["level"], estimator_name=name
        )
        return display.plot(**plot_options)

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
            Axes to draw on; None makes a new figure. Several displays may share axes.
        name : str, default=None
            Name in the legend; None takes ``estimator_name``.
        line_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.plot`.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        from matplotlib.ticker import LogLocator, NullFormatter

        seconds, accuracy = np.asarray(self.seconds, float), np.asarray(self.accuracy, float)
        if seconds.ndim != 1 or seconds.shape != accuracy.shape or not np.all(seconds > 0):
            raise ValueError(
                "`seconds` must be positive, with one `accuracy` each; got shapes "
                f"{seconds.shape} and {accuracy.shape}, seconds {seconds.tolist()}."
            )
        ax = self._use_axes(ax)
        options = {"label": name or self.estimator_name, **self._next_style("levels")}
        (self.line_,) = ax.plot(seconds, accuracy, **{**options, **(line_kw or {})})
        points = zip(seconds, accuracy, strict=True)
        numbers: Any = [] if self.level is None else np.asarray(self.level)
        style: Any = {"textcoords": "offset points", "ha": "center", "fontsize": "x-small"}
        style["color"] = self.line_.get_color()
        self.numbers_ = [
            ax.annotate(str(number), point, (0, 5), **style)
            for number, point in zip(numbers, points, strict=self.level is not None)
        ]
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
        xlabel = "seconds of training" + (" (numbers: levels)" if self.numbers_ else "")
        self._finish(xlabel, "accuracy")
        return self
