"""Pictures of Shapley values."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from widemargin import SVMClassifier
from widemargin.inspection import ShapleyDisplay, shapley_values

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def binary(iris):
    X, y = iris
    return shapley_values(SVMClassifier().fit(X, y == 2), X[::3], background=X[::15])


def labels(display):
    return [tick.get_text() for tick in display.ax_.get_yticklabels()]


def test_bars_are_mean_absolute_values_in_order(binary):
    display = ShapleyDisplay.from_values(binary, kind="bar")
    means = np.abs(binary.values).mean(axis=0)
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == pytest.approx(sorted(means, reverse=True))
    assert labels(display) == [binary.feature_names[j] for j in np.argsort(-means)]
    assert display.ax_.yaxis_inverted()


def test_a_swarm_has_a_mark_per_row_coloured_by_the_feature(binary):
    display = ShapleyDisplay.from_values(binary, max_features=3)
    assert len(display.marks_) == 3
    for place, (j, marks) in enumerate(zip(display.features_, display.marks_, strict=True)):
        x, height = np.asarray(marks.get_offsets()).T
        assert np.allclose(x, binary.values[:, j])
        assert np.all(np.abs(height - place) < 0.5)
        order = np.argsort(binary.data[:, j], kind="stable")
        assert np.all(np.diff(marks.get_array()[order]) >= 0)
    # Marks of equal values do not cover each other.
    assert len(np.unique(np.asarray(display.marks_[0].get_offsets()), axis=0)) > 40


def test_a_waterfall_leads_from_the_base_to_the_decision(binary, iris):
    display = ShapleyDisplay.from_values(binary, kind="waterfall", row=7, max_features=2)
    assert labels(display)[-1] == "2 others"
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.bars_]
    assert bars[0][0] == pytest.approx(binary.base_values[7])
    for (_, end), (start, _) in pairwise(bars):
        assert start == pytest.approx(end)
    assert bars[-1][1] == pytest.approx(binary.base_values[7] + binary.values[7].sum())
    assert "decision" in display.ax_.get_legend().get_texts()[1].get_text()


def test_the_output_is_chosen_by_name_or_place(iris):
    X, y = iris
    names = np.array(["ash", "birch", "cedar"])
    model = SVMClassifier(multi_class="ovr").fit(X, names[y])
    display = ShapleyDisplay.from_estimator(model, X[::9], output="cedar", kind="bar")
    same = ShapleyDisplay.from_estimator(model, X[::9], output=2, kind="bar", ax=display.ax_)
    assert display.ax_.get_title() == "cedar"
    assert same.ax_ is display.ax_
    assert [a.get_width() for a in same.bars_] == [b.get_width() for b in display.bars_]
    wanted = "`output` must be one of .* or its index: each output has its own picture; got "
    for wrong in (None, "oak", 3):
        with pytest.raises(ValueError, match=wanted + repr(wrong)):
            ShapleyDisplay.from_values(display.explained, output=wrong)


def test_sparse_rows_are_drawn(iris):
    X, y = iris
    model = SVMClassifier().fit(sp.csr_matrix(X.to_numpy()), y == 0)
    assert len(ShapleyDisplay.from_estimator(model, sp.csr_matrix(X[::9])).marks_) == 4


def test_refusals(binary):
    with pytest.raises(ValueError, match="`kind` must be one of"):
        ShapleyDisplay.from_values(binary, kind="pie")
    with pytest.raises(ValueError, match="`row` must number one of 50 rows"):
        ShapleyDisplay.from_values(binary, kind="waterfall", row=50)
    with pytest.raises(ValueError, match="at least 1"):
        ShapleyDisplay.from_values(binary, max_features=0)
    with pytest.raises(ValueError, match="one output only"):
        ShapleyDisplay.from_values(binary, output=1)
