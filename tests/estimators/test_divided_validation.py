"""Validation rows choose the level; settings that cannot be met are refused with the reason."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from toy_data import circles

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.core.training_set import TrainingSet, training_set
from widemargin.estimators.validation import hold_out

STRATEGIES = (Stratified, Clustered, Cascade, Preserving)
strategies = pytest.mark.parametrize("kind", STRATEGIES)
not_of_features = pytest.mark.parametrize("kind", [Stratified, Clustered, Cascade])


def noisy(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n_rows, 4, flip_y=0.3, class_sep=0.6, random_state=seed)


# Validation


def expected_level(scores: list[float]) -> tuple[int, int]:
    """Return how many levels are tried, and which of them is kept."""
    for k in range(1, len(scores)):
        if not scores[k] > scores[k - 1]:
            return k + 1, k - 1
    return len(scores), len(scores) - 1


@strategies
def test_better_level_is_returned(kind: type) -> None:
    """As by fitting every level apart, scoring it, and stopping at the first that is no better."""
    ends = set()
    for seed in range(4):
        X, y = noisy(320, seed) if seed % 2 else circles(320, seed)
        X, y, X_val, y_val = X[:70], y[:70], X[70:], y[70:]
        model = SVMClassifier(fit_intercept=True, random_state=0)
        apart = [
            clone(model).set_params(strategy=kind(levels=3, fan_in=2, stop_level=stop)).fit(X, y)
            for stop in (3, 2, 1, 0)
        ]
        scores = [each.score(X_val, y_val) for each in apart]
        tried, kept = expected_level(scores)
        chosen = clone(model).set_params(strategy=kind(levels=3, fan_in=2))
        chosen.fit(X, y, X_val=X_val, y_val=y_val)
        np.testing.assert_array_equal(chosen.history_["validation_score"], scores[:tried])
        assert chosen.level_ == apart[kept].level_
        np.testing.assert_array_equal(chosen.dual_coef_, apart[kept].dual_coef_)
        np.testing.assert_array_equal(
            chosen.decision_function(X_val), apart[kept].decision_function(X_val)
        )
        ends.add(kept)
    assert len(ends) > 1  # or the test would show little


@strategies
def test_validation_does_not_change_what_is_trained(kind: type) -> None:
    X, y = noisy(200, 0)
    strategy = kind(levels=2, fan_in=2, stop_level=2)
    model = ODMClassifier(strategy=strategy, random_state=0)
    plain = clone(model).fit(X, y)
    judged = clone(model).fit(X, y, X_val=X[:50], y_val=y[:50])
    np.testing.assert_array_equal(judged.dual_coef_, plain.dual_coef_)
    assert judged.history_["validation_score"].tolist() == [plain.score(X[:50], y[:50])]


@not_of_features
@pytest.mark.parametrize("form", ["csr", "precomputed", "callable", "float32", "list"])
def test_validation_rows_of_every_form(kind: type, form: str) -> None:
    X, y = noisy(260, 1)
    X = X.astype(np.float32).astype(np.float64)
    y = np.array(["no", "yes"])[y]
    X, y, X_val, y_val = X[:160], y[:160], X[160:], y[160:]

    def squared(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return (A @ B.T + 1.0) ** 2

    strategy = kind(levels=2, fan_in=2)
    model = SVMClassifier("poly", degree=2, coef0=1.0, gamma=1.0, strategy=strategy, random_state=0)
    model.set_params(tol=1e-8)
    expected = clone(model).fit(X, y, X_val=X_val, y_val=y_val)
    forms: dict[str, tuple[Any, Any]] = {
        "csr": (sp.csr_matrix(X), sp.csr_matrix(X_val)),
        "precomputed": (squared(X, X), squared(X_val, X)),
        "callable": (X, X_val),
        "float32": (X.astype(np.float32), X_val.astype(np.float32)),
        "list": (X.tolist(), X_val.tolist()),
    }
    if form in ("precomputed", "callable"):
        model.set_params(kernel=squared if form == "callable" else form)
    train, judge = forms[form]
    found = model.fit(train, y, X_val=judge, y_val=y_val.tolist())
    np.testing.assert_allclose(
        found.history_["validation_score"], expected.history_["validation_score"], atol=0.011
    )
    assert found.level_ == expected.level_


@strategies
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_every_class_has_its_own_level(kind: type, scheme: str) -> None:
    X, y = load_iris(return_X_y=True)
    judge = np.arange(150) % 3 == 0
    model = SVMClassifier(strategy=kind(levels=2, fan_in=2), multi_class=scheme, random_state=0)
    model.fit(X[~judge], y[~judge], X_val=X[judge], y_val=y[judge])
    for k in range(3):
        mine = model.history_["problem"] == k
        assert model.history_["level"][mine][0] == 2
        scores = model.history_["validation_score"][mine]
        assert np.all(np.diff(scores)[:-1] > 0)
    assert model.score(X[judge], y[judge]) > 0.9


def test_pair_that_nobody_can_judge_goes_on() -> None:
    """Validation rows of the first class only say nothing of the second against the third."""
    X, y = load_iris(return_X_y=True)
    strategy = Stratified(levels=1, fan_in=2)
    model = SVMClassifier(strategy=strategy, multi_class="ovo", random_state=0)
    model.fit(X, y, X_val=X[:50], y_val=y[:50])
    last = model.history_["problem"] == 2
    assert model.history_["level"][last].tolist() == [1, 0]
    assert np.all(np.isnan(model.history_["validation_score"][last]))
    whole = clone(model).fit(X, y)
    for name in ("support_", "dual_coef_"):  # the other pairs stop elsewhere
        mine, theirs = (
            np.atleast_2d(getattr(m, name))[-1][m.dual_coef_[2] != 0] for m in (model, whole)
        )
        np.testing.assert_array_equal(mine, theirs)


# Rows kept out


def iris_training(pairwise: bool = False, weights: Any = None) -> tuple[TrainingSet, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    X = X @ X.T if pairwise else X
    return training_set(X, y, weights, pairwise=pairwise, estimator="Test"), X


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_share_of_each_class_is_kept_out(pairwise: bool, weighted: bool) -> None:
    weights = np.where(np.arange(150) % 5 == 0, 0.0, 1.0 + np.arange(150)) if weighted else None
    training, X = iris_training(pairwise, weights)
    left, X_val, codes = hold_out(training, X, 0.25, 7, pairwise=pairwise)
    per_class = 10 if weighted else 12
    assert np.bincount(codes).tolist() == [per_class] * 3
    assert left.n_given == 150
    kept = left.given_numbers(np.arange(len(left.codes)))
    every_row = {tuple(row) for row in X[kept]} | {tuple(row) for row in X_val}
    given = X if not weighted else X[np.asarray(weights) > 0]
    assert every_row == {tuple(row) for row in given}
    assert len(kept) + len(codes) == len(given)
    np.testing.assert_array_equal(left.X, X[np.ix_(kept, kept)] if pairwise else X[kept])
    if weighted:
        np.testing.assert_array_equal(left.weights, weights[kept])
    again = hold_out(training, X, 0.25, 7, pairwise=pairwise)[1]
    np.testing.assert_array_equal(again, X_val)
    other = hold_out(training, X, 0.25, 8, pairwise=pairwise)[1]
    assert not np.array_equal(other, X_val)


@not_of_features
@pytest.mark.parametrize("form", ["precomputed", "callable"])
def test_fraction_is_validation_on_rows_kept_out(kind: type, form: str) -> None:
    """Some rows have no weight, some are kept out; all are numbered as they were given."""
    X, y = circles(240)

    def squared(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return (A @ B.T + 1.0) ** 2

    weights = np.where(np.arange(240) % 6 == 0, 0.0, 1.0)
    strategy = kind(levels=2, fan_in=2, validation_fraction=0.25)
    model = ODMClassifier("poly", degree=2, coef0=1.0, gamma=1.0, strategy=strategy, tol=1e-8)
    by_name = model.set_params(fit_intercept=False, random_state=0).fit(X, y, weights)
    held = sum(int(0.25 * np.sum(weights[y == label])) for label in (0, 1))
    assert by_name.history_["rows"][0] == 200 - held
    assert np.all(weights[by_name.support_] > 0)
    np.testing.assert_array_equal(by_name.support_class_, y[by_name.support_])
    np.testing.assert_array_equal(by_name.support_vectors_, X[by_name.support_])
    assert by_name.score(X, y) > 0.9

    data = squared(X, X) if form == "precomputed" else X
    kernel = form if form == "precomputed" else squared
    by_values = clone(model).set_params(kernel=kernel).fit(data, y, weights)
    # A dual that is nearly zero may round to it in one of the two.
    assert len(np.setxor1d(by_values.support_, by_name.support_)) <= 2
    np.testing.assert_allclose(
        by_values.decision_function(data), by_name.decision_function(X), atol=5e-4
    )
    np.testing.assert_allclose(
        by_values.history_["validation_score"], by_name.history_["validation_score"], atol=0.021
    )
    assert by_values.history_["validation_score"].min() > 0.8


# Refusals


X, Y = circles(40)
NAN = np.where(np.arange(40)[:, None] == 3, np.nan, X)
TWO = Stratified(levels=1, fan_in=2)


@pytest.mark.parametrize(
    ("strategy", "data", "message"),
    [
        (Stratified(levels=5, fan_in=2), {}, r"= 32 parts need at least two rows each; got 40"),
        (Clustered(levels=2, fan_in=5), {}, r"= 25 parts .* Lower `levels` or `fan_in`"),
        (
            Cascade(levels=1, stop_level=2),
            {},
            r"`stop_level` must be at most `levels` \(1\); got 2",
        ),
        (Stratified(levels=-1), {}, r"'levels' parameter of Stratified must be"),
        (Stratified(levels=1.5), {}, r"'levels' parameter of Stratified must be"),
        (Clustered(levels=21), {}, r"'levels' parameter of Clustered must be"),
        (Cascade(fan_in=1), {}, r"'fan_in' parameter of Cascade must be"),
        (Preserving(stop_level=-1), {}, r"'stop_level' parameter of Preserving must be"),
        (Stratified(n_strata=0), {}, r"'n_strata' parameter of Stratified must be"),
        (Preserving(n_strata=0), {}, r"'n_strata' parameter of Preserving must be"),
        (Clustered(n_sample=3), {}, r"'n_sample' parameter of Clustered must be"),
        (Cascade(validation_fraction=1.0), {}, r"'validation_fraction' parameter of Cascade must"),
        (Cascade(validation_fraction=0.0), {}, r"validation_fraction"),
        (Cascade(printed="no"), {}, r"'printed' parameter of Cascade must be"),
        ("sdom", {}, r"'strategy' parameter of \w+ must be a str among .*'sodm'"),
        (Stratified, {}, r"'strategy' parameter of \w+ must be"),
        (TWO, {"X_val": X}, r"X_val and y_val go together; got only one"),
        (TWO, {"y_val": Y}, r"X_val and y_val go together; got only one"),
        ("exact", {"X_val": X, "y_val": Y}, r"choose the level .* strategy='exact' solves"),
        (
            Stratified(levels=1, fan_in=2, validation_fraction=0.1),
            {"X_val": X, "y_val": Y},
            r"validation_fraction is set too",
        ),
        (TWO, {"X_val": X, "y_val": Y + 1}, r"y_val holds labels that y does not: \[2\]"),
        (TWO, {"X_val": X, "y_val": ["a"] * 40}, r"y_val holds labels that y does not: \['a'\]"),
        (TWO, {"X_val": NAN, "y_val": Y}, r"contains NaN"),
        (TWO, {"X_val": X, "y_val": Y[:5]}, r"inconsistent numbers of samples"),
        (TWO, {"X_val": X[:, :1], "y_val": Y}, r"X has 1 features, but \w+ is expecting 2"),
        (TWO, {"X_val": X[:0], "y_val": Y[:0]}, r"0 sample"),
        (
            Stratified(levels=1, fan_in=2, validation_fraction=0.01),
            {},
            r"validation_fraction=0.01 keeps no row out of 40; raise it",
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])
def test_refusals(kind: type, strategy: Any, data: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(strategy=strategy).fit(X, Y, **data)


def test_fraction_that_is_no_number() -> None:
    with pytest.raises(ValueError, match="'validation_fraction' parameter of Cascade must"):
        ODMClassifier(strategy=Cascade(validation_fraction="a tenth")).fit(X, Y)


@strategies
def test_nan_is_refused_before_anything_is_divided(kind: type) -> None:
    with pytest.raises(ValueError, match="contains NaN"):
        ODMClassifier(strategy=kind(levels=1, fan_in=2)).fit(NAN, Y)


@pytest.mark.parametrize(
    "kernel", ["precomputed", lambda A, B: A @ B.T], ids=["values", "function"]
)
def test_features_that_a_kernel_does_not_show(kernel: Any) -> None:
    data = X @ X.T if kernel == "precomputed" else X
    model = SVMClassifier(kernel, strategy=Preserving(levels=1, fan_in=2))
    with pytest.raises(ValueError, match=r"clusters the features themselves"):
        model.fit(data, Y)


@pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])
@pytest.mark.parametrize("engine", ["ray", 3, object()])
def test_engines_that_are_none(kind: type, engine: Any) -> None:
    with pytest.raises(ValueError, match=r"'engine' parameter of \w+ must be .*'local'"):
        kind(strategy=TWO, engine=engine).fit(X, Y)


@pytest.mark.parametrize("name", ["engine", "checkpoint"])
def test_what_only_divided_fits_use(name: str, tmp_path: Any) -> None:
    from widemargin.engines import LocalEngine

    value = LocalEngine(1) if name == "engine" else tmp_path
    with pytest.warns(UserWarning, match=f"`{name}` is for a training set that is divided"):
        ODMClassifier(**{name: value}).fit(X, Y)
