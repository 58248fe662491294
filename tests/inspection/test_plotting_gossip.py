import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import GossipClassifier, LinearSVMClassifier
from widemargin.gossip import graph_of
from widemargin.inspection import NetworkDisplay, PerformanceProfileDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


class Sites(GossipClassifier):
    """A network of four sites, two features and two binary problems."""

    def fit(self):
        self.classes_ = np.array(["dry", "wet", "icy"])  # the last of which is not looked at
        self.topology_ = graph_of("star", 4)
        self.sites_ = np.array(["Lyon", "Metz", "Nice", "Oran"])
        self.coef_ = np.array([[3.0, 0.0], [0.0, 4.0]])
        self.intercept_ = np.zeros(2)
        # Lyon agrees; Metz differs in one problem, Nice in an intercept, Oran in both problems.
        self.site_coef_ = np.repeat(self.coef_[:, np.newaxis], 4, axis=1)
        self.site_intercept_ = np.zeros((2, 4))
        self.site_coef_[0, 1] += [0.0, 1.0]
        self.site_intercept_[1, 2] -= 2.0
        self.site_coef_[:, 3] += [[3.0, 0.0], [0.0, 4.0]]
        self.history_ = {
            "problem": np.array([0, 0, 0, 1, 1]),
            "round": np.array([1, 10, 100, 1, 7]),
            "min_accuracy": np.array([0.4, 0.6, 0.9, 0.1, 0.2]),
            "mean_accuracy": np.array([0.5, 0.7, 0.9, 0.2, 0.3]),
            "max_accuracy": np.array([0.6, 0.9, 0.9, 0.3, 0.4]),
            "min_objective": np.array([6.0, 2.5, 2.0, 9.0, 8.0]),
            "mean_objective": np.array([7.0, 3.0, 2.02, 9.0, 8.0]),
            "max_objective": np.array([8.0, 4.0, 2.04, 9.0, 8.0]),
            "disagreement": np.array([0.5, 0.1, 0.0, 0.5, 0.1]),
            "messages": np.array([8, 80, 800, 8, 56]),
            "bytes": np.array([800, 8000, 80000, 800, 5600]),
            "seconds": np.array([0.1, 0.2, 0.3, 0.1, 0.2]),
        }
        return self


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def edges(band):
    """Lowest and highest value of a band at each x."""
    corners = band.get_paths()[0].vertices
    return [
        (x, corners[corners[:, 0] == x, 1].min(), corners[corners[:, 0] == x, 1].max())
        for x in np.unique(corners[:, 0])
    ]


# ----------------------------------------------------------------------------- performance profile


def test_the_band_goes_from_the_worst_site_to_the_best():
    display = PerformanceProfileDisplay.from_estimator(Sites().fit())
    assert display.line_.get_xdata().tolist() == [1, 10, 100]
    assert display.line_.get_ydata().tolist() == [0.5, 0.7, 0.9]
    assert edges(display.band_) == [(1, 0.4, 0.6), (10, 0.6, 0.9), (100, 0.9, 0.9)]
    assert display.ax_.get_xlabel() == "round"
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "linear")


@pytest.mark.parametrize(
    ("against", "label"),
    [("messages", "messages sent"), ("bytes", "bytes sent"), ("seconds", "seconds")],
)
def test_what_it_is_drawn_against(against, label):
    sites = Sites().fit()
    display = PerformanceProfileDisplay.from_estimator(sites, against=against, problem=1)
    assert np.array_equal(display.line_.get_xdata(), sites.history_[against][3:])
    assert display.line_.get_ydata().tolist() == [0.2, 0.3]
    assert display.ax_.get_xlabel() == label


def test_objectives_with_and_without_an_optimum():
    display = PerformanceProfileDisplay.from_estimator(Sites().fit(), measure="objective")
    assert display.line_.get_ydata().tolist() == [7.0, 3.0, 2.02]
    assert display.ax_.get_yscale() == "linear"
    display = PerformanceProfileDisplay.from_estimator(
        Sites().fit(), measure="objective", optimum=2.0
    )
    assert np.allclose(display.line_.get_ydata(), [2.5, 0.5, 0.01])
    assert np.allclose(edges(display.band_)[1], (10, 0.25, 1.0))
    assert display.ax_.get_yscale() == "log"
    wanted = "objective of the sites / optimum − 1, one class against the rest"
    assert display.ax_.get_ylabel() == wanted
    # A site at the optimum, or by rounding below it, cannot be drawn and does no harm.
    display.figure_.canvas.draw()


def test_profiles_on_one_axes_differ():
    one = PerformanceProfileDisplay.from_estimator(Sites().fit(), name="one")
    two = PerformanceProfileDisplay.from_estimator(Sites().fit(), name="two", ax=one.ax_)
    assert two.ax_ is one.ax_
    assert one.line_.get_color() != two.line_.get_color()
    assert np.array_equal(
        two.band_.get_facecolor()[0, :3], matplotlib.colors.to_rgb(two.line_.get_color())
    )
    three = two.plot(ax=one.ax_, name="three", line_kw={"color": "red"}, band_kw={"alpha": 0.5})
    assert three.band_.get_facecolor().tolist() == [[1.0, 0.0, 0.0, 0.5]]
    assert legend(three) == ["one", "two", "three"]


def test_a_history_alone_and_a_site_alone():
    history = {
        name: values[:3] for name, values in Sites().fit().history_.items() if name != "problem"
    }
    display = PerformanceProfileDisplay.from_history(history)
    assert len(display.line_.get_xdata()) == 3
    assert display.ax_.get_ylabel() == "accuracy of the sites"
    assert display.ax_.get_legend() is None
    history["messages"] = np.zeros(3)
    display = PerformanceProfileDisplay.from_history(history, against="messages")
    assert display.ax_.get_xscale() == "linear"


def test_profiles_that_cannot_be_drawn_are_refused():
    sites, draw = Sites().fit(), PerformanceProfileDisplay.from_estimator
    with pytest.raises(ValueError, match="'accuracy' or 'objective'; got 'loss'"):
        draw(sites, measure="loss")
    with pytest.raises(ValueError, match="'messages', 'bytes', 'seconds'; got 'hours'"):
        draw(sites, against="hours")
    with pytest.raises(ValueError, match=r"with measure='objective'; got 2\.0 and"):
        draw(sites, optimum=2.0)
    with pytest.raises(ValueError, match=r"must be a positive number.* got 0\.0"):
        draw(sites, measure="objective", optimum=0.0)
    with pytest.raises(ValueError, match="number of a problem in `history`; got 2"):
        draw(sites, problem=2)
    alone = {name: values for name, values in sites.history_.items() if name != "problem"}
    with pytest.raises(ValueError, match="number of a problem in `history`; got 1"):
        PerformanceProfileDisplay.from_history(alone, problem=1)
    with pytest.raises(ValueError, match=r"got shapes \(2,\), \(2,\), \(1,\), \(2,\)"):
        PerformanceProfileDisplay([1, 2], [0, 0], [0], [0, 0]).plot()
    with pytest.raises(NotFittedError):
        draw(Sites())
    X, y = make_moons(40, random_state=0)
    with pytest.raises(ValueError, match=r"it lacks .*'min_accuracy'.* of a GossipClassifier"):
        PerformanceProfileDisplay.from_history(LinearSVMClassifier().fit(X, y).history_)


@pytest.mark.parametrize("display", [PerformanceProfileDisplay, NetworkDisplay])
def test_other_models_have_no_sites(display):
    X, y = make_moons(40, random_state=0)
    other = make_pipeline(StandardScaler(), LogisticRegression())
    for model in (other, other.fit(X, y)):
        with pytest.raises(ValueError, match="got LogisticRegression, which has no sites"):
            display.from_estimator(model)


def test_profiles_of_one_class_against_the_rest_say_so():
    display = PerformanceProfileDisplay.from_estimator(Sites().fit())
    assert display.ax_.get_ylabel() == "accuracy of the sites, one class against the rest"
    assert legend(display) == ["Sites, dry against the rest"]
    display = PerformanceProfileDisplay.from_estimator(Sites().fit(), problem=1)
    assert legend(display) == ["Sites, wet against the rest"]


def test_profiles_of_two_classes_need_not():
    X, y = make_moons(40, random_state=0)
    display = PerformanceProfileDisplay.from_estimator(GossipClassifier(3, tol=0.1).fit(X, y))
    assert display.ax_.get_ylabel() == "accuracy of the sites"
    assert legend(display) == ["GossipClassifier"]


# ----------------------------------------------------------------------------------------- network


def test_sites_are_coloured_by_their_distance():
    display = NetworkDisplay.from_estimator(Sites().fit())
    assert np.allclose(display.distance, [0.0, 1 / 5, 2 / 5, 1.0])
    assert np.array_equal(display.sites_.get_array(), display.distance)
    assert display.sites_.get_clim() == (0.0, 1.0)
    assert [text.get_text() for text in display.names_] == ["Lyon", "Metz", "Nice", "Oran"]
    assert display.ax_.get_title() == "Sites"
    assert display.colorbar_.ax.get_ylabel() == "distance to the mean model"


def test_every_pair_of_neighbours_is_linked_once():
    topology = graph_of("star", 4)
    place = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    display = NetworkDisplay(topology, np.ones(4), positions=place).plot()
    assert np.array_equal(display.sites_.get_offsets(), place)
    segments = display.links_.get_segments()
    assert np.array_equal(segments, [[place[0], place[site]] for site in (1, 2, 3)])


@pytest.mark.parametrize("installed", [True, False])
def test_layouts_keep_sites_apart(installed, monkeypatch):
    if installed:
        pytest.importorskip("networkx")
    else:
        monkeypatch.setitem(sys.modules, "networkx", None)
    for n_sites in (1, 2, 7, 205):
        display = NetworkDisplay(graph_of("ring", n_sites), np.zeros(n_sites)).plot()
        place = np.asarray(display.sites_.get_offsets())
        apart = np.linalg.norm(place[:, np.newaxis] - place, axis=2)
        assert np.all(apart[~np.eye(n_sites, dtype=bool)] > 1e-3)
        (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
        assert np.all((place > [left, bottom]) & (place < [right, top]))
        assert right - left == pytest.approx(top - bottom)
        assert len(display.names_) == (n_sites if n_sites <= 40 else 0)


def test_without_networkx_sites_are_on_a_circle(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    display = NetworkDisplay(graph_of("complete", 4), np.zeros(4)).plot()
    wanted = [[0, 1], [1, 0], [0, -1], [-1, 0]]
    assert np.allclose(display.sites_.get_offsets(), wanted)


def test_names_can_be_read():
    # Numbers stand on the sites, dark on bright ones; longer names stand below.
    display = NetworkDisplay(graph_of("ring", 3), [0.0, 0.5, 1.0]).plot(name="ring")
    assert [text.get_text() for text in display.names_] == ["0", "1", "2"]
    assert [text.get_color() for text in display.names_] == ["white", "white", "black"]
    assert display.ax_.get_title() == "ring"
    display = NetworkDisplay(graph_of("ring", 2), [0.0, 1.0], names=["Lyon", "Metz"]).plot()
    assert {text.get_color() for text in display.names_} == {"black"}
    assert {text.get_va() for text in display.names_} == {"top"}


def test_how_networks_look_can_be_changed():
    axes = matplotlib.pyplot.subplots()[1]
    display = NetworkDisplay(graph_of("ring", 3), [1.0, 10.0, 100.0]).plot(
        axes,
        site_kw={"s": 5, "norm": matplotlib.colors.LogNorm()},
        link_kw={"colors": "red"},
    )
    assert display.ax_ is axes
    assert display.sites_.get_sizes().tolist() == [5]
    assert display.sites_.get_clim() == (1.0, 100.0)
    assert display.links_.get_color()[0].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_networks_that_cannot_be_drawn_are_refused():
    ring = graph_of("ring", 3)
    with pytest.raises(ValueError, match=r"`distance` must have shape \(3,\), .* got \(2,\)"):
        NetworkDisplay(ring, [0.0, 1.0]).plot()
    with pytest.raises(ValueError, match=r"`names` must have shape \(3,\), .* got \(1,\)"):
        NetworkDisplay(ring, np.zeros(3), names=["Lyon"]).plot()
    with pytest.raises(ValueError, match=r"`positions` must have shape \(3, 2\), .* got \(3,\)"):
        NetworkDisplay(ring, np.zeros(3), positions=np.zeros(3)).plot()
    with pytest.raises(NotFittedError):
        NetworkDisplay.from_estimator(Sites())


# --------------------------------------------------------------------------------------- a network


def test_a_network_that_was_fitted():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), GossipClassifier(5, C=0.1, random_state=0)).fit(X, y)
    gossip = model[-1]
    network = NetworkDisplay.from_estimator(model)
    assert network.ax_.get_title() == "GossipClassifier"
    assert len(network.links_.get_segments()) == 5
    assert 0 < max(network.distance) < 0.1
    profile = PerformanceProfileDisplay.from_estimator(model, measure="objective", problem=2)
    last = np.flatnonzero(gossip.history_["problem"] == 2)[-1]
    assert profile.line_.get_ydata()[-1] == gossip.history_["mean_objective"][last]


# -------------------------------------------------------------------------------------- matplotlib


def test_missing_matplotlib_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    nothing = SimpleNamespace()
    for draw in (
        lambda: PerformanceProfileDisplay.from_estimator(nothing),
        lambda: PerformanceProfileDisplay.from_history({}),
        lambda: PerformanceProfileDisplay([1], [1], [1], [1]).plot(),
        lambda: NetworkDisplay.from_estimator(nothing),
        lambda: NetworkDisplay(graph_of("ring", 1), [0.0]).plot(),
    ):
        with pytest.raises(ImportError, match="pip install matplotlib"):
            draw()


def test_networkx_is_not_imported_before_it_is_needed():
    code = (
        "import sys, widemargin.inspection, widemargin.gossip; sys.exit('networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
