"""The loop ends at a level, by the clock, by validation, at rest or by an interrupt."""

import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from engines_under_test import ListeningEngine
from parts_to_merge import two_clouds
from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.estimators.kernel_machine import KernelMachine

STRATEGIES = (Stratified, Clustered, Cascade, Preserving)
strategies = pytest.mark.parametrize("kind", STRATEGIES)
MODELS = {
    "hinge": SVMClassifier(random_state=0),
    "squared_hinge": SVMClassifier(loss="squared_hinge", random_state=0),
    "odm": ODMClassifier(random_state=0),
}
losses = pytest.mark.parametrize("loss", MODELS)


def model_of(kind: type, loss: str = "odm", **settings: Any) -> KernelMachine:
    return clone(MODELS[loss]).set_params(strategy=kind(levels=3, fan_in=2, **settings))


def same_model(a: KernelMachine, b: KernelMachine, X: Any) -> None:
    """To the bit."""
    assert a.level_ == b.level_
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def same_history(a: dict, b: dict, length: int) -> None:
    assert a.keys() == b.keys()
    for name in set(a) - {"seconds"}:
        np.testing.assert_array_equal(a[name][:length], b[name][:length], err_msg=name)


# Levels


@strategies
@losses
def test_stopping_early_is_the_same_path(kind: type, loss: str) -> None:
    """What a level is does not depend on how far the loop goes after it."""
    X, y = two_clouds(160)
    full = model_of(kind, loss).fit(X, y)
    assert full.history_["level"].tolist() == [3, 2, 1, 0]
    for stop_level in (3, 1):
        early = model_of(kind, loss, stop_level=stop_level).fit(X, y)
        assert early.level_ == stop_level
        assert early.history_["level"].tolist() == list(range(3, stop_level - 1, -1))
        same_history(early.history_, full.history_, 4 - stop_level)
        assert np.isnan(early.relative_gap_)
        assert np.isnan(early.dual_gap_)
    everything = full.history_["rows"][-1] == 160
    assert everything == (kind in (Stratified, Clustered))  # the others drop rows on the way
    assert np.isfinite(full.relative_gap_) == everything  # a gap on fewer rows certifies nothing


def test_levels_by_size() -> None:
    """Without `levels`, leaves have at most 2,000 rows."""
    strategy = Stratified(fan_in=3)
    for n_rows, levels in [(2, 0), (2000, 0), (2001, 1), (6000, 1), (6001, 2), (10**6, 6)]:
        assert strategy.plan(n_rows).levels == levels
    assert Stratified(stop_level=5).plan(100).stop_level == 0
    assert Stratified(levels=2, stop_level=2).plan(100, last_level=1).stop_level == 2
    assert Stratified(levels=2).plan(100, last_level=1).stop_level == 1
    assert Stratified(levels=0).plan(100, last_level=1).stop_level == 0


@strategies
def test_no_levels_is_the_exact_solution(kind: type) -> None:
    X, y = two_clouds(120)
    divided = clone(MODELS["hinge"]).set_params(strategy=kind(levels=0)).fit(X, y)
    exact = clone(MODELS["hinge"]).set_params(strategy="exact", solver="blocks").fit(X, y)
    np.testing.assert_array_equal(divided.dual_coef_, exact.dual_coef_)
    assert divided.relative_gap_ == exact.relative_gap_


# Threads


@strategies
@losses
@pytest.mark.parametrize("stop_level", [0, 2])
def test_threads_do_not_change_a_bit(kind: type, loss: str, stop_level: int) -> None:
    X, y = two_clouds(240)
    model = model_of(kind, loss, stop_level=stop_level)
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    two = clone(model).set_params(n_jobs=2).fit(X, y)
    same_model(one, two, X)
    same_history(one.history_, two.history_, 4)
    again = clone(model).set_params(n_jobs=1).fit(X, y)
    same_model(one, again, X)
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert stop_level == 0 or not np.array_equal(one.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("kind", [Stratified, Clustered])
def test_threads_share_the_memory_and_not_the_result(kind: type) -> None:
    """Where kernel rows of a part do not all fit into its share of the limit."""
    X, y = two_clouds(600)
    strategy = kind(levels=1, fan_in=2, stop_level=1)
    model = SVMClassifier(strategy=strategy, C=100.0, random_state=0, memory_limit="200kB")
    same_model(
        clone(model).set_params(n_jobs=1).fit(X, y), clone(model).set_params(n_jobs=2).fit(X, y), X
    )


def test_parts_refuse_a_memory_limit_that_is_too_small_for_them() -> None:
    X, y = two_clouds(400)
    strategy = Stratified(levels=1, fan_in=2)
    model = SVMClassifier(strategy=strategy, memory_limit="20kB", n_jobs=2)
    with pytest.raises(ValueError, match=r"`memory_limit` must be at least .* level 1, where 2"):
        model.fit(X, y)


# Time


@strategies
@pytest.mark.parametrize("level", [2, 1])
def test_time_ends_at_a_complete_level(kind: type, level: int) -> None:
    """The clock runs out while a level is solved; the one before it is the model."""
    X, y = two_clouds(160)
    engine = ListeningEngine(gives_up_after=3 - level)
    model = model_of(kind).set_params(engine=engine, max_time=600.0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    (text,) = [str(warning.message) for warning in caught]
    assert f"stopped at level {level + 1} of 3, before level 0: `max_time` was reached" in text
    assert model.level_ == level + 1
    assert model.history_["level"].tolist() == list(range(3, level, -1))
    same_model(model, model_of(kind, stop_level=level + 1).fit(X, y), X)


def test_clock_is_looked_at() -> None:
    """Once a second is slept through nothing new is begun; a level that was done is kept."""
    X, y = two_clouds(160)
    engine = ListeningEngine(lambda solved: time.sleep(1.01 if solved == 1 else 0.0))
    model = model_of(Stratified).set_params(engine=engine, max_time=1.0)
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model.fit(X, y)
    assert len(engine.levels) == 2
    assert model.level_ in (3, 2)  # 2 if the parts were solved at once, within their millisecond
    same_model(model, model_of(Stratified, stop_level=model.level_).fit(X, y), X)


@strategies
def test_time_ends_before_the_first_level_does(kind: type) -> None:
    """Half a level is better than nothing, and is said to be that."""
    X, y = two_clouds(160)
    model = model_of(kind).set_params(engine=ListeningEngine(gives_up_after=0))
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model.fit(X, y)
    assert model.level_ == 3
    assert not model.converged_
    assert model.predict(X).shape == (160,)


def test_time_left_over_is_no_news() -> None:
    X, y = two_clouds(80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model_of(Stratified).set_params(max_time=600.0).fit(X, y)
    assert model.converged_
    assert model.level_ == 0


def test_stopped_by_time_is_not_converged() -> None:
    X, y = two_clouds(160)
    model = model_of(Stratified).set_params(engine=ListeningEngine(gives_up_after=1))
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model.fit(X, y)
    assert model.level_ == 3
    assert not model.converged_


def test_history_has_its_columns_without_a_level() -> None:
    X, y = two_clouds(160)
    model = model_of(Stratified).set_params(engine=ListeningEngine(gives_up_after=0))
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model.fit(X, y)
    assert model.history_["level"].size == 0


# Interrupts


def interrupt_at(solved: int) -> ListeningEngine:
    def raise_there(levels_solved: int) -> None:
        if levels_solved == solved:
            raise KeyboardInterrupt

    return ListeningEngine(raise_there)


@strategies
@losses
@pytest.mark.parametrize("level", [2, 0])
def test_interrupt_leaves_the_last_complete_level(kind: type, loss: str, level: int) -> None:
    X, y = two_clouds(160)
    model = model_of(kind, loss).set_params(engine=interrupt_at(3 - level))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    expected = model_of(kind, loss, stop_level=level + 1).fit(X, y)
    same_model(model, expected, X)
    same_history(model.history_, expected.history_, 4)


@strategies
def test_interrupt_inside_a_part(kind: type) -> None:
    """Raised by a solver in a thread, as a user's kernel function might."""
    X, y = two_clouds(160)

    class Failing(ListeningEngine):
        def map(self, parts: Any, fn: Any, report: Any = None) -> Any:
            if len(self.levels) == 1:

                def fail(part: Any) -> Any:
                    raise KeyboardInterrupt

                return super().map(parts, fail)
            return super().map(parts, fn)

    model = model_of(kind).set_params(engine=Failing(threads=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    same_model(model, model_of(kind, stop_level=3).fit(X, y), X)


@strategies
def test_interrupt_before_the_first_level_is_done(kind: type) -> None:
    """No level, no model: the estimator stays as it was, fitted before or not."""
    X, y = two_clouds(80)
    model = model_of(kind).set_params(engine=interrupt_at(0))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.set_params(engine="local").fit(X, y)
    before = model.decision_function(X)
    model.set_params(engine=interrupt_at(0))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("kind", [Stratified, Clustered])
def test_interrupt_between_classes(kind: type) -> None:
    """The first class is done, the second at its second level, the third not begun."""
    X, y = load_iris(return_X_y=True)
    strategy = kind(levels=1, fan_in=2)
    settings = {"fit_intercept": True, "multi_class": "ovr", "random_state": 0}
    model = SVMClassifier(strategy=strategy, **settings)
    interrupted = clone(model).set_params(engine=interrupt_at(3))
    with pytest.raises(KeyboardInterrupt):
        interrupted.fit(X, y)
    done = clone(model).fit(X, y)
    early = clone(model).set_params(strategy__stop_level=1).fit(X, y)
    assert interrupted.history_["problem"].tolist() == [0, 0, 1]
    assert interrupted.history_["level"].tolist() == [1, 0, 1]
    decisions = interrupted.decision_function(X)
    np.testing.assert_allclose(decisions[:, 0], done.decision_function(X)[:, 0], atol=1e-12)
    np.testing.assert_allclose(decisions[:, 1], early.decision_function(X)[:, 1], atol=1e-12)
    np.testing.assert_array_equal(decisions[:, 2], 0.0)
    assert not interrupted.converged_


def test_interrupted_is_not_converged() -> None:
    X, y = two_clouds(80)
    model = model_of(Stratified).set_params(engine=interrupt_at(1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not model.converged_


# At rest


@pytest.mark.parametrize("kind", [Stratified, Clustered])
def test_loop_ends_when_no_dual_moves(kind: type) -> None:
    """At a tolerance so loose that what was carried up is good enough."""
    X, y = two_clouds(160)
    loose = {"tol": 0.9, "fit_intercept": False}
    model = model_of(kind).set_params(**loose).fit(X, y)
    assert model.level_ > 0
    assert model.history_["movement"][-1] == 0.0
    assert np.all(model.history_["movement"][1:-1] > 0.0)
    same_model(model, model_of(kind, stop_level=model.level_).set_params(**loose).fit(X, y), X)
