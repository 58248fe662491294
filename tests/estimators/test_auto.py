"""AutoClassifier: what it chooses, within which time, and what it leaves."""

from __future__ import annotations

import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from widemargin import AutoClassifier, load_model
from widemargin.estimators.auto_candidates import FAMILIES, Candidate, grid
from widemargin.estimators.auto_relevance import relevance

LINEAR = ["linear SVM", "linear ODM"]
SETTINGS = {"class_weight": None, "random_state": 0, "n_jobs": 1, "memory_limit": "1GiB"}


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    return AutoClassifier(cv=3, families=["SVM, rbf", *LINEAR], random_state=0).fit(*moons)


def test_passes_the_checks_of_scikit_learn():
    check_estimator(AutoClassifier(families=["linear SVM"], cv=2, n_jobs=1, random_state=0))


@pytest.mark.slow
def test_passes_the_checks_of_scikit_learn_with_all_families():
    check_estimator(AutoClassifier(random_state=0))


def test_iris_by_default():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = AutoClassifier().fit(X, names)
    assert model.best_score_ > 0.94
    assert model.score(X, names) > 0.95
    assert model.fit_seconds_ < 60
    assert model.n_rows_fit_ == len(np.unique(X, axis=0))


def test_a_curved_boundary_gets_a_kernel_and_a_straight_one_needs_none(moons, fitted):
    assert fitted.leaderboard_["name"][0] == "SVM, rbf"
    X_test, y_test = make_moons(1000, noise=0.25, random_state=1)
    assert fitted.score(X_test, y_test) > 0.92
    X = np.random.default_rng(0).normal(size=(300, 5))
    straight = (X @ np.arange(1, 6) > 0).astype(int)
    model = AutoClassifier(cv=3, families=["SVM, rbf", *LINEAR]).fit(X, straight)
    assert model.best_score_ > 0.95


def test_leaderboard_has_all_that_was_tried(fitted):
    board = fitted.leaderboard_
    assert len({len(column) for column in board.values()}) == 1
    assert board["rank"].tolist() == list(range(1, len(board["rank"]) + 1))
    assert board["score"][0] == fitted.best_score_
    on_all = (board["rows"] == board["rows"].max()) & (board["splits"] == board["splits"].max())
    assert board["score"][0] == board["score"][on_all].max()
    for name, value in board["params"][0].items():
        assert getattr(fitted.model_, name) == value
    assert set(board["name"]) == {"SVM, rbf", *LINEAR}
    assert np.all(board["seconds"] > 0)


def test_the_model_is_trained_on_all_rows_and_certified(moons, fitted):
    assert fitted.n_rows_fit_ == len(moons[1])
    assert fitted.model_.relative_gap_ <= fitted.model_.tol
    assert fitted.model_.max_time is None


def test_probabilities_agree_with_predictions_and_are_calibrated(moons, fitted):
    X_test, y_test = make_moons(2000, noise=0.25, random_state=1)
    probability = fitted.predict_proba(X_test)
    assert np.array_equal(fitted.classes_[probability.argmax(axis=1)], fitted.predict(X_test))
    assert np.allclose(probability.sum(axis=1), 1.0)
    assert np.array_equal(np.log(probability), fitted.predict_log_proba(X_test))
    # Of rows with a probability near p, about a share p is of that class.
    assert abs(probability[:, 1].mean() - y_test.mean()) < 0.03
    confident = probability.max(axis=1) > 0.95
    right = fitted.predict(X_test) == y_test
    assert right[confident].mean() > 0.95 > right[~confident].mean()


def test_without_calibration_there_are_no_probabilities(moons):
    model = AutoClassifier(cv=2, families=LINEAR, calibrate=None).fit(*moons)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model.model_, "calibration_")


def test_the_same_random_state_gives_the_same_model(moons):
    X, y = moons
    models = [
        AutoClassifier(cv=2, families=["ODM, rbf"], random_state=3, n_jobs=jobs).fit(X, y)
        for jobs in (1, 2)
    ]
    decisions = [model.decision_function(X) for model in models]
    assert np.array_equal(*decisions)
    scores = [model.leaderboard_["score"] for model in models]
    assert np.array_equal(*scores)


def test_a_row_twice_is_a_row_of_weight_two(moons):
    X, y = moons
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = AutoClassifier(cv=2, families=["SVM, laplacian"])
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


def test_dense_and_sparse_rows_are_both_taken():
    X, y = make_classification(200, 30, random_state=0)
    X[X < 0.5] = 0.0
    for rows in (X, sp.csr_matrix(X), sp.csr_array(X), X.astype(np.float32)):
        model = AutoClassifier(cv=2, families=LINEAR).fit(rows, y)
        assert model.score(rows, y) > 0.8


def test_a_frame_with_text_dates_and_gaps():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    n = 240
    job = random.choice(["cook", "clerk", "pilot"], n)
    age = random.normal(40, 10, n)
    y = np.where((job == "pilot") | (age > 45), "yes", "no")
    frame = pandas.DataFrame({"job": job, "age": age, "note": "same"})
    frame.loc[::7, "age"] = np.nan
    model = AutoClassifier(cv=3, families=["SVM, rbf", *LINEAR]).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["job", "age", "note"]
    assert model.n_features_in_ == 3
    assert model.score(frame, y) > 0.85
    assert any("note" in each for each in model.preprocessor_.notes_)
    backwards = frame[frame.columns[::-1]]
    assert np.array_equal(model.predict(backwards), model.predict(frame))


def test_a_polars_frame():
    polars = pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True)
    frame = polars.DataFrame({f"c{k}": X[:, k] for k in range(4)})
    model = AutoClassifier(cv=2, families=LINEAR).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["c0", "c1", "c2", "c3"]
    assert model.score(frame, y) > 0.9


def test_saved_and_loaded_it_decides_alike(tmp_path):
    X, y = make_classification(250, 8, n_informative=3, random_state=0)
    model = AutoClassifier(cv=2, families=["SVM, laplacian, weighted"], random_state=0).fit(X, y)
    assert model.feature_weights_ is not None
    model.save(tmp_path / "auto.wm")
    loaded = load_model(tmp_path / "auto.wm")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.leaderboard_["params"] == model.leaderboard_["params"]


def test_in_a_pipeline(moons):
    X, y = moons
    model = make_pipeline(FunctionTransformer(np.asarray), AutoClassifier(cv=2, families=LINEAR))
    assert model.fit(X, y).score(X, y) > 0.8


def test_relevance_finds_the_features_that_matter():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 12))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)  # neither feature alone says anything
    weights = relevance(X, y, np.ones(600), SETTINGS, 3)
    assert np.mean(weights**2) == pytest.approx(1.0)
    assert sorted(np.argsort(weights)[-2:]) == [0, 1]
    assert weights[2:].max() < 0.5 * weights[:2].min()


def test_rounds_of_relevance_go_on_where_others_ended():
    X, y = make_classification(200, 6, n_informative=2, random_state=0)
    weight = np.ones(len(y))
    few = relevance(X, y, weight, SETTINGS, 1)
    many = relevance(X, y, weight, SETTINGS, 1, few)
    np.testing.assert_array_equal(many, relevance(X, y, weight, SETTINGS, 2))
    assert not np.array_equal(many, few)


def test_a_rung_of_few_rows_weights_features_by_all_of_them():
    # Curved in 2 of 60 features: 300 of the rows do not tell which, 900 do.
    X = np.random.default_rng(0).normal(size=(1800, 60))
    y = ((X[:, :2] ** 2).sum(axis=1) > 1.4).astype(int)
    model = AutoClassifier(cv=2, families=["SVM, rbf", "SVM, rbf, weighted"]).fit(X, y)
    assert model.leaderboard_["rows"].min() == 300
    assert model.leaderboard_["name"][0] == "SVM, rbf, weighted"
    assert model.best_score_ > 0.97


def test_weighted_features_win_where_most_say_nothing():
    random = np.random.default_rng(0)
    X = random.normal(size=(700, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = AutoClassifier(cv=2, families=["SVM, rbf", "SVM, rbf, weighted"]).fit(X[:500], y[:500])
    assert model.leaderboard_["name"][0] == "SVM, rbf, weighted"
    assert model.score(X[500:], y[500:]) > 0.8
    plain = AutoClassifier(cv=2, families=["SVM, rbf"]).fit(X[:500], y[:500])
    assert plain.feature_weights_ is None
    assert plain.score(X[500:], y[500:]) < 0.75


@pytest.mark.parametrize("max_time", [1.0, 3.0])
def test_max_time_is_honoured(max_time):
    X, y = make_classification(12_000, 15, n_informative=8, flip_y=0.1, random_state=0)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may train on some of the rows, and says so
        model = AutoClassifier(max_time=max_time).fit(X, y)
    # Preparing so many rows takes some tenths of a second on a busy machine.
    assert time.perf_counter() - began < 1.1 * max_time + 1.0
    assert model.score(X, y) > 0.75


def test_no_time_at_all_still_gives_a_model(moons):
    X, y = moons
    model = AutoClassifier(max_time=1e-9, families=["linear SVM"])
    model.fit(X, y)
    assert model.score(X, y) > 0.7
    assert np.isnan(model.best_score_)
    assert len(model.leaderboard_["rank"]) == 0


def test_an_interrupt_leaves_the_best_model_so_far():
    X, y = make_classification(9_000, 20, n_informative=10, flip_y=0.2, random_state=0)
    model = AutoClassifier(max_time=None, random_state=0)
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert model.score(X, y) > 0.6
    assert model.n_rows_fit_ < len(y)
    assert model.predict_proba(X[:5]).shape == (5, 2)


def test_scoring_decides(moons):
    X, y = moons
    model = AutoClassifier(cv=3, families=LINEAR, scoring="roc_auc").fit(X, y)
    assert 0.9 < model.best_score_ <= 1.0


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc_ovr"])
def test_scores_of_probabilities_are_those_of_calibrated_candidates(scoring):
    X, y = load_iris(return_X_y=True)
    names = ["linear SVM", "SVM, rbf"]
    model = AutoClassifier(cv=2, families=names, scoring=scoring).fit(X, y)
    assert np.isfinite(model.leaderboard_["score"]).all()
    assert model.best_score_ > (0.98 if scoring == "roc_auc_ovr" else -0.3)
    assert model.predict_proba(X).shape == (150, 3)


def test_a_function_may_score_probabilities(moons):
    def mean_of_the_right_one(model, X, y):
        return model.predict_proba(X)[np.arange(len(y)), y].mean()

    model = AutoClassifier(cv=2, families=["linear SVM"], scoring=mean_of_the_right_one).fit(*moons)
    assert 0.6 < model.best_score_ < 1.0


def test_scores_of_probabilities_need_calibration(moons):
    with pytest.raises(ValueError, match=r"'neg_log_loss'` needs probabilities.*'sigmoid'"):
        AutoClassifier(scoring="neg_log_loss", calibrate=None).fit(*moons)


def test_a_splitter_decides_which_rows_are_scored(moons):
    X, y = moons
    model = AutoClassifier(cv=ShuffleSplit(3, random_state=0), families=LINEAR).fit(X, y)
    assert model.leaderboard_["splits"].max() == 3
    assert model.leaderboard_["rows"].max() == 270
    with pytest.raises(ValueError, match="groups"):
        AutoClassifier(cv=GroupKFold(2), families=LINEAR).fit(X, y)


def test_a_split_of_one_class_is_refused(moons):
    X, y = moons
    one = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]
    with pytest.raises(ValueError, match=r"two classes or more.*split 0 has 1 classes"):
        AutoClassifier(cv=one, families=LINEAR).fit(X, y)


def test_rare_classes_are_kept():
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[0] = 3  # one row
    model = AutoClassifier(cv=3, families=LINEAR).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.predict_proba(X).shape == (150, 4)


@pytest.mark.parametrize("names", [False, True])
def test_targets_of_a_regression_are_noticed(names):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(60, size=200)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        AutoClassifier(cv=2, max_time=1e-3, families=LINEAR).fit(X, y.astype(str) if names else y)
    told = [each for each in seen if "different numbers in 200 rows" in str(each.message)]
    assert len(told) == (not names)
    assert all(each.filename == __file__ and each.category is UserWarning for each in told)
    with pytest.raises(ValueError, match="continuous"):
        AutoClassifier().fit(X, y + 0.5)


def test_families_must_be_known(moons):
    with pytest.raises(ValueError, match=r"`families` must be some of .*got \['forest'\]"):
        AutoClassifier(families=["forest"]).fit(*moons)


def test_unfitted_says_so():
    with pytest.raises(NotFittedError):
        AutoClassifier().predict([[0.0]])


def test_what_did_not_converge_in_the_search_is_no_warning(recwarn):
    X, y = load_breast_cancer(return_X_y=True)
    AutoClassifier(cv=2, families=LINEAR).fit(X, y)
    assert not recwarn.list


@pytest.mark.parametrize("max_time", [None, 1e-3])
def test_weights_of_features_are_no_uneven_scales(max_time):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = (X[:, 0] ** 2 > 0.6).astype(int)
    model = AutoClassifier(cv=2, families=["SVM, rbf, weighted"], max_time=max_time)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert model.feature_weights_[0] > 5  # of 30 features, almost all of the variance
    assert not [each for each in seen if "Scale the features" in str(each.message)]


def test_neighbours_are_between_the_values_of_the_grid():
    candidates = grid(list(FAMILIES), scale=0.5)
    assert len(set(candidates)) == len(candidates)
    first = next(each for each in candidates if each.name == "SVM, rbf")
    assert first == Candidate("SVM, rbf", 0.5, (("gamma", 0.5),))
    near = set(first.neighbours(0.5))
    assert {each.params["gamma"] for each in near} == {0.25, 0.5, 1.0}
    assert all(each.name == "SVM, rbf" for each in near)
    odm = Candidate("linear ODM", 1.0, (("theta", 0.2), ("upsilon", 0.5)))
    assert {each.params["theta"] for each in odm.neighbours(0.5)} == {0.0, 0.2, 0.4}
