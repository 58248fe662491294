"""Linear classifiers on an engine: the same models, rows in blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

from engines_under_test import CarryingEngine
from widemargin import LinearODMClassifier, LinearSVMClassifier
from widemargin.core import blocks
from widemargin.engines import LocalEngine
from widemargin.linear import block_problem, problems
from widemargin.linear import blocks as linear_blocks
from widemargin.linear.solvers import starts

MACHINES = [
    LinearODMClassifier(C=0.3),
    LinearSVMClassifier(C=0.3),
    LinearSVMClassifier(loss="hinge", C=0.3),
]


@pytest.fixture(params=["dense", "sparse"])
def rows(request):
    X, y = make_classification(3000, 15, n_informative=8, n_classes=3, flip_y=0.1, random_state=0)
    X[np.abs(X) < 0.5] = 0.0
    return (X if request.param == "dense" else sp.csr_matrix(X)), y


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 700)


def objectives(model):
    """Sum over the binary problems of the objective, from the certificate."""
    history = model.history_
    return sum(history["primal"][history["problem"] == k].min() for k in range(3))


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
@pytest.mark.parametrize("solver", ["newton", "auto"])
def test_same_model_as_without_an_engine(machine, solver, rows):
    X, y = rows
    settings = {"solver": solver, "tol": 1e-9, "max_iter": 10_000}
    alone = clone(machine).set_params(**settings).fit(X, y)
    divided = clone(machine).set_params(**settings, engine=LocalEngine(2)).fit(X, y)
    assert divided.relative_gap_ <= 1e-9
    assert objectives(divided) == pytest.approx(objectives(alone), rel=1e-8)
    np.testing.assert_array_equal(divided.predict(X), alone.predict(X))


def test_dsvrg_takes_the_same_steps(rows):
    X, y = rows
    y = (y == 1).astype(int)
    settings = {"solver": "dsvrg", "n_parts": 4, "random_state": 0}
    alone = LinearODMClassifier(**settings).fit(X, y)
    divided = LinearODMClassifier(**settings, engine=LocalEngine(1)).fit(X, y)
    np.testing.assert_allclose(divided.coef_, alone.coef_, rtol=1e-10)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_what_a_process_remembers_only_saves_time(machine, rows, monkeypatch):
    X, y = rows
    settings = {"solver": "newton", "engine": LocalEngine(1), "tol": 1e-7}
    remembering = clone(machine).set_params(**settings).fit(X, y)
    monkeypatch.setattr(linear_blocks._states, "capacity", 0)
    forgetting = clone(machine).set_params(**settings).fit(X, y)
    np.testing.assert_array_equal(forgetting.coef_, remembering.coef_)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_many_features_are_solved_by_products(machine, monkeypatch):
    monkeypatch.setattr(block_problem, "SENT_SIZE", 4)
    X, y = make_classification(2000, 15, flip_y=0.1, random_state=1)
    settings = {"solver": "newton", "tol": 1e-5}
    alone = clone(machine).set_params(**settings).fit(X, y)
    divided = clone(machine).set_params(**settings, engine=LocalEngine(1)).fit(X, y)
    assert divided.relative_gap_ <= 1e-5
    best = alone.history_["primal"].min()
    assert divided.history_["primal"].min() == pytest.approx(best, rel=1e-4)


def test_a_start_from_a_sample(monkeypatch):
    X, y = make_classification(9000, 6, flip_y=0.1, random_state=1)
    monkeypatch.setattr(starts, "SAMPLE_ROWS", 5500)
    settings = {"solver": "newton", "engine": LocalEngine(1)}
    model = LinearODMClassifier(**settings).fit(X, y)
    assert model.converged_
    monkeypatch.setattr(starts, "LEAST_ROWS", 10**9)
    cold = LinearODMClassifier(**settings).fit(X, y)
    assert model.n_iter_ < cold.n_iter_


def test_weights_and_class_weights_go_along(rows):
    X, y = rows
    weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    weight[::7] = 0.0
    settings = {"class_weight": "balanced", "tol": 1e-9, "solver": "newton"}
    alone = LinearODMClassifier(**settings).fit(X, y, weight)
    divided = LinearODMClassifier(**settings, engine=LocalEngine(2)).fit(X, y, weight)
    np.testing.assert_allclose(divided.coef_, alone.coef_, atol=1e-4)


def test_solvers_that_need_all_rows_in_one_task_say_so(rows, monkeypatch):
    X, y = rows
    model = LinearODMClassifier(solver="dual", engine=LocalEngine(1), memory_limit=1000)
    with pytest.raises(ValueError, match="needs all rows in one task"):
        model.fit(X, y)
    monkeypatch.setattr(problems, "GATHERED_BYTES", 1000)
    assert model.set_params(solver="auto").fit(X, y).solver_ == "newton"


def test_a_warm_start_goes_on(rows):
    X, y = rows
    model = LinearODMClassifier(engine=LocalEngine(1), warm_start=True, tol=1e-6).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0


def test_a_time_budget_ends_it(rows):
    X, y = rows
    model = LinearODMClassifier(
        solver="newton", engine=LocalEngine(1), tol=1e-12, max_time=1e-9, C=100.0
    )
    with pytest.warns(UserWarning, match="max_time"):
        model.fit(X, y)
    assert not model.converged_


@pytest.mark.parametrize("method", ["fit_path", "fit_stream", "partial_fit"])
def test_what_an_engine_cannot_do_is_refused(method, rows):
    X, y = rows
    model = LinearODMClassifier(engine=LocalEngine(1))
    arguments = {
        "fit_path": (X, y, [1.0]),
        "fit_stream": ([(X, y)],),
        "partial_fit": (X, y, [0, 1]),
    }
    with pytest.raises(ValueError, match="works in this process alone"):
        getattr(model, method)(*arguments[method])
    with pytest.raises(ValueError, match="`validation_fraction` is for engine='local' alone"):
        model.set_params(validation_fraction=0.1).fit(X, y)


def test_an_engine_must_be_one():
    with pytest.raises(ValueError, match="engine"):
        LinearODMClassifier(engine="cloud").fit([[0.0], [1.0]], [0, 1])


def test_options_of_single_solvers_count(rows):
    X, y = rows
    settings = {"solver": "pegasos", "max_iter": 3, "random_state": 0, "tol": 0.5}
    single, batch = (
        LinearSVMClassifier(**settings, batch_size=size, engine=LocalEngine(1)).fit(X, y)
        for size in (1, 50)
    )
    alone = LinearSVMClassifier(**settings, batch_size=50).fit(X, y)
    assert not np.allclose(single.coef_, batch.coef_)
    np.testing.assert_array_equal(batch.coef_, alone.coef_)


def test_given_validation_rows_choose_the_iterate(rows):
    X, y = rows
    engine = CarryingEngine()
    model = LinearODMClassifier(C=10.0, tol=1e-9, engine=engine)
    model.fit(X[:2000], y[:2000], X_val=X[2000:], y_val=y[2000:])
    assert model.solver_ == "newton"
    assert len(model.history_["validation_score"]) == len(model.history_["primal"])
    with pytest.raises(ValueError, match="are for the solvers 'auto', 'newton' and 'dsvrg'"):
        model.set_params(solver="dual").fit(X, y, X_val=X, y_val=y)


@pytest.mark.parametrize("solver", ["auto", "newton", "dsvrg", "dual"])
def test_an_engine_that_shares_nothing(solver, rows):
    X, y = rows
    settings = {"solver": solver, "random_state": 0, "tol": 1e-4}
    here = LinearODMClassifier(**settings, engine=LocalEngine(1)).fit(X, y)
    there = LinearODMClassifier(**settings, engine=CarryingEngine()).fit(X, y)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9, atol=1e-12)
    assert there.history_.keys() == here.history_.keys()
    assert (there.n_iter_, there.solver_) == (here.n_iter_, here.solver_)
