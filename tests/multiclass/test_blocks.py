"""Multi-class problems on blocks of other processes: the models of one block in this one."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_classification

from engines_under_test import CarryingEngine
from widemargin import MulticlassSVMClassifier, _native
from widemargin.core import blocks
from widemargin.core.blocks import RowBlock
from widemargin.core.budget import Budget
from widemargin.core.history import CERTIFIED, History
from widemargin.core.rows import as_rows
from widemargin.engines import LocalEngine
from widemargin.multiclass import fit as multiclass_fit
from widemargin.multiclass.problem import MulticlassObjective, MulticlassProblem
from widemargin.multiclass.solvers import newton, newton_blocks, solve
from widemargin.multiclass.solvers.bundles import BundleLayout, BundleState

SOLVERS = [("ww", "tournament"), ("ww", "newton"), ("llw", "newton")]


def rows(n_classes=6, n=240, seed=0):
    X, y = make_classification(
        n,
        12,
        n_informative=8,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=seed,
    )
    return X / 4, y


def codes(y):
    return y.astype(np.int32)


def model(formulation, solver, engine, **more):
    settings = {"C": 0.5, "random_state": 3, "tol": 1e-3, **more}
    return MulticlassSVMClassifier(formulation, solver=solver, engine=engine, **settings)


def objective(found):
    return found.history_["primal"][-1]


def both(formulation, solver, X, y, weight=None, **more):
    here = model(formulation, solver, "local", **more).fit(X, y, weight)
    there = model(formulation, solver, CarryingEngine(), **more).fit(X, y, weight)
    assert there.solver_ == here.solver_
    assert there.n_iter_ == here.n_iter_
    assert objective(there) == pytest.approx(objective(here), rel=1e-10)
    assert there.predict(X).tolist() == here.predict(X).tolist()
    return here, there


@pytest.fixture
def small_blocks(monkeypatch):
    """Let few rows be several blocks."""

    monkeypatch.setattr(blocks, "BLOCK_ROWS", 50)


@pytest.mark.parametrize(("formulation", "solver"), SOLVERS)
def test_rows_elsewhere_give_the_same_model(formulation, solver, small_blocks):
    X, y = rows()
    here, there = both(formulation, solver, X, y)
    assert np.abs(there.coef_ - here.coef_).max() <= 1e-9 * np.abs(here.coef_).max()
    assert there.converged_


@pytest.mark.parametrize("formulation", ["ww", "llw", "cs", "ovr"])
def test_small_sets_are_solved_in_one_place(formulation, small_blocks):
    X, y = rows()
    here, there = both(formulation, "auto", X, y)
    assert np.array_equal(there.coef_, here.coef_)
    assert there.history_.keys() == here.history_.keys()


@pytest.mark.parametrize(
    ("formulation", "solver"),
    [("ww", "dual"), ("cs", "dual"), ("llw", "dual"), ("ovr", "dual"), ("llw", "printed")],
)
def test_solvers_that_need_all_rows_gather_them(formulation, solver, small_blocks):
    X, y = rows()
    here, there = both(formulation, solver, X, y, tol=0.1)
    assert np.array_equal(there.coef_, here.coef_)


@pytest.mark.parametrize("formulation", ["ww", "llw"])
@pytest.mark.parametrize("threads", [1, 2])
def test_several_blocks_in_this_process(formulation, threads):
    X, y = rows()
    objective = MulticlassObjective(12, 6, formulation, 0.5, constant=1.0)
    whole = RowBlock("all", X, y.astype(np.int32))
    one = MulticlassProblem.of_block(objective, LocalEngine(threads), whole)
    pieces = [RowBlock(f"{k}", X[k::3], whole.codes[k::3]) for k in range(3)]
    several = replace(one, blocks=pieces)
    order = np.concatenate([np.arange(k, len(y), 3) for k in range(3)])
    found = [solve("newton", problem, Budget(), History(CERTIFIED)) for problem in (one, several)]
    assert found[0].iterations == found[1].iterations
    weights, duals = ([getattr(f.iterate, n) for f in found] for n in ("weights", "duals"))
    assert np.abs(weights[1] - weights[0]).max() <= 1e-9 * np.abs(weights[0]).max()
    assert np.abs(duals[1] - duals[0][order]).max() <= 1e-9


@pytest.mark.parametrize(("formulation", "solver"), SOLVERS)
def test_sparse_rows_weights_and_class_weights(formulation, solver, small_blocks):
    X, y = rows(5)
    X = sp.csr_matrix(np.where(np.abs(X) > 0.2, X, 0.0).astype(np.float32))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    both(formulation, solver, X, y, weight, class_weight="balanced", fit_intercept=False)


def test_weights_in_lists_take_up_the_same_classes(small_blocks):
    rng = np.random.default_rng(0)
    X = sp.random(300, 400, 0.03, "csr", random_state=rng)
    y = rng.integers(0, 40, 300)
    y[:40] = np.arange(40)
    here, there = both("ww", "tournament", X, y, memory_limit=2 * 40 * 401 * 8 - 2)
    assert there.density_ == here.density_
    assert np.abs(there.coef_ - here.coef_).max() <= 1e-9
    dense = np.ascontiguousarray(X.toarray()[:120])  # fewer, as two bundles must fit the limit
    both("ww", "tournament", dense, y[:120], memory_limit=2 * 40 * 401 * 8 - 2)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_few_classes(n_classes, small_blocks):
    X, y = make_blobs(60, 3, centers=n_classes, random_state=1)
    for formulation, solver in SOLVERS:
        both(formulation, solver, X / 5, y)


def test_classes_of_one_row_and_empty_rows(small_blocks):
    X, y = rows(5)
    X, y = np.vstack([X, np.zeros((3, 12)), X[:2] + 1]), np.append(y, [0, 1, 2, 5, 6])
    for formulation, solver in SOLVERS:
        both(formulation, solver, X, y, fit_intercept=False)


def test_bytes_that_travel_are_counted(small_blocks):
    X, y = rows()
    _, there = both("ww", "tournament", X, y)
    moved = there.history_["bytes_moved"]
    assert moved[0] == 0
    assert np.all(np.diff(moved) > 0)
    # Two bundles of half the weights each go there and back in each of three rounds at least.
    assert moved[-1] >= there.n_iter_ * 3 * X.shape[1] * 6 * 8


def test_iterations_end_a_fit_and_it_says_so(small_blocks):
    from sklearn.exceptions import ConvergenceWarning

    X, y = rows()
    for formulation, solver in SOLVERS:
        with pytest.warns(ConvergenceWarning, match="did not converge"):
            found = model(formulation, solver, CarryingEngine(), max_iter=1, tol=1e-9).fit(X, y)
        assert found.n_iter_ == 1
        assert 0 < found.relative_gap_ < 1


def test_multipliers_do_not_travel():
    X, y = rows()
    with pytest.raises(ValueError, match=r"`warm_start` works in this process alone.*local"):
        model("ww", "tournament", CarryingEngine(), warm_start=True).fit(X, y)


@pytest.mark.parametrize("formulation", ["cs", "ovr", "ww"])
def test_what_needs_one_task_is_refused_beyond_the_memory_limit(formulation):
    X, y = rows()
    with pytest.raises(ValueError, match=r"needs all rows in one task.*blocks.*raise the limit"):
        model(formulation, "dual", CarryingEngine(), memory_limit=1000).fit(X, y)


def test_matches_larger_than_a_task_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match=r"two bundles of classes in one task.*Raise the limit"):
        model("ww", "tournament", CarryingEngine(), memory_limit=5000).fit(X, y)


def test_auto_leaves_large_sets_where_they_are(monkeypatch):
    monkeypatch.setattr(multiclass_fit, "GATHERED_BYTES", 0)
    X, y = rows()
    assert model("llw", "auto", CarryingEngine()).fit(X, y).solver_ == "newton"
    assert model("ww", "auto", CarryingEngine()).fit(X, y).solver_ == "newton"
    monkeypatch.setattr(newton, "MOST_WEIGHTS", {"ww": 10, "llw": 10})
    for formulation in ("ww", "llw", "cs", "ovr"):
        found = model(formulation, "auto", CarryingEngine(), tol=0.05).fit(X, y)
        assert found.solver_ == "blocks"
        assert found.converged_
    room = blocks.bytes_of(X)  # for the rows, but not for six matrices of the weights
    small = MulticlassObjective(10_000, 6, "llw", 1.0)
    problem = MulticlassProblem.of_block(small, CarryingEngine(), RowBlock("all", X, codes(y)))
    assert multiclass_fit.choose("auto", problem, room) == "auto"
    assert multiclass_fit.choose("auto", problem, 2**30) == "blocks"
    with pytest.raises(ValueError, match=r"takes at most 10 weights"):
        model("llw", "newton", CarryingEngine()).fit(X, y)


def test_what_a_process_remembers_only_saves_time(monkeypatch, small_blocks):
    X, y = rows()
    kept = model("llw", "newton", CarryingEngine()).fit(X, y)
    monkeypatch.setattr(newton_blocks._process_memory, "capacity", 0)
    forgotten = model("llw", "newton", CarryingEngine()).fit(X, y)
    assert np.array_equal(kept.coef_, forgotten.coef_)


@pytest.mark.parametrize("dense", [True, False])
def test_a_bundle_that_travelled_is_the_same(dense):
    rng = np.random.default_rng(0)
    layout = BundleLayout((np.array([0, 2]), np.array([1, 3, 4])), 7, dense)
    weights = np.where(rng.random((3, 7)) < 0.6, rng.normal(size=(3, 7)), 0.0)
    duals = (rng.random(4), np.array([0, 1, 0, 4], np.int32), np.array([0, 2, 2, 4]))
    bundle = BundleState(weights, duals).bundle(layout, 1, np.arange(3))
    assert np.array_equal(bundle.dense_weights(), weights)
    again = BundleState.of(bundle, layout)
    for before, after in zip(duals, again.duals, strict=True):
        assert np.array_equal(before, after)
    none, ones = np.zeros(3, dtype=np.int32), np.ones(3)
    problem = _native.MulticlassProblem64(as_rows(np.ones((3, 7))), none, ones, ones, 5, 0.0)
    assert (again.dual_sum(), 0.0) == problem.dual_sums("ww", bundle)
    assert again.squared_norm() == pytest.approx(bundle.squared_norm(), rel=1e-14)
