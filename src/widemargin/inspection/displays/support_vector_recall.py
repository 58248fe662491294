"""Support vectors found by every level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .canvas import axes_or_new, next_style, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class SupportVectorRecallDisplay:
    """Precision and recall of the support vectors of every level against the exact ones.

    Recall is the solid line: the share of the exact support vectors that the level has. Precision
    is the dashed one: the share of the level's that are exact ones.

    It is recommended to use :meth:`from_estimator` or :meth:`from_models`. All parameters are
    stored as attributes.

    Parameters
    ----------
    parts : array-like of shape (n_levels,)
        Number of parts of each level.
    precision, recall : array-like of shape (n_levels,)
        Of each level.
    estimator_name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure containing the axes.
    recall_, precision_ : matplotlib Line2D
        The two lines.

    See Also
    --------
    widemargin.inspection.support_vector_recall : The figures behind it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import Clustered, SVMClassifier
    >>> from widemargin.inspection import SupportVectorRecallDisplay
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> model = SVMClassifier(strategy=Clustered(levels=2))
    >>> display = SupportVectorRecallDisplay.from_estimator(model, X, y)
    >>> display.parts.tolist()
    [16, 4, 1]
    """

    ax_: Axes
    figure_: Figure
    recall_: Line2D
    precision_: Line2D

    def __init__(
        self,
        parts: ArrayLike,
        precision: ArrayLike,
        recall: ArrayLike,
        *,
        estimator_name: str | None = None,
    ) -> None:
        self.parts = parts
        self.precision = precision
        self.recall = recall
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Fit as a whole and level by level, and draw.

        Parameters
        ----------
        estimator : ODMClassifier or SVMClassifier
            With a ``strategy`` that divides; it is not changed. Give it a small ``tol``: which
            rows have a dual is less certain than what the model predicts.
        X, y : array-like
            Training rows and labels.
        name : str, default=None
            Name in the legend; None takes that of the estimator's class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        SupportVectorRecallDisplay
            The display, drawn.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        from ..diagnostics import fit_levels

        models = fit_levels(estimator, X, y)
        whole = {"strategy": "exact", "checkpoint": None, "engine": "local"}
        exact = clone(estimator).set_params(**whole).fit(X, y)
        name = name or type(estimator).__name__
        return cls.from_models(models, exact, name=name, ax=ax, **plot_options)

    @classmethod
    def from_models(
        cls,
        models: Iterable[Any],
        exact: Any,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw models that are fitted already.

        Parameters
        ----------
        models : iterable of fitted classifiers
            Such as :func:`~widemargin.inspection.fit_levels` gives.
        exact : fitted classifier
            Fitted to the same rows as a whole.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        SupportVectorRecallDisplay
            The display, drawn.
        """
        require_matplotlib(f"{cls.__name__}.from_models")
        from ..diagnostics import support_vector_recall

        table = support_vector_recall(models, exact)
        display = cls(table["parts"], table["precision"], table["recall"], estimator_name=name)
        return display.plot(ax=ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the lines, leaves on the left and the root on the right.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Several displays may share one.
        name : str, default=None
            Name in the legend; None takes ``estimator_name``.
        line_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.plot`, for both lines.

        Returns
        -------
        SupportVectorRecallDisplay
            Itself.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        parts = np.asarray(self.parts)
        shapes = [np.shape(self.precision), np.shape(self.recall)]
        if parts.ndim != 1 or shapes != [parts.shape] * 2:
            raise ValueError(
                "`parts`, `precision` and `recall` must be one-dimensional and of equal length; "
                f"got shapes {parts.shape}, {shapes[0]} and {shapes[1]}."
            )
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        prefix = f"{label}: " if (label := name or self.estimator_name) else ""
        style = {**next_style(ax, "recall"), **(line_kw or {})}
        (self.recall_,) = ax.plot(parts, np.asarray(self.recall), label=f"{prefix}recall", **style)
        style = {**style, "linestyle": "--", "markerfacecolor": "white", "gid": "precision"}
        (self.precision_,) = ax.plot(
            parts, np.asarray(self.precision), label=f"{prefix}precision", **style
        )
        ax.set_xscale("log", base=2)
        ticks = np.unique(np.concatenate([line.get_xdata() for line in ax.lines]))
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xlim(ticks[-1] * 1.2, ticks[0] / 1.2)
        ax.set_ylim(0.0, 1.02)
        ax.set_xlabel("number of parts (right: the whole set)")
        ax.set_ylabel("share of support vectors")
        ax.legend(fontsize="small")
        return self
