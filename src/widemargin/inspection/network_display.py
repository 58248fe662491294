"""A network of sites, coloured by their disagreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..estimators.gossip import GossipClassifier
from ..gossip.topology import Topology
from .display import Display, final_estimator, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.colorbar import Colorbar
    from matplotlib.text import Annotation

# Number of sites up to which names are readable.
MOST_NAMES = 40
# Number of sites up to which the better and slower layout is computed.
MOST_ARRANGED = 200


@dataclass(eq=False, repr=False)
class NetworkDisplay(Display):
    """The sites of a network, coloured by how far each is from the mean model.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    topology : Topology
        Graph of the sites.
    distance : array-like of shape (n_sites,)
        Distance of each site's model to the mean model.
    names : sequence of length n_sites, default=None
        Names of the sites; None numbers them.
    positions : array-like of shape (n_sites, 2), default=None
        Position of each site. None lets networkx choose if it is installed, and puts the sites on
        a circle otherwise.
    estimator_name : str, default=None
        Title of the picture.

    Attributes
    ----------
    sites_ : matplotlib PathCollection
        The sites.
    links_ : matplotlib LineCollection
        The links.
    names_ : list of matplotlib Annotation
        The names, empty if there are more than 40 sites.
    colorbar_ : matplotlib Colorbar
        Scale of the colours.
    ax_, figure_ : matplotlib Axes and Figure
        Axes of the picture, and their figure.

    See Also
    --------
    widemargin.inspection.PerformanceProfileDisplay : Accuracy or objective of the sites over time.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import GossipClassifier
    >>> from widemargin.inspection import NetworkDisplay
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> model = GossipClassifier(6, "grid", C=0.1, random_state=0).fit(X, y)
    >>> display = NetworkDisplay.from_estimator(model)
    >>> len(display.links_.get_segments())
    7
    """

    topology: Topology
    distance: ArrayLike
    _: KW_ONLY
    names: Sequence[Any] | None = None
    positions: ArrayLike | None = None
    estimator_name: str | None = None
    sites_: PathCollection = field(init=False)
    links_: LineCollection = field(init=False)
    names_: list[Annotation] = field(init=False)
    colorbar_: Colorbar = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        positions: ArrayLike | None = None,
        name: str | None = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the sites of a fitted classifier.

        Distances are relative to the length of the mean model, intercepts included; with several
        classes, those of all binary problems together.

        Parameters
        ----------
        estimator : GossipClassifier
            Fitted, or a pipeline or search that ends in one.
        positions : array-like of shape (n_sites, 2), default=None
            Position of each site, as for the class.
        name : str, default=None
            Title; None takes the name of the estimator's class.
        **plot_options : dict
            Passed to :meth:`plot`, such as ``ax``.
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        final = fitted_network(estimator)
        display = cls(
            final.topology_,
            distances_to_mean(final),
            names=list(final.sites_),
            positions=positions,
            estimator_name=name or type(final).__name__,
        )
        return display.plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        site_kw: dict[str, Any] | None = None,
        link_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the sites and the links.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        name : str, default=None
            Title; None takes ``estimator_name``.
        site_kw : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.scatter`.
        link_kw : dict, default=None
            Passed to :class:`matplotlib.collections.LineCollection`.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        from matplotlib.collections import LineCollection
        from matplotlib.colors import Normalize

        graph, names = self.topology, self.names
        distance = np.asarray(self.distance, dtype=np.float64)
        _check_shape("distance", distance.shape, (graph.n_sites,))
        if names is not None:
            _check_shape("names", (len(names),), (graph.n_sites,))
        place = layout(graph) if self.positions is None else np.asarray(self.positions, float)
        _check_shape("positions", place.shape, (graph.n_sites, 2))
        ax = self._use_axes(ax)
        once = graph.site < graph.other
        segments = np.stack([place[graph.site[once]], place[graph.other[once]]], axis=1)
        links = {"colors": "0.7", "linewidths": 1.0, "zorder": 1, **(link_kw or {})}
        self.links_ = LineCollection(list(segments), **links)
        ax.add_collection(self.links_)
        readable = graph.n_sites <= MOST_NAMES
        sites: dict[str, Any] = {"s": 260 if readable else 30, "cmap": "viridis"}
        sites |= {"norm": Normalize(0.0, distance.max() or 1.0), "edgecolors": "black"}
        sites |= {"linewidths": 0.5, "zorder": 2, **(site_kw or {})}
        self.sites_ = ax.scatter(place[:, 0], place[:, 1], c=distance, **sites)
        self.names_ = []
        if readable:
            self._write([str(each) for each in (names or range(graph.n_sites))], place)
        self.colorbar_ = self.figure_.colorbar(
            self.sites_, ax=ax, label="distance to the mean model"
        )
        # A square around all sites, even if they lie on a line.
        low, high = place.min(axis=0), place.max(axis=0)
        half = 0.6 * max(float((high - low).max()), 1e-3)
        (x, y) = (low + high) / 2
        ax.set(xlim=(x - half, x + half), ylim=(y - half, y + half), aspect="equal")
        ax.set_axis_off()
        if title := name or self.estimator_name:
            ax.set_title(title)
        return self

    def _write(self, names: list[str], place: Array) -> None:
        """Write names onto the sites, or below them if one is too long for that."""
        self.sites_.update_scalarmappable()
        brightness = np.asarray(self.sites_.get_facecolor())[:, :3] @ (0.299, 0.587, 0.114)
        below = max(map(len, names)) > 2
        style: Any = {"textcoords": "offset points", "fontsize": "small", "zorder": 3}
        style |= {"ha": "center", "va": "top" if below else "center"}
        for name, (x, y), bright in zip(names, place, brightness > 0.5, strict=True):
            colour = "black" if below or bright else "white"
            text = self.ax_.annotate(name, (x, y), (0, -10 if below else 0), color=colour, **style)
            self.names_.append(text)


def fitted_network(estimator: Any) -> Any:
    """Return the GossipClassifier inside pipelines and searches."""
    final = final_estimator(estimator)
    if not isinstance(final, GossipClassifier):
        raise ValueError(
            "`estimator` must be a GossipClassifier, or a pipeline or search that ends in one; got "
            f"{type(final).__name__}, which has no sites."
        )
    check_is_fitted(final)
    return final


def distances_to_mean(estimator: Any) -> Array:
    """Return the distance of each site's model to the mean model, relative to the mean's norm."""
    models = np.concatenate(
        [estimator.site_coef_, estimator.site_intercept_[..., np.newaxis]], axis=2
    )
    # The mean leaves out sites that have left.
    mean = np.column_stack([estimator.coef_, estimator.intercept_])
    apart = np.sqrt(np.sum((models - mean[:, np.newaxis]) ** 2, axis=(0, 2)))
    length = float(np.linalg.norm(mean))
    return cast("Array", apart / length if length > 0 else apart)


def layout(topology: Topology) -> Array:
    """Arrange sites so that neighbours are close, or on a circle without networkx."""
    n_sites = topology.n_sites
    try:
        import networkx
    except ImportError:
        angle = 2 * np.pi * np.arange(n_sites) / n_sites
        return np.column_stack([np.sin(angle), np.cos(angle)])
    graph = networkx.Graph()
    graph.add_nodes_from(range(n_sites))
    graph.add_edges_from(zip(topology.site.tolist(), topology.other.tolist(), strict=True))
    if n_sites <= MOST_ARRANGED:
        place = networkx.kamada_kawai_layout(graph)
    else:
        place = networkx.spring_layout(graph, seed=0)
    return np.array([place[site] for site in range(n_sites)], dtype=np.float64)


def _check_shape(parameter: str, got: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if got != wanted:
        raise ValueError(f"`{parameter}` must have shape {wanted}, for each site; got {got}.")
