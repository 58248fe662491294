import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from widemargin import (
    LinearODMClassifier,
    MarginDistributionDisplay,
    ODMClassifier,
    SVMClassifier,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.3, random_state=0)
    return X, np.array(["down", "up"])[y]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_margins_are_positive_exactly_where_the_prediction_is_right(moons):
    X, y = moons
    model = ODMClassifier().fit(X, y)
    display = MarginDistributionDisplay.from_estimator(model, X, y)
    assert np.array_equal(display.margins > 0, model.predict(X) == y)
    assert 0 < np.mean(display.margins > 0) < 1
    assert np.allclose(np.abs(display.margins), np.abs(model.decision_function(X)))


def test_margin_of_several_classes_is_own_decision_minus_best_other(iris):
    X, y = iris
    model = ODMClassifier().fit(X, y)
    display = MarginDistributionDisplay.from_estimator(model, X, y)
    decision = model.decision_function(X)
    expected = [row[k] - max(np.delete(row, k)) for row, k in zip(decision, y, strict=True)]
    assert np.allclose(display.margins, expected)
    assert display.wanted is None


def test_curve_is_the_empirical_distribution_function(moons):
    X, y = moons
    display = MarginDistributionDisplay.from_estimator(SVMClassifier().fit(X, y), X, y)
    x, height = display.line_.get_data()
    last = np.append(x[1:] != x[:-1], True)  # equal margins are one step
    for margin, fraction in zip(x[last][1:], height[last][1:], strict=True):
        assert fraction == pytest.approx(np.mean(display.margins <= margin))
    assert display.bars_ is None


def test_bars_are_fractions_of_rows(moons):
    X, y = moons
    model = SVMClassifier().fit(X, y)
    edges = [-3.0, 0.0, 1.0, 3.0]
    display = MarginDistributionDisplay.from_estimator(model, X, y, kind="histogram", bins=edges)
    counts = np.histogram(display.margins, edges)[0]
    assert [bar.get_height() for bar in display.bars_] == pytest.approx(counts / len(y))
    assert display.line_ is None
    assert legend(display)[0] == "SVMClassifier"


def test_both_share_colour_and_legend_entry(moons):
    X, y = moons
    display = MarginDistributionDisplay.from_estimator(
        ODMClassifier().fit(X, y), X, y, kind="both", name="mine"
    )
    colour = matplotlib.colors.to_rgb(display.line_.get_color())
    assert display.bars_[0].get_facecolor()[:3] == pytest.approx(colour)
    assert legend(display) == ["mine", "mine wants 0.8 to 1.2"]


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (ODMClassifier(theta=0.3), (0.7, 1.3)),
        (SVMClassifier(), (1.0, np.inf)),
        (SVMClassifier(loss="squared_hinge"), (1.0, np.inf)),
        (LinearODMClassifier(theta=0.1), (0.9, 1.1)),
        (SVC(), (1.0, np.inf)),
        (LogisticRegression(), None),
        (make_pipeline(StandardScaler(), ODMClassifier(theta=0.0)), (1.0, 1.0)),
        (GridSearchCV(make_pipeline(ODMClassifier()), {"odmclassifier__theta": [0.1]}), (0.9, 1.1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_wanted_margins_are_asked_of_the_final_estimator(model, wanted, moons):
    X, y = moons
    display = MarginDistributionDisplay.from_estimator(model.fit(X, y), X, y)
    assert (display.wanted_ is None) == (wanted is None)
    if wanted is not None:
        assert display.wanted == pytest.approx(wanted)
        # A band has an area, a line two points.
        left, right = display.wanted_.get_window_extent().intervalx
        assert (right > left + 1) == (np.isfinite(wanted[1]) and wanted[1] > wanted[0])


def test_a_band_without_width_is_a_line():
    display = MarginDistributionDisplay([0.5, 1.5], wanted=(1.0, 1.0), estimator_name="ODM").plot()
    assert isinstance(display.wanted_, matplotlib.lines.Line2D)
    assert legend(display)[-1] == "ODM wants 1"


def test_wanted_margins_can_be_given_or_left_out(moons):
    X, y = moons
    model = ODMClassifier().fit(X, y)
    given = MarginDistributionDisplay.from_estimator(model, X, y, wanted=(0.5, np.inf))
    assert legend(given)[-1] == "ODMClassifier wants 0.5 or more"
    none = MarginDistributionDisplay.from_estimator(model, X, y, wanted=None)
    assert none.wanted_ is None


def test_from_predictions_equals_from_estimator(moons):
    X, y = moons
    model = SVMClassifier().fit(X, y)
    one = MarginDistributionDisplay.from_estimator(model, X, y)
    two = MarginDistributionDisplay.from_predictions(y, model.decision_function(X))
    assert np.array_equal(one.margins, two.margins)
    assert two.ax_.get_legend() is None


def test_draws_into_given_axes_and_passes_options_on(moons):
    X, y = moons
    figure, axes = matplotlib.pyplot.subplots(1, 2)
    model = ODMClassifier().fit(X, y)
    display = MarginDistributionDisplay.from_estimator(
        model, X, y, ax=axes[1], line_kw={"color": "k", "linewidth": 3}
    )
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert display.line_.get_linewidth() == 3
    assert matplotlib.colors.to_rgb(display.wanted_.get_facecolor()) == (0, 0, 0)
    again = display.plot(ax=axes[0], kind="histogram", bar_kw={"histtype": "step"})
    assert again is display
    assert again.ax_ is axes[0]


def test_several_displays_on_one_axes_differ_in_colour(moons):
    X, y = moons
    one = MarginDistributionDisplay.from_estimator(ODMClassifier().fit(X, y), X, y)
    two = MarginDistributionDisplay.from_estimator(SVC().fit(X, y), X, y, ax=one.ax_)
    assert one.line_.get_color() != two.line_.get_color()
    assert len(legend(two)) == 4


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("make", [SVC, lambda **k: ODMClassifier(multi_class="ovo", **k)])
def test_several_classes_need_a_decision_per_class(make, shape, iris):
    X, y = iris
    model = make(decision_function_shape=shape).fit(X, y)
    if shape == "ovr":
        margins = MarginDistributionDisplay.from_estimator(model, X, y).margins
        assert np.mean(margins > 0) == pytest.approx(model.score(X, y), abs=0.02)
    else:
        with pytest.raises(ValueError, match="one decision per class"):
            MarginDistributionDisplay.from_estimator(model, X, y)


def test_pairwise_decisions_of_four_classes_are_refused():
    with pytest.raises(ValueError, match=r"must have shape \(4, 4\); got \(4, 6\)"):
        MarginDistributionDisplay.from_predictions([0, 1, 2, 3], np.zeros((4, 6)))


def test_refuses_what_it_cannot_draw(moons):
    X, y = moons
    model = ODMClassifier()
    with pytest.raises(NotFittedError):
        MarginDistributionDisplay.from_estimator(model, X, y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="`kind` must be one of cumulative, histogram, both"):
        MarginDistributionDisplay.from_estimator(model, X, y, kind="violin")
    with pytest.raises(ValueError, match=r"does not know: \['left'\]"):
        MarginDistributionDisplay.from_estimator(model, X[:2], ["left", "up"])
    with pytest.raises(ValueError, match="KNeighborsClassifier has none"):
        MarginDistributionDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match="one decision"):
        MarginDistributionDisplay.from_predictions(y, np.zeros(3))
    with pytest.raises(ValueError, match="At least two classes"):
        MarginDistributionDisplay.from_predictions([1, 1], [0.5, 1.0])
    for margins in ([], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="`margins` must be"):
            MarginDistributionDisplay(margins).plot()


def test_missing_matplotlib_is_said_with_the_remedy(monkeypatch, moons):
    X, y = moons
    model = ODMClassifier().fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        MarginDistributionDisplay.from_estimator(model, X, y)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        MarginDistributionDisplay([1.0]).plot()


def test_matplotlib_is_imported_only_to_draw():
    code = (
        "import sys, widemargin; widemargin.MarginDistributionDisplay; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
