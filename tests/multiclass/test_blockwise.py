"""Ascent in all parts at the same time, against an outside solver and the solvers of one memory."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from multiclass_cases import case_of, solved
from sklearn.exceptions import ConvergenceWarning

from engines_under_test import CarryingEngine
from multiclass_oracle import objective, optimum
from widemargin import MulticlassSVMClassifier, _native
from widemargin.core import blocks
from widemargin.core.blocks import RowBlock
from widemargin.core.budget import Budget
from widemargin.core.history import CERTIFIED, History
from widemargin.core.outcome import Outcome
from widemargin.engines import LocalEngine
from widemargin.multiclass.problem import MulticlassObjective, MulticlassProblem
from widemargin.multiclass.solvers import ascent_rows, blockwise, solve
from widemargin.multiclass.solvers.ascent_rows import DealByContents, part_count

FORMULATIONS = ["llw", "cs", "ww", "ovr"]


def texts(n=150, d=120, k=6, seed=0):
    """Return sparse rows of unit length, a few words each, some of them the class's own."""
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), random.integers(0, k, n - k)]).astype(np.int32)
    words = random.zipf(1.3, (n, 10)) % d
    words[:, :2] = (codes[:, None] * 17 + random.integers(0, 5, (n, 2))) % d
    X = np.zeros((n, d))
    np.add.at(X, (np.arange(n)[:, None], words), 1.0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), codes


def case(formulation, C=1.0, constant=1.0, dtype=np.float64, **size):
    X, codes = texts(**size)
    k = int(codes.max()) + 1
    return case_of(X, codes, k, formulation, C, constant, sparse=True, dtype=dtype, threads=1)


def model(formulation, engine="local", **more):
    settings = {"solver": "blocks", "tol": 1e-2, "random_state": 3, **more}
    return MulticlassSVMClassifier(formulation, engine=engine, **settings)


@pytest.fixture
def small_blocks(monkeypatch):
    """Let few rows be several blocks."""
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 40)


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_objective_is_an_outside_solvers(formulation, constant):
    problem = case(formulation, 2.0, constant, n=60, d=30, k=5)
    found = solved(problem, "blocks", tol=1e-3)
    best = optimum(
        problem.all_features, problem.codes, problem.n_classes, problem.bound, formulation
    )
    assert found.outcome is Outcome.CONVERGED
    assert found.certificate.dual <= best * (1 + 1e-7)
    assert best * (1 - 1e-7) <= found.certificate.primal <= best * (1 + 1.1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_certificate_is_that_of_the_weights(formulation, dtype):
    problem = case(formulation, 5.0, dtype=dtype)
    found = solved(problem, "blocks", tol=1e-2)
    assert found.outcome is Outcome.CONVERGED
    W = np.asarray(sp.csr_array(found.iterate.weights).toarray())
    value = objective(W, problem.all_features, problem.codes, problem.bound, formulation)
    assert found.certificate.primal == pytest.approx(value, rel=1e-9)
    assert found.certificate.relative_gap <= 1e-2
    if formulation == "llw":
        assert np.abs(W.sum(axis=0)).max() <= 1e-11 * np.abs(W).max()


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_bounds_hold_in_every_pass(formulation):
    problem = case(formulation, 5.0)
    best = solved(problem, "dual", tol=1e-6, max_iter=50_000).certificate
    history = History(CERTIFIED)
    solved(problem, "blocks", history=history, tol=1e-2)
    table = history.table()
    assert np.all(table["dual"] <= best.primal * (1 + 1e-9))
    assert np.all(table["primal"] >= best.dual * (1 - 1e-9))
    assert np.all(np.diff(table["dual"]) >= 0)
    assert np.all(np.diff(table["primal"]) <= 0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_rows_elsewhere_give_the_same_model(formulation, small_blocks):
    X, y = texts()
    X = sp.csr_matrix(X)
    here, there = model(formulation).fit(X, y), model(formulation, CarryingEngine()).fit(X, y)
    assert here.solver_ == there.solver_ == "blocks"
    assert there.n_iter_ == here.n_iter_
    assert np.array_equal(abs(there.coef_ - here.coef_).max(), 0.0)
    assert there.converged_
    one = model(formulation, solver="dual", tol=1e-4).fit(X, y)
    assert there.history_["primal"][-1] == pytest.approx(one.history_["primal"][-1], rel=1.1e-2)
    assert np.mean(there.predict(X) == one.predict(X)) >= 0.98


def dealt(codes, X, weight, block_rows, n_parts=3):
    """Return the parts of rows that lie in blocks of some size."""
    deal = DealByContents(MulticlassObjective(X.shape[1], 6, "cs", 1.0), n_parts)
    engine = CarryingEngine()
    pieces = [
        RowBlock(str(k), X[k : k + block_rows], codes[k : k + block_rows], weight[k:][:block_rows])
        for k in range(0, len(codes), block_rows)
    ]
    parts = engine.regroup(engine.scatter(pieces), deal.split, deal.combine, n_parts)
    return [pickle.loads(part) for part in parts]


def test_parts_depend_on_the_contents_of_rows_alone():
    X, codes = texts()
    X, weight = sp.csr_matrix(X), np.ones(len(codes))
    order = np.random.default_rng(1).permutation(len(codes))
    doubled = np.append(order, order[:10])
    weights = np.ones(len(codes))
    weights[order[:10]] = 2.0
    first = dealt(codes, X, weights, 50)
    again = dealt(codes[doubled], X[doubled], np.append(weight, weight[:10]), 31)
    assert len(first) == len(again) == 3
    distinct = len(np.unique(np.column_stack([X.toarray(), codes]), axis=0))
    assert sum(part.n_rows for part in first) == distinct
    for one, other in zip(first, again, strict=True):
        assert (one.problem.X != other.problem.X).nnz == 0
        assert np.array_equal(one.problem.codes, other.problem.codes)
        assert np.array_equal(one.problem.bound, other.problem.bound)
        assert one.number == other.number


def test_the_number_of_parts_follows_from_the_rows(monkeypatch):
    problem = case("cs").posed()
    assert part_count(problem, 2**30) == ascent_rows.FEWEST_PARTS
    monkeypatch.setattr(ascent_rows, "PART_VALUES", problem.stored // 7)
    assert part_count(problem, 2**30) == 8
    assert part_count(problem, problem.stored_bytes) == 8
    assert part_count(problem, problem.stored_bytes // 4) == 16
    assert part_count(replace(problem, n_rows=2), 2**30) == 2


@pytest.mark.parametrize("formulation", ["cs", "ww", "ovr"])
def test_weights_in_lists_are_solved_too(formulation, small_blocks):
    X, y = texts(n=200, d=500, k=40)
    X = sp.csr_matrix(X)
    dense = model(formulation).fit(X, y)
    lists = model(formulation, CarryingEngine(), memory_limit=2 * 40 * 501 * 8 - 2).fit(X, y)
    assert lists.converged_
    assert lists.history_["primal"][-1] == pytest.approx(dense.history_["primal"][-1], rel=1e-2)
    limit = lists.history_["bytes_moved"][-1] / (lists.n_iter_ * 2 * 40 * 501 * 8)
    assert limit < 1.5 * lists.density_ + 0.5


class WeighingEngine(CarryingEngine):
    """Weighs the largest value that parts send back."""

    largest = 0

    def _run(self, fn, part):
        value = super()._run(fn, part)
        if self.calls[-1] == "reduce":
            self.largest = max(self.largest, len(value))
        return value


def test_what_comes_back_does_not_grow_with_the_rows():
    sizes = []
    for n in (150, 600):
        X, y = texts(n)
        engine = WeighingEngine()
        with pytest.warns(ConvergenceWarning):
            model("llw", engine, max_iter=2, tol=1e-6).fit(X, y)
        sizes.append(engine.largest)
        assert "together" not in engine.calls
    assert sizes[1] <= sizes[0] + 100


def test_dense_rows_weights_few_classes_and_empty_rows():
    X, y = texts(n=80, d=12, k=3)
    X, y = np.vstack([X, np.zeros((2, 12))]), np.append(y, [0, 1])
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for formulation in FORMULATIONS:
        settings = {"class_weight": "balanced", "fit_intercept": False, "tol": 1e-3}
        found = model(formulation, **settings).fit(X, y, weight)
        one = model(formulation, solver="dual", **settings).fit(X, y, weight)
        assert found.converged_
        assert found.history_["primal"][-1] == pytest.approx(one.history_["primal"][-1], rel=2e-3)
        two = model(formulation, **settings).fit(X[y < 2], y[y < 2])
        assert two.coef_.shape == (1, 12)
        assert two.converged_


def test_limits_end_a_fit_and_it_says_so():
    X, y = texts()
    for limit in ({"max_iter": 2}, {"max_time": 1e-3}):
        with pytest.warns(ConvergenceWarning, match="did not converge"):
            found = model("cs", CarryingEngine(), tol=1e-9, **limit).fit(X, y)
        assert found.n_iter_ <= 2
        moved = found.history_["bytes_moved"]
        assert moved[0] == 0
        assert np.all(np.diff(moved) > 0)


def test_the_seed_orders_visits():
    problem = case("cs", 5.0)
    one, same, other = (solved(problem, "blocks", tol=1e-2, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.iterate.weights, same.iterate.weights)
    assert not np.array_equal(one.iterate.weights, other.iterate.weights)


def test_several_threads_find_the_same():
    X, codes = texts()
    objective = MulticlassObjective(120, 6, "llw", 5.0, constant=1.0)
    found = []
    for threads in (1, 2):
        block = RowBlock("all", sp.csr_matrix(X), codes)
        problem = MulticlassProblem.of_block(objective, LocalEngine(threads), block)
        found.append(solve("blocks", problem, Budget(tol=1e-2), History(CERTIFIED)))
    assert np.array_equal(found[0].iterate.weights, found[1].iterate.weights)


def test_what_it_cannot_do_is_refused():
    X, y = texts()
    with pytest.raises(ValueError, match=r"`warm_start` needs multipliers.*warm_start=False"):
        model("cs", warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"weights of formulation='llw' are dense.*Raise it"):
        model("llw", memory_limit=20_000).fit(X, y)
    assert blockwise.MATRICES * 8 * 121 * 6 > 20_000


def test_a_bundle_takes_dense_weights():
    weights = np.random.default_rng(0).normal(size=(5, 19))
    bundle = _native.ClassBundle(0, 5, 19, True, np.arange(0))
    bundle.add_dense_weights(weights)
    assert np.array_equal(bundle.dense_weights(), weights)
    bundle.add_dense_weights(weights)
    assert np.array_equal(bundle.dense_weights(), 2 * weights)
    with pytest.raises(ValueError, match="one row per class and one column per feature"):
        bundle.add_dense_weights(weights.T.copy())
    with pytest.raises(ValueError, match="must be dense"):
        _native.ClassBundle(0, 5, 19, False, np.arange(0)).add_dense_weights(weights)
