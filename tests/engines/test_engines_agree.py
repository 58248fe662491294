"""The loop needs nothing but the verbs: an engine that shares no memory gives the same models."""

import io
import threading
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris

from engines_under_test import CarryingEngine, OwningEngine, cloudpickle
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
from widemargin.kernel.divide import placing

STRATEGIES = (Stratified, Clustered, Cascade, Preserving)
strategies = pytest.mark.parametrize("kind", STRATEGIES)
MODELS = {
    "hinge": SVMClassifier(random_state=0),
    "squared_hinge": SVMClassifier(loss="squared_hinge", random_state=0),
    "odm": ODMClassifier(random_state=0),
}
losses = pytest.mark.parametrize("loss", MODELS)


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows lie before they are divided must not matter."""
    monkeypatch.setattr(placing, "BLOCK_BYTES", 700)


def fit_away(model: KernelMachine, engine: CarryingEngine, *data: Any) -> KernelMachine:
    """Fit a copy of a model on an engine, with a standard error that can be pickled."""
    with redirect_stderr(io.StringIO()):
        return clone(model).set_params(engine=engine).fit(*data)


def same_model(a: KernelMachine, b: KernelMachine, X: Any) -> None:
    """To the bit."""
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    assert a.history_.keys() == b.history_.keys()
    for name in set(a.history_) - {"seconds"}:
        np.testing.assert_array_equal(a.history_[name], b.history_[name])


@strategies
@losses
@pytest.mark.parametrize("stop_level", [0, 1])
def test_parts_that_travel(kind: type, loss: str, stop_level: int) -> None:
    X, y = two_clouds(160)
    model = clone(MODELS[loss]).set_params(strategy=kind(levels=2, fan_in=2, stop_level=stop_level))
    engine = CarryingEngine()
    travelled = fit_away(model, engine, X, y)
    same_model(travelled, model.fit(X, y), X)
    assert {"map", "regroup", "reduce"} <= set(engine.calls)


@strategies
@losses
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_parts_that_own_their_rows(kind: type, loss: str, form: str) -> None:
    """No part is asked for rows of another, and none keeps more than its own."""
    X, y = two_clouds(160)
    rows = sp.csr_matrix(X) if form == "csr" else X
    weights = 1.0 + np.arange(160) % 3
    model = clone(MODELS[loss]).set_params(strategy=kind(levels=2, fan_in=2))
    travelled = fit_away(model, OwningEngine(), rows, y, weights)
    same_model(travelled, model.fit(rows, y, weights), X)


class Notebook(io.StringIO):
    """A stream that cannot be pickled, as that of a notebook or a test runner."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_progress_stays_at_home() -> None:
    X, y = two_clouds(60)
    strategy = Stratified(levels=1, fan_in=2)
    with redirect_stderr(Notebook()):
        SVMClassifier(strategy=strategy, engine=CarryingEngine()).fit(X, y)


def test_engine_stays_at_home() -> None:
    """An engine may hold a connection, which no worker can have."""
    X, y = two_clouds(60)
    engine = CarryingEngine()
    engine.connection = threading.Lock()  # type: ignore[attr-defined]
    strategy = Stratified(levels=1, fan_in=2, stop_level=1)
    SVMClassifier(strategy=strategy, engine=engine).fit(X, y)


@strategies
def test_travelling_with_everything(kind: type) -> None:
    """Several classes, validation, sparse rows, weights."""
    X, y = load_iris(return_X_y=True)
    weights = 1.0 + np.arange(150) % 2
    strategy = kind(levels=2, fan_in=2, validation_fraction=0.2)
    model = SVMClassifier(strategy=strategy, multi_class="ovo", fit_intercept=True, random_state=0)
    rows = sp.csr_matrix(X)
    travelled = fit_away(model, CarryingEngine(), rows, y, weights)
    same_model(travelled, model.fit(rows, y, weights), X)


def test_kernel_values_stay() -> None:
    X, y = two_clouds(100)
    strategy = Stratified(levels=1, fan_in=2)
    model = ODMClassifier("precomputed", strategy=strategy, engine=CarryingEngine())
    with pytest.raises(ValueError, match=r"a kernel given as values .* cannot leave"):
        model.fit(X @ X.T, y)


def test_checkpoints_of_parts_that_travel(tmp_path: Path) -> None:
    """A level kept by one engine is taken up by another."""
    X, y = two_clouds(160)
    for kind in STRATEGIES:
        first = SVMClassifier(strategy=kind(levels=2, fan_in=2, stop_level=1), random_state=0)
        first.set_params(checkpoint=tmp_path / kind.__name__).fit(X, y)
        model = clone(first).set_params(strategy=kind(levels=2, fan_in=2))
        engine = CarryingEngine()
        resumed = fit_away(model, engine, X, y)
        assert engine.calls.count("map") <= 2  # what is carried up, and the root alone
        assert_allclose_models(resumed, model.set_params(checkpoint=None).fit(X, y), X)


def assert_allclose_models(a: KernelMachine, b: KernelMachine, X: Any) -> None:
    """To rounding: what a part stands for is summed up from other pieces."""
    np.testing.assert_allclose(a.dual_coef_, b.dual_coef_, rtol=1e-9)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-9)


def test_a_task_with_too_little_memory() -> None:
    X, y = two_clouds(160)
    strategy = Stratified(levels=1, fan_in=2)
    model = SVMClassifier(strategy=strategy, engine=CarryingEngine(), memory_limit="20kB")
    with pytest.raises(ValueError, match=r"`memory_limit` must be at least .* for level 1"):
        model.fit(X, y)
    model.set_params(strategy=Stratified(levels=0))
    with pytest.raises(ValueError, match=r"bytes to solve 160 rows; got 20000. Raise it, or div"):
        model.fit(X, y)


class WeighingEngine(CarryingEngine):
    """Notes the size of everything that is sent to the parts."""

    heaviest = 0

    def _weigh(self, *sent: object) -> None:
        self.heaviest = max(self.heaviest, *(len(cloudpickle.dumps(each)) for each in sent))

    def map(self, parts: Any, fn: Any, report: Any = None) -> Any:
        self._weigh(fn)
        return super().map(parts, fn)

    def regroup(self, parts: Any, split: Any, combine: Any, n_to: int) -> Any:
        self._weigh(split, combine)
        return super().regroup(parts, split, combine, n_to)

    def reduce(self, parts: Any, fn: Any, combine: Any) -> Any:
        result = super().reduce(parts, fn, combine)
        self._weigh(fn, combine)
        return result

    def visit(self, parts: Any, i: int, fn: Any, value: Any) -> Any:
        result = super().visit(parts, i, fn, value)
        self._weigh(fn, value, result)
        return result


@pytest.mark.parametrize("kind", [Stratified, Clustered, Cascade])
def test_no_data_travel_with_the_work(kind: type) -> None:
    """Samples for landmarks and clusters do, at most; the training set of a megabyte does not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 320))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, 1, 0)
    sizes = {Stratified: {"n_strata": 4}, Clustered: {"n_sample": 16}, Cascade: {}}[kind]
    strategy = kind(levels=1, fan_in=2, **sizes)
    engine = WeighingEngine()
    fit_away(SVMClassifier(strategy=strategy, random_state=0), engine, X, y)
    assert X.nbytes > 1_000_000
    assert engine.heaviest < 60_000  # sixteen rows of the sample are 40 kB
