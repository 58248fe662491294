"""Probabilities: they agree with predictions, are right on average, and respect weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import (
    Clustered,
    GossipClassifier,
    LinearODMClassifier,
    LinearODMClassifierCV,
    LinearSVMClassifier,
    LinearSVMClassifierCV,
    MulticlassSVMClassifier,
    ODMClassifier,
    ODMClassifierCV,
    Stratified,
    SVMClassifier,
    SVMClassifierCV,
)

MODELS = {
    "odm": ODMClassifier(),
    "svm": SVMClassifier(),
    "svm, pairs": SVMClassifier(multi_class="ovo"),
    "svm, pairs, decisions of pairs": SVMClassifier(
        multi_class="ovo", decision_function_shape="ovo"
    ),
    "odm, pairs": ODMClassifier(multi_class="ovo"),
    "squared hinge, laplacian": SVMClassifier("laplacian", loss="squared_hinge"),
    "linear kernel": ODMClassifier("linear", fit_intercept=True),
    "poly": SVMClassifier("poly", coef0=1.0),
    "sigmoid kernel": SVMClassifier("sigmoid", coef0=-1.0),
    "sigmoid kernel, pairs": SVMClassifier("sigmoid", coef0=-1.0, multi_class="ovo"),
    "function": SVMClassifier(lambda X, Y: X @ Y.T + 1.0),
    "balanced": SVMClassifier(class_weight="balanced"),
    "stratified": ODMClassifier(strategy=Stratified(levels=1, fan_in=2)),
    "unfinished": SVMClassifier(strategy=Clustered(levels=1, fan_in=2, stop_level=1)),
    "validated": ODMClassifier(strategy=Stratified(levels=1, fan_in=2, validation_fraction=0.3)),
    "linear odm": LinearODMClassifier(),
    "linear svm": LinearSVMClassifier(),
    "linear hinge": LinearSVMClassifier(loss="hinge"),
    "linear, validated": LinearSVMClassifier(validation_fraction=0.3),
    "ww": MulticlassSVMClassifier("ww"),
    "cs": MulticlassSVMClassifier("cs"),
    "llw": MulticlassSVMClassifier("llw"),
    "all against the rest": MulticlassSVMClassifier("ovr"),
    "odm search": ODMClassifierCV(Cs=[1.0], gammas=[0.1]),
    "svm search": SVMClassifierCV(Cs=[1.0], gammas=[0.1], multi_class="ovo"),
    "linear odm search": LinearODMClassifierCV(Cs=[1.0]),
    "linear svm search": LinearSVMClassifierCV(Cs=[1.0]),
}
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
methods = pytest.mark.parametrize("method", ["sigmoid", "isotonic"])

CHECKED = [
    ODMClassifier(calibrate="sigmoid"),
    SVMClassifier(calibrate="isotonic", multi_class="ovo"),
    ODMClassifier(strategy="sodm", calibrate="sigmoid"),
    LinearODMClassifier(calibrate="sigmoid"),
    LinearSVMClassifier(calibrate="isotonic"),
    MulticlassSVMClassifier(calibrate="sigmoid"),
    SVMClassifierCV(Cs=[1.0], gammas=1, calibrate="sigmoid"),
    LinearSVMClassifierCV(Cs=[0.1, 1.0], calibrate="sigmoid"),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def noisy_classes(n_classes: int, n_rows: int = 240, seed: int = 0) -> tuple:
    """Overlapping classes of different sizes, a good part of them mislabelled."""
    random = np.random.default_rng([seed, n_classes])
    y = random.choice(n_classes, n_rows, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    X = random.normal(size=(n_rows, 4)) + 1.2 * random.normal(size=(n_classes, 4))[y]
    return X, np.array(list("abcde"))[y]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@methods
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@models
def test_the_most_probable_class_is_the_prediction(
    model: object, n_classes: int, method: str
) -> None:
    X, y = noisy_classes(n_classes)
    new, _ = noisy_classes(n_classes, 600, seed=1)
    model = clone(model).set_params(calibrate=method).fit(X, y)
    probability = model.predict_proba(new)
    assert probability.shape == (len(new), n_classes)
    assert np.all(probability >= 0)
    assert np.all(probability <= 1)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(new))
    np.testing.assert_array_equal(model.predict_log_proba(new), np.log(probability))


@models
def test_decisions_and_predictions_do_not_change(model: object) -> None:
    X, y = noisy_classes(3)
    plain = clone(model).set_params(random_state=0).fit(X, y)
    calibrated = clone(plain).set_params(calibrate="sigmoid").fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), calibrated.decision_function(X))
    np.testing.assert_array_equal(plain.predict(X), calibrated.predict(X))


@models
def test_there_are_no_probabilities_unless_asked_for(model: object) -> None:
    model = clone(model)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=name):
            getattr(model, name)
        assert hasattr(clone(model).set_params(calibrate="sigmoid"), name)


def test_the_reason_is_in_the_chain_of_the_error() -> None:
    with pytest.raises(AttributeError) as raised:
        SVMClassifier().predict_proba  # noqa: B018
    assert "Set calibrate='sigmoid'" in str(raised.value.__cause__)


def test_a_network_gives_none() -> None:
    assert not hasattr(GossipClassifier(), "predict_proba")
    with pytest.raises(TypeError, match="calibrate"):
        GossipClassifier(calibrate="sigmoid")  # type: ignore[call-arg]


def logistic_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels, and the probability of label 1 that drew them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 2))
    true = 1.0 / (1.0 + np.exp(-(2.0 * X[:, 0] - X[:, 1] + 0.5)))
    return X, (random.random(n_rows) < true).astype(int), true


@methods
@pytest.mark.parametrize(
    "model",
    [
        SVMClassifier(loss="squared_hinge", fit_intercept=True),
        ODMClassifier(fit_intercept=True),
        LinearSVMClassifier(),
        LinearODMClassifier(),
        MulticlassSVMClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_known_probabilities_are_found(model: object, method: str) -> None:
    X, y, _ = logistic_rows(2000, seed=0)
    new, label, true = logistic_rows(4000, seed=1)
    found = clone(model).set_params(calibrate=method).fit(X, y).predict_proba(new)[:, 1]
    assert np.abs(found - true).mean() < 0.05
    assert log_loss(label, found) < log_loss(label, true) * 1.05
    # Of the rows with a probability of about p, a share of about p is positive.
    bins = np.digitize(found, np.linspace(0.1, 0.9, 5))
    for each in range(6):
        assert abs(label[bins == each].mean() - found[bins == each].mean()) < 0.06


def test_training_rows_do_not_make_them_overconfident() -> None:
    # A wide model separates its training rows; only rows that it has not seen show the noise.
    X, y, _ = logistic_rows(600, seed=0)
    new, label, _ = logistic_rows(2000, seed=1)
    model = SVMClassifier(C=1000.0, gamma=10.0, calibrate="sigmoid").fit(X, y)
    assert model.score(X, y) > 0.9
    assert log_loss(label, model.predict_proba(new)) < 0.7


@pytest.mark.parametrize("model", [SVMClassifier(), LinearSVMClassifier()])
def test_pure_noise_gives_no_probability_away_from_even(model: object) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), np.arange(400) % 2
    found = clone(model).set_params(calibrate="sigmoid").fit(X, y).predict_proba(X)
    assert np.abs(found - 0.5).max() < 0.2


@pytest.mark.parametrize(
    "model",
    [
        SVMClassifier(),
        SVMClassifier(multi_class="ovo"),
        ODMClassifier(),
        LinearODMClassifier(),
        MulticlassSVMClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_row_twice_is_a_row_of_weight_two(model: object) -> None:
    X, y = noisy_classes(3, 120)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    order = np.random.default_rng(1).permutation(weight.sum())
    repeated = np.repeat(np.arange(len(y)), weight)[order]
    model = clone(model).set_params(calibrate="sigmoid", tol=1e-8, random_state=0)
    weighted = model.fit(X, y, sample_weight=weight).predict_proba(X)
    copied = clone(model).fit(X[repeated], y[repeated]).predict_proba(X)
    np.testing.assert_allclose(weighted, copied, rtol=1e-3, atol=1e-4)
    plain = clone(model).fit(X, y).predict_proba(X)
    assert np.abs(plain - weighted).max() > 0.01


@pytest.mark.parametrize("model", [SVMClassifier(fit_intercept=True), LinearSVMClassifier()])
def test_class_weights_count_in_probabilities(model: object) -> None:
    X, y, _ = logistic_rows(1500, seed=0)
    plain = clone(model).set_params(calibrate="sigmoid").fit(X, y)
    heavy = clone(plain).set_params(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    odds = [m.predict_proba(X)[:, 1].mean() for m in (plain, heavy)]
    assert odds[1] > odds[0] + 0.1


@methods
@pytest.mark.parametrize("model", [SVMClassifier(), SVMClassifier(multi_class="ovo")])
def test_a_class_of_one_row(model: object, method: str) -> None:
    X, y = noisy_classes(3, 60)
    y = np.where(np.arange(60) == 7, "z", y)
    with pytest.warns(UserWarning, match="single row cannot be calibrated: .*'z'"):
        model = clone(model).set_params(calibrate=method).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))
    assert np.median(found[:, -1]) < 0.1


@pytest.mark.filterwarnings("ignore:Classes of a single row")
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize(
    "model", [SVMClassifier(), ODMClassifier(multi_class="ovo"), LinearSVMClassifier()]
)
def test_few_rows_of_every_class(model: object, rows: int) -> None:
    X = np.random.default_rng(0).normal(size=(3 * rows, 2))
    y = np.arange(3 * rows) % 3
    model = clone(model).set_params(calibrate="sigmoid").fit(X, y)
    found = model.predict_proba(X)
    assert np.all(np.isfinite(found))
    np.testing.assert_array_equal(found.argmax(axis=1), model.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@methods
@pytest.mark.parametrize(
    "model", [SVMClassifier(), ODMClassifier(), LinearSVMClassifier(), MulticlassSVMClassifier()]
)
def test_constant_features_give_the_share_of_the_class(model: object, method: str) -> None:
    X, y = np.ones((100, 2)), (np.arange(100) < 80).astype(int)
    found = clone(model).set_params(calibrate=method).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found[:, 1], 0.8, atol=0.05)


def test_it_is_the_same_for_any_number_of_threads_and_every_time() -> None:
    X, y = make_blobs(1500, centers=3, cluster_std=4.0, random_state=0)
    first = SVMClassifier(calibrate="sigmoid", n_jobs=1, random_state=0).fit(X, y)
    second = SVMClassifier(calibrate="sigmoid", n_jobs=2, random_state=0).fit(X, y)
    for name in ("slope", "offset"):
        np.testing.assert_array_equal(first.calibration_[name], second.calibration_[name])


@pytest.mark.parametrize("most_rows", [0, 10_000], ids=["blocks", "one matrix"])
def test_folds_agree_with_fits_of_their_own(most_rows) -> None:
    from widemargin.core.budget import Budget
    from widemargin.estimators import kernel_held_out
    from widemargin.estimators.held_out import FoldedRows, decisions_by_refits

    X, y = noisy_classes(3, 400)
    for model in (SVMClassifier(random_state=0), ODMClassifier(multi_class="ovo", random_state=0)):
        model.set_params(tol=1e-6).fit(X, y)
        _, training = model._training_set(X, y, None)
        kernel, rows = model._kernel_and_rows(training)
        problems = model._pose(training, kernel, rows)
        folded = FoldedRows.of(training, pairwise=False)
        coef = np.zeros((3, len(y)))
        coef[:, model.support_] = model.dual_coef_
        budget = Budget.of(model, 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel_held_out, "MOST_SHARED_ROWS", most_rows)
            for first in (0, 10_000):  # from the solution of the whole set, from zero
                patch.setattr(kernel_held_out, "WARM_ROWS", first)
                patch.setattr(kernel_held_out, "FOLD_GAP", 1e-7)
                shared = kernel_held_out.held_out_decisions(model, folded, problems, coef, budget)
                alone = decisions_by_refits(model, folded, budget, gamma=model.gamma_)
                order = np.argsort(np.concatenate([out for _, out in folded.splits()]))
                expected = alone.decisions[order]
                known = shared.decisions != 0  # a pair's models decide on its own rows only
                assert known.mean() > 0.6
                np.testing.assert_allclose(
                    shared.decisions[known], expected[known], rtol=0.01, atol=0.01
                )


def test_a_fit_without_calibration_forgets_an_earlier_one() -> None:
    X, y = noisy_classes(2)
    for model in (SVMClassifier(), LinearSVMClassifier(), MulticlassSVMClassifier()):
        model.set_params(calibrate="sigmoid").fit(X, y)
        model.set_params(calibrate=None).fit(X, y)
        assert not hasattr(model, "calibration_")
        model.set_params(calibrate="sigmoid")
        with pytest.raises(NotFittedError, match="without calibration"):
            model.predict_proba(X)


def test_every_model_of_a_path_is_calibrated() -> None:
    X, y = noisy_classes(3)
    for model in (SVMClassifier(calibrate="sigmoid"), LinearSVMClassifier(calibrate="sigmoid")):
        for each in model.fit_path(X, y, [0.1, 1.0]):
            alone = clone(each).fit(X, y)
            np.testing.assert_allclose(each.predict_proba(X), alone.predict_proba(X), atol=0.02)


def test_streams_and_single_batches_are_refused() -> None:
    X, y = noisy_classes(2)
    model = LinearSVMClassifier(calibrate="sigmoid")
    with pytest.raises(ValueError, match="calibration trains on parts"):
        model.fit_stream([(X, y)])
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model.partial_fit(X, y, classes=["a", "b"])
    assert "`partial_fit` keeps no rows" in str(raised.value.__cause__)
    assert hasattr(LinearSVMClassifier(), "partial_fit")


def test_a_search_by_log_loss() -> None:
    X, y = noisy_classes(2)
    for search in (
        SVMClassifierCV(Cs=[0.1, 1.0], gammas=[0.1], scoring="neg_log_loss"),
        LinearSVMClassifierCV(Cs=[0.1, 1.0], scoring="neg_log_loss"),
    ):
        search.set_params(calibrate="sigmoid").fit(X, y)
        assert np.all(search.scores_ < 0)
        best = search.best_estimator_
        np.testing.assert_array_equal(best.predict_proba(X), search.predict_proba(X))


def test_the_tools_of_scikit_learn_work() -> None:
    from sklearn.calibration import CalibrationDisplay

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = SVMClassifier(calibrate="sigmoid")
    assert cross_val_score(model, X, y, scoring="neg_log_loss", cv=3).mean() > -0.15
    voting = VotingClassifier(
        [("svm", model), ("linear", LinearODMClassifier(calibrate="sigmoid"))], voting="soft"
    )
    assert voting.fit(X, y).score(X, y) > 0.95
    partly = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    assert SelfTrainingClassifier(model).fit(X, partly).score(X, y) > 0.95
    pytest.importorskip("matplotlib").use("Agg")
    display = CalibrationDisplay.from_estimator(model.fit(X, y), X, y, n_bins=5)
    assert display.prob_true.shape == display.prob_pred.shape


def test_max_time_is_for_all_of_the_fit() -> None:
    import time

    random = np.random.default_rng(0)
    X, y = random.normal(size=(6000, 10)), random.integers(0, 2, 6000)
    model = SVMClassifier(C=1e4, calibrate="sigmoid", max_time=1.0)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert time.perf_counter() - began < 4.0
    assert np.all(np.isfinite(model.predict_proba(X[:10])))


def test_compressed_models_keep_their_calibration() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVMClassifier(calibrate="sigmoid").fit(X, y)
    small = model.compress(10)
    found = small.predict_proba(X)
    np.testing.assert_array_equal(found.argmax(axis=1), small.predict(X))
