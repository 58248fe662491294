"""Pictures of a fit's convergence and of a search."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import (
    AutoClassifier,
    LinearODMClassifier,
    LinearODMClassifierCV,
    ODMClassifier,
    SVMClassifier,
    SVMClassifierCV,
)
from widemargin.inspection import ConvergenceDisplay, LeaderboardDisplay, SearchDisplay

pytest.importorskip("matplotlib").use("Agg")

X, y = make_moons(300, noise=0.3, random_state=0)


class TestConvergence:
    def test_the_record_is_drawn(self):
        model = SVMClassifier(C=100.0).fit(X, y)
        display = ConvergenceDisplay.from_estimator(model, against="iteration")
        (line,) = display.lines_
        recorded = np.asarray(model.history_["relative_gap"])
        assert np.array_equal(line.get_xdata(), model.history_["iteration"])
        assert np.allclose(line.get_ydata(), np.where(recorded == 0, 2**-52, recorded))
        assert display.ax_.get_yscale() == "log"

    def test_a_line_for_each_problem_and_one_for_tol(self):
        model = make_pipeline(StandardScaler(), ODMClassifier(multi_class="ovr"))
        display = ConvergenceDisplay.from_estimator(model.fit(*load_iris(return_X_y=True)))
        ConvergenceDisplay.from_estimator(LinearODMClassifier().fit(X, y), ax=display.ax_)
        assert len(display.lines_) == 3
        names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert names == ["ODMClassifier", "tol", "LinearODMClassifier"]

    def test_what_was_not_recorded_is_refused(self):
        with pytest.raises(ValueError, match=r"`against` must be .*; got 'passes'"):
            ConvergenceDisplay.from_estimator(LinearODMClassifier().fit(X, y), against="passes")
        model = SVMClassifier().fit(X, y)
        model.history_["relative_gap"] = np.full_like(model.history_["relative_gap"], np.nan)
        with pytest.raises(ValueError, match="no duality gap"):
            ConvergenceDisplay.from_estimator(model)


class TestSearch:
    def test_two_parameters_are_a_map(self):
        search = SVMClassifierCV(Cs=4, gammas=3, cv=3).fit(X, y)
        display = SearchDisplay.from_estimator(search)
        assert display.mesh_.get_array().shape == (3, 4)
        assert np.nanmax(display.mesh_.get_array()) == search.best_score_
        best = display.best_.get_xdata()[0], display.best_.get_ydata()[0]
        assert best == (search.best_params_["C"], search.best_params_["gamma"])

    def test_one_parameter_is_a_line(self):
        search = LinearODMClassifierCV(Cs=5, cv=3).fit(X, y)
        display = SearchDisplay.from_estimator(make_pipeline(search))
        assert display.mesh_ is None
        assert display.best_.get_ydata()[0] == search.best_score_
        assert np.array_equal(display.ax_.lines[0].get_xdata(), search.Cs_)

    def test_a_grid_of_another_library(self):
        grid = {"svmclassifier__C": [1, 10], "svmclassifier__gamma": [0.5, 1.0, 2.0]}
        pipe = make_pipeline(StandardScaler(), SVMClassifier())
        display = SearchDisplay.from_estimator(GridSearchCV(pipe, grid, cv=2).fit(X, y))
        assert display.ax_.get_xlabel() == "svmclassifier__C"

    def test_what_is_no_search_is_refused(self):
        with pytest.raises(TypeError, match="needs a fitted search"):
            SearchDisplay.from_estimator(SVMClassifier().fit(X, y))
        grid = GridSearchCV(SVMClassifier(), {"kernel": ["rbf", "linear"]}, cv=2).fit(X, y)
        with pytest.raises(ValueError, match="one or two parameters"):
            SearchDisplay.from_estimator(grid)


class TestLeaderboard:
    def test_every_trial_has_a_mark_and_the_chosen_one_a_ring(self):
        model = AutoClassifier(cv=2, families=["linear SVM", "linear ODM"]).fit(X, y)
        display = LeaderboardDisplay.from_estimator(make_pipeline(StandardScaler(), model))
        board = model.leaderboard_
        marks = np.concatenate([each.get_offsets() for each in display.marks_])
        drawn = np.column_stack([board["seconds"], board["score"]])
        assert sorted(map(tuple, marks)) == sorted(map(tuple, drawn))
        assert display.best_.get_ydata().tolist() == [model.best_score_]
        names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert names == ["linear ODM", "linear SVM", "chosen"]

    def test_others_are_refused(self):
        with pytest.raises(TypeError, match=r"draws a fitted AutoClassifier; got SVMClassifier"):
            LeaderboardDisplay.from_estimator(SVMClassifier().fit(X, y))
        with pytest.raises(ValueError, match=r"lacks \['score'"):
            LeaderboardDisplay.from_leaderboard({"name": [], "rows": [], "seconds": []})
        with pytest.raises(ValueError, match="equal length"):
            LeaderboardDisplay([1.0], [0.5, 0.6], ["a"], [10]).plot()
        with pytest.raises(ValueError, match="empty"):
            LeaderboardDisplay([], [], [], []).plot()
