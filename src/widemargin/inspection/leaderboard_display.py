"""What an AutoClassifier tried: the scores of its candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .display import COLOURS, MARKERS, Display, final_estimator, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

COLUMNS = ("name", "rows", "score", "seconds")
# Area of a mark on the fewest and on the most rows, in square points.
SMALLEST, LARGEST = 12.0, 70.0


@dataclass(eq=False, repr=False)
class LeaderboardDisplay(Display):
    """Score of every candidate of an automatic search against the seconds it took.

    A mark is a trial, its colour the family of the candidate, its size the number of training rows;
    a ring is drawn around the chosen one. Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    seconds, score : array-like of shape (n_trials,)
        Time of the fits and predictions of each trial, and its mean score.
    name : array-like of str of shape (n_trials,)
        Family of each candidate.
    rows : array-like of shape (n_trials,)
        Training rows of each trial.
    best : int, default=0
        Number of the chosen trial.

    Attributes
    ----------
    marks_ : list of matplotlib PathCollection
        The marks, one collection per family.
    best_ : matplotlib Line2D
        The ring around the chosen trial.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    See Also
    --------
    widemargin.inspection.SearchDisplay : The scores of a search on a grid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import AutoClassifier
    >>> from widemargin.inspection import LeaderboardDisplay
    >>> model = AutoClassifier(families=["linear SVM", "linear ODM"])
    >>> display = LeaderboardDisplay.from_estimator(model.fit(*load_iris(return_X_y=True)))
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('seconds', 'score')
    """

    seconds: ArrayLike
    score: ArrayLike
    name: ArrayLike
    rows: ArrayLike
    _: KW_ONLY
    best: int = 0
    marks_: list[PathCollection] = field(init=False)
    best_: Line2D = field(init=False)

    @classmethod
    def from_estimator(cls, estimator: Any, **plot_options: Any) -> Self:
        """Draw the leaderboard of a fitted classifier.

        Parameters
        ----------
        estimator : AutoClassifier
            Fitted, or a pipeline that ends in one.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        final = final_estimator(estimator)
        if not hasattr(final, "leaderboard_"):
            raise TypeError(
                f"{cls.__name__} draws a fitted AutoClassifier; got {type(final).__name__}, which "
                "has no `leaderboard_`."
            )
        return cls.from_leaderboard(final.leaderboard_, **plot_options)

    @classmethod
    def from_leaderboard(cls, leaderboard: Mapping[str, Any], **plot_options: Any) -> Self:
        """Draw a leaderboard.

        Parameters
        ----------
        leaderboard : dict of arrays
            With the columns name, rows, score and seconds, the chosen trial first.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_leaderboard")
        if missing := [column for column in COLUMNS if column not in leaderboard]:
            raise ValueError(
                f"`leaderboard` must have the columns {list(COLUMNS)}; it lacks {missing}. Take "
                "that of an AutoClassifier."
            )
        columns = (leaderboard[column] for column in ("seconds", "score", "name", "rows"))
        return cls(*columns).plot(**plot_options)

    def plot(self, ax: Axes | None = None, *, mark_kw: dict[str, Any] | None = None) -> Self:
        """Draw the marks.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        mark_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.scatter`.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        seconds, score, rows = (
            np.asarray(each, dtype=np.float64) for each in (self.seconds, self.score, self.rows)
        )
        name = np.asarray(self.name, dtype=object)
        if not seconds.shape == score.shape == rows.shape == name.shape or seconds.ndim != 1:
            raise ValueError(
                "`seconds`, `score`, `name` and `rows` must be one-dimensional and of equal "
                f"length; got shapes {seconds.shape}, {score.shape}, {name.shape}, {rows.shape}."
            )
        if seconds.size == 0:
            raise ValueError("The leaderboard is empty: there was no time to try a candidate.")
        ax = self._use_axes(ax)
        area = SMALLEST + (LARGEST - SMALLEST) * rows / rows.max()
        self.marks_ = []
        for k, family in enumerate(dict.fromkeys(sorted(name))):
            of = name == family
            options: dict[str, Any] = {
                "label": family,
                "color": COLOURS[k % len(COLOURS)],
                "marker": MARKERS[k % len(MARKERS)],
                "alpha": 0.7,
                "linewidths": 0,
            }
            self.marks_.append(
                ax.scatter(seconds[of], score[of], s=area[of], **{**options, **(mark_kw or {})})
            )
        (self.best_,) = ax.plot(
            seconds[self.best],
            score[self.best],
            "o",
            markersize=14,
            markerfacecolor="none",
            markeredgecolor="black",
            label="chosen",
        )
        if np.all(seconds > 0):
            ax.set_xscale("log")
        self._finish("seconds", "score")
        return self
