"""The parts or strata of rows with two features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..kernel.partition import ClusterTree
from .display import COLOURS, MARKERS, Display, require_matplotlib
from .partitions import Partition, leaf_partition

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

By: TypeAlias = Literal["part", "stratum"]


@dataclass(eq=False, repr=False)
class PartitionDisplay(Display):
    """Rows of two features, coloured by the part or the stratum they belong to.

    Landmarks of strata, or centres of clusters, are marked by stars.

    Use :meth:`from_estimator` or :meth:`from_partition` to create one.

    Parameters
    ----------
    points : array-like of shape (n_rows, 2)
        Position of each row.
    group : array-like of int of shape (n_rows,)
        Number of each row's part or stratum.
    centres : array-like of shape (n_centres, 2), default=None
        Points to mark.
    estimator_name : str, default=None
        Title of the picture.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        The rows, one collection per group.
    centres_ : matplotlib PathCollection or None
        The stars.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    See Also
    --------
    widemargin.inspection.leaf_partition : The division that is drawn.
    widemargin.inspection.partition_quality : Measures of how well parts keep the distribution.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import ODMClassifier, Stratified
    >>> from widemargin.inspection import PartitionDisplay
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> model = ODMClassifier(strategy=Stratified(levels=1, n_strata=8))
    >>> display = PartitionDisplay.from_estimator(model, X, y, by="stratum")
    >>> display.centres.shape
    (8, 2)
    """

    points: ArrayLike
    group: ArrayLike
    _: KW_ONLY
    centres: ArrayLike | None = None
    estimator_name: str | None = None
    points_: list[PathCollection] = field(init=False)
    centres_: PathCollection | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        by: By = "part",
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Divide rows as an estimator does and draw them, without solving anything.

        Parameters
        ----------
        estimator : ODMClassifier or SVMClassifier
            With a ``strategy`` that divides; it need not be fitted.
        X : array-like of shape (n_rows, 2)
            Rows of two features.
        y : array-like of shape (n_rows,)
            Labels, of two classes.
        by : {'part', 'stratum'}, default='part'
            Meaning of the colours. Only divisions that distribute strata over the parts have
            strata.
        name : str, default=None
            Title; None takes the name of the strategy.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        points = _two_features(X)
        partition = leaf_partition(estimator, points, y)
        strategy = estimator.strategy
        name = name or (strategy if isinstance(strategy, str) else type(strategy).__name__)
        return cls.from_partition(partition, points, by=by, name=name, **plot_options)

    @classmethod
    def from_partition(
        cls,
        partition: Partition,
        X: ArrayLike,
        *,
        by: By = "part",
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw a division.

        Parameters
        ----------
        partition : Partition
            From :func:`~widemargin.inspection.leaf_partition`.
        X : array-like of shape (n_rows, 2)
            Position of each row: its two features, or a projection of more.
        by : {'part', 'stratum'}, default='part'
            Meaning of the colours.
        name : str, default=None
            Title.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_partition")
        if by not in ("part", "stratum"):
            raise ValueError(f"`by` must be 'part' or 'stratum'; got {by!r}.")
        group = partition.part if by == "part" else partition.stratum
        if group is None:
            raise ValueError("The partition has no strata. Use by='part'.")
        points, centres = _two_features(X), None
        if partition.groups is not None:
            # A landmark is one row; a centre is the mean of the rows it was found on.
            groups = partition.groups
            start = groups.group_start
            sums = np.add.reduceat(points[groups.basis_rows], start[:-1], axis=0)
            centres = sums / np.diff(start)[:, None]
            if isinstance(groups, ClusterTree):
                centres = centres[groups.leaves]
        display = cls(points, group, centres=centres, estimator_name=name)
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        scatter_kw: dict[str, Any] | None = None,
        centre_kw: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        scatter_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.scatter` for the rows.
        centre_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.scatter` for the stars.
        name : str, default=None
            Title; None takes ``estimator_name``.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        points, group = _two_features(self.points), np.asarray(self.group)
        if group.shape != points.shape[:1]:
            raise ValueError(
                f"`group` must have one number per point, {len(points)}; got shape {group.shape}."
            )
        ax = self._use_axes(ax)
        self.points_ = [
            ax.scatter(
                *points[group == number].T,
                **{"s": 10, "alpha": 0.8, "linewidths": 0, **_look(k), **(scatter_kw or {})},
            )
            for k, number in enumerate(np.unique(group))
        ]
        self.centres_ = None
        if self.centres is not None:
            options: dict[str, Any] = {"s": 110, "marker": "*", "color": "white"}
            options |= {"edgecolors": "black", "linewidths": 1.0, "zorder": 3, **(centre_kw or {})}
            self.centres_ = ax.scatter(*_two_features(self.centres).T, **options)
        self._finish("feature 0", "feature 1", name or self.estimator_name)
        return self


def _look(k: int) -> dict[str, str]:
    """Choose a colour, and another marker once the colours are used up."""
    n = len(COLOURS)
    return {"color": COLOURS[k % n], "marker": MARKERS[(k // n) % len(MARKERS)]}


def _two_features(X: ArrayLike) -> Array:
    points: NDArray[Any] = np.asarray(X)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"A picture needs rows of two features; got shape {points.shape}. Divide with "
            "widemargin.inspection.leaf_partition and pass two columns or a projection to "
            "PartitionDisplay.from_partition."
        )
    return points.astype(np.float64)
