import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_moons

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.inspection import (
    LevelsDisplay,
    PartitionDisplay,
    accuracy_over_time,
    fit_levels,
    leaf_partition,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def models(moons):
    model = SVMClassifier(gamma=2.0, strategy=Clustered(levels=2), random_state=0)
    return list(fit_levels(model, *moons))


@pytest.fixture(scope="module")
def exact(moons):
    return SVMClassifier(gamma=2.0, strategy="exact", random_state=0).fit(*moons)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# -------------------------------------------------------------------------------------- partition


def test_every_row_is_drawn_in_its_part(moons):
    X, y = moons
    model = ODMClassifier(strategy=Clustered(levels=1), random_state=0)
    display = PartitionDisplay.from_estimator(model, X, y)
    part = leaf_partition(model, X, y).part
    assert len(display.points_) == 4
    for k, points in enumerate(display.points_):
        assert np.array_equal(points.get_offsets(), X[part == k])
    colours = {tuple(points.get_facecolor()[0][:3]) for points in display.points_}
    assert len(colours) == 4
    assert display.ax_.get_title() == "Clustered"


def test_stars_are_landmarks_or_means(moons):
    X, y = moons
    model = ODMClassifier(strategy=Stratified(levels=1, n_strata=5))
    display = PartitionDisplay.from_estimator(model, X, y, by="stratum")
    landmarks = leaf_partition(model, X, y).groups.basis
    assert np.array_equal(display.centres_.get_offsets(), landmarks)
    assert len(display.points_) == 5
    model = ODMClassifier(strategy=Preserving(levels=1, n_strata=3), random_state=0)
    display = PartitionDisplay.from_estimator(model, X, y)
    groups = leaf_partition(model, X, y).groups
    means = [each.mean(axis=0) for each in np.split(groups.basis, groups.group_start[1:-1])]
    assert np.allclose(display.centres, means)
    chance = PartitionDisplay.from_estimator(ODMClassifier(strategy=Cascade(levels=1)), X, y)
    assert chance.centres_ is None


def test_many_groups_differ_in_colour_or_marker(moons):
    display = PartitionDisplay(moons[0], np.arange(300) % 30).plot()
    looks = {
        (tuple(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes())
        for points in display.points_
    }
    assert len(looks) == 30


def test_more_features_are_drawn_by_a_projection(moons):
    X, y = moons
    wide = np.column_stack([X, X**2])
    model = SVMClassifier(strategy=Clustered(levels=1), random_state=0)
    with pytest.raises(ValueError, match=r"two features; got shape \(300, 4\)"):
        PartitionDisplay.from_estimator(model, wide, y)
    partition = leaf_partition(model, wide, y)
    axes = matplotlib.pyplot.subplots()[1]
    display = PartitionDisplay.from_partition(
        partition,
        wide[:, 1:3],
        ax=axes,
        name="projected",
        scatter_kw={"s": 3},
        centre_kw={"marker": "x", "edgecolors": None},
    )
    assert display.ax_ is axes
    assert axes.get_title() == "projected"
    assert display.points_[0].get_sizes().tolist() == [3]
    # The centre of a cluster is drawn among its own rows.
    for k, centre in enumerate(display.centres):
        own = wide[partition.part == k, 1:3]
        assert np.all((centre > own.min(axis=0)) & (centre < own.max(axis=0)))


def test_partitions_that_cannot_be_drawn_are_refused(moons):
    X, y = moons
    model = SVMClassifier(strategy=Clustered(levels=1))
    with pytest.raises(ValueError, match="has no strata"):
        PartitionDisplay.from_estimator(model, X, y, by="stratum")
    with pytest.raises(ValueError, match="`by` must be 'part' or 'stratum'; got 'cluster'"):
        PartitionDisplay.from_estimator(model, X, y, by="cluster")
    with pytest.raises(ValueError, match=r"one number per point, 300; got shape \(2,\)"):
        PartitionDisplay(X, [0, 1]).plot()


# ----------------------------------------------------------------------------------------- levels


def test_levels_are_drawn_over_seconds(models, moons):
    display = LevelsDisplay.from_models(models, *moons, name="DC-SVM")
    course = accuracy_over_time(models, *moons)
    assert np.array_equal(display.line_.get_xdata(), course["seconds"])
    assert np.array_equal(display.line_.get_ydata(), course["accuracy"])
    assert [number.get_text() for number in display.numbers_] == ["2", "1", "0"]
    assert legend(display) == ["DC-SVM"]
    assert display.ax_.get_xscale() == "log"


def test_levels_of_an_estimator_are_fitted(moons):
    X, y = moons
    model = ODMClassifier(strategy=Stratified(levels=1), random_state=0)
    display = LevelsDisplay.from_estimator(model, X[:200], y[:200], X[200:], y[200:])
    last = model.fit(X[:200], y[:200])
    assert display.accuracy[-1] == last.score(X[200:], y[200:])
    assert legend(display) == ["ODMClassifier"]


def test_methods_on_one_axes_differ(models, exact, moons):
    one = LevelsDisplay.from_models(models, *moons, name="one")
    two = LevelsDisplay.from_models([exact], *moons, name="two", ax=one.ax_)
    assert one.line_.get_color() != two.line_.get_color()
    assert one.line_.get_marker() != two.line_.get_marker()
    three = one.plot(ax=one.ax_, name="three", line_kw={"color": "red", "linestyle": ":"})
    assert three.line_.get_color() == "red"
    assert legend(two) == ["one", "two", "three"]


def test_levels_without_numbers_or_names():
    display = LevelsDisplay([0.1, 1.0], [0.8, 0.9]).plot()
    assert display.numbers_ == []
    assert display.ax_.get_legend() is None
    for seconds, accuracy in (([0.0, 1.0], [0.5, 0.5]), ([1.0], [0.5, 0.5])):
        with pytest.raises(ValueError, match="`seconds` must be positive"):
            LevelsDisplay(seconds, accuracy).plot()


# -------------------------------------------------------------------------------------- matplotlib


def test_missing_matplotlib_is_said_before_anything_is_fitted(monkeypatch, moons):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(SVMClassifier, "fit", lambda *args: pytest.fail("was fitted"))
    model = SVMClassifier(strategy=Clustered(levels=1))
    for draw in (
        lambda: PartitionDisplay.from_estimator(model, *moons),
        lambda: LevelsDisplay.from_estimator(model, *moons, *moons),
        lambda: PartitionDisplay([[0.0, 0.0]], [0]).plot(),
        lambda: LevelsDisplay([1.0], [1.0]).plot(),
    ):
        with pytest.raises(ImportError, match="pip install matplotlib"):
            draw()


def test_matplotlib_is_not_imported_with_the_displays():
    code = "import sys, widemargin.inspection; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
