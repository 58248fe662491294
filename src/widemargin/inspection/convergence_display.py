"""The duality gap during a fit."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .display import Display, final_estimator, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Columns of `history_` that a gap can be drawn against, with the labels of their axes.
AGAINST = {
    "seconds": "seconds",
    "iteration": "iterations",
    "passes": "kernel values / rows²",
    "gradient_evaluations": "gradients of single rows",
    "round": "rounds",
    "messages": "messages",
}


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Relative duality gap against time or work, one line per binary problem.

    The gap bounds the distance to the optimum, so that the picture shows what a larger ``tol``
    would have saved. Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    work : array-like of shape (n_records,)
        Time or work up to each record.
    relative_gap : array-like of shape (n_records,)
        Relative duality gap at each record; records without one are left out.
    problem : array-like of shape (n_records,), default=None
        Number of the binary problem of each record. None means that there is one.
    against : str, default="seconds"
        What ``work`` counts.
    tol : float, default=None
        Gap at which the fit was to end, drawn as a dashed line.
    estimator_name : str, default=None
        Name in the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The lines, by problem.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import ODMClassifier
    >>> from widemargin.inspection import ConvergenceDisplay
    >>> X, y = make_moons(2000, noise=0.3, random_state=0)
    >>> display = ConvergenceDisplay.from_estimator(ODMClassifier(C=100.0).fit(X, y))
    >>> len(display.lines_)
    1
    """

    work: ArrayLike
    relative_gap: ArrayLike
    _: KW_ONLY
    problem: ArrayLike | None = None
    against: str = "seconds"
    tol: float | None = None
    estimator_name: str | None = None
    lines_: list[Line2D] = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        against: str = "seconds",
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the record of a fit.

        Parameters
        ----------
        estimator : fitted classifier of this library
            Or a pipeline that ends with one, or a search.
        against : str, default="seconds"
            Column of ``history_``: 'seconds', 'iteration', 'passes' (kernel classifiers),
            'gradient_evaluations' (linear ones), 'round' or 'messages' (gossip).
        name : str, default=None
            Name in the legend; None takes that of the estimator's class.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        model = final_estimator(estimator)
        check_is_fitted(model)
        history = getattr(model, "history_", {})
        known = [column for column in AGAINST if column in history]
        if against not in known:
            raise ValueError(
                f"`against` must be a column of the classifier's `history_` that counts time or "
                f"work, {known}; got {against!r}."
            )
        gap = np.asarray(history["relative_gap"], dtype=np.float64)
        if not np.any(np.isfinite(gap)):
            raise ValueError(
                f"{type(model).__name__} has recorded no duality gap: its kernel is indefinite, or "
                "its certificate was never evaluated. Use a positive semi-definite kernel."
            )
        display = cls(
            history[against],
            gap,
            problem=history.get("problem"),
            against=against,
            tol=getattr(model, "tol", None),
            estimator_name=name or type(model).__name__,
        )
        return display.plot(**plot_options)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **line_options: Any) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        name : str, default=None
            Name in the legend instead of ``estimator_name``.
        **line_options : dict
            Passed to matplotlib's ``plot``.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        ax = self._use_axes(ax)
        work, gap = np.asarray(self.work), np.asarray(self.relative_gap, dtype=np.float64)
        problem = np.zeros(len(work)) if self.problem is None else np.asarray(self.problem)
        style = {**self._next_style("convergence"), "markersize": 3, **line_options}
        # A gap of zero has no logarithm; it is drawn at what rounding leaves of one.
        gap = np.where(gap == 0, np.finfo(np.float64).eps, gap)
        drawn = np.isfinite(gap) & (gap > 0)
        self.lines_ = []
        for k in np.unique(problem):
            rows = drawn & (problem == k)
            label = name or self.estimator_name if not self.lines_ else None
            self.lines_ += ax.plot(work[rows], gap[rows], label=label, **style)
        ax.set_yscale("log")
        if self.tol is not None and not any(each.get_gid() == "tol" for each in ax.lines):
            ax.axhline(self.tol, color="0.5", linestyle="--", linewidth=1.0, gid="tol", label="tol")
        self._finish(AGAINST.get(self.against, self.against), "relative duality gap")
        return self
