"""The methods against plain versions of them, and against the pooled optimum."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_classification

from reference import gossip as reference
from widemargin.core.budget import Budget
from widemargin.core.losses import Hinge, LossConstants, MarginDistribution, SquaredHinge
from widemargin.gossip import graph_of
from widemargin.gossip.faults import NetworkFaults
from widemargin.gossip.methods import Consensus, Gadget, Tracking
from widemargin.gossip.simulation import Simulation, Stopping, Talking
from widemargin.linear.history import LinearHistory
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers import solve

LOSSES = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "odm": MarginDistribution(0.5, 0.2)}
SITES = 6


def rows(n=300, skewed=False, seed=0):
    X, y = make_classification(n, 8, n_informative=5, flip_y=0.1, random_state=seed)
    label = np.where(y == 1, 1, -1).astype(np.int8)
    order = np.argsort(label, kind="stable") if skewed else np.arange(n)
    return np.ascontiguousarray(X[order]), label[order]


def problem_of(loss="odm", C=0.1, skewed=False, threads=1, n=300):
    X, label = rows(n, skewed)
    return LinearProblem(X, label, LossConstants.of(LOSSES[loss], C), threads=threads)


# Uneven on purpose: one site has no rows.
def starts(n=300):
    return np.array([0, n // 10, n // 5, n // 5, n // 2, 3 * n // 5, n], dtype=np.int64)


def simulate(problem, method, topology="ring", *, rule="never", tol=1e-3, **settings):
    return Simulation(
        problem,
        starts(problem.n_rows),
        graph_of(topology, SITES),
        method,
        stopping=Stopping(rule, tol),
        **settings,
    )


def optimum(problem):
    name = "newton" if problem.constants.smooth else "dual"
    budget = Budget(tol=1e-8, max_iter=100_000)
    dual = None if name == "newton" else np.zeros(problem.n_rows)
    return solve(name, problem, np.zeros(problem.size), budget, LinearHistory(), dual).certificate


def parts_of(problem):
    bounds = starts(problem.n_rows)
    return [
        (problem.X[a:b], problem.label[a:b].astype(float)) for a, b in itertools.pairwise(bounds)
    ]


def implied(problem):
    terms = LOSSES["odm"].terms(np.array([1.0 / problem.constants.below]))
    return lambda margin: terms.implied_dual(margin)


@pytest.mark.parametrize("weights", ["metropolis", "random_walk"])
def test_gadget_takes_the_steps_of_the_plain_version(weights):
    problem = problem_of()
    method = Gadget(batch_size=None, average=False)
    simulation = simulate(problem, method, "star", talking=Talking(weights=weights))
    simulation.network.run(12)
    matrix = reference.weight_matrix(simulation.topology, weights)
    offset = float(np.sum(problem.squared_norms / problem.constants.below))
    expected = reference.gadget(parts_of(problem), implied(problem), matrix, 12, offset)
    np.testing.assert_allclose(simulation.network.models(), expected, rtol=1e-9, atol=1e-12)


def test_tracking_takes_the_steps_of_the_plain_version():
    problem = problem_of()
    simulation = simulate(problem, Tracking(), "grid")
    simulation.network.run(12)
    piece = np.ones(problem.n_rows, dtype=np.int8)
    p = np.ones(problem.size)
    for _ in range(20):
        p = problem.curvature_product(piece, p / np.linalg.norm(p))
    step = 1.0 / (2.2 * np.linalg.norm(p))
    matrix = reference.weight_matrix(simulation.topology)
    expected = reference.push_diging(parts_of(problem), implied(problem), matrix, 12, step)
    np.testing.assert_allclose(simulation.network.models(), expected, rtol=1e-9, atol=1e-12)


def test_consensus_takes_the_steps_of_the_plain_version():
    problem = problem_of()
    method = Consensus(penalty=4.0, epochs=300, relaxation=0.6)
    simulation = simulate(problem, method, "ring")
    simulation.network.run(5)
    C = 1.0 / problem.constants.below
    terms = LOSSES["odm"].terms(np.array([C]))

    def minimise(part, curvature, pull):
        X, y = part

        def value(w):
            margin = y * (X @ w)
            loss = terms.primal(margin).sum()
            slope = (terms.implied_dual(margin) * y) @ X
            return curvature / 2 * w @ w - pull @ w + loss, curvature * w - pull - slope

        options = {"maxiter": 1000, "gtol": 1e-11}
        return minimize(value, np.zeros(len(pull)), jac=True, options=options).x

    total = C * float(problem.squared_norms.sum())
    rho = 4.0 * np.sqrt(1.0 + total) / simulation.topology.n_links
    expected = reference.consensus(
        parts_of(problem), minimise, simulation.topology, 5, rho, relaxation=0.6
    )
    np.testing.assert_allclose(simulation.network.models(), expected, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("topology", ["ring", "complete"])
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("loss_rate", [0.0, 0.3])
def test_consensus_reaches_the_pooled_optimum_at_every_site(loss, topology, skewed, loss_rate):
    problem = problem_of(loss, skewed=skewed)
    simulation = simulate(
        problem, Consensus(), topology, rule="gap", faults=NetworkFaults(loss=loss_rate)
    )
    end = simulation.run(5000)
    assert simulation.network.stopped
    best = optimum(problem)
    assert end.objective.max() <= best.primal * (1 + 1e-3)
    assert best.dual * (1 - 1e-9) <= end.objective.min()
    assert simulation.certificate.relative_gap <= 1e-3
    assert simulation.certificate.dual <= best.primal * (1 + 1e-9)
    assert len(end.objective) == SITES


TROUBLES = {
    "late": (NetworkFaults(delay=3, duplication=0.3, loss=0.1), Talking()),
    "asynchronous": (NetworkFaults(loss=0.2), Talking(asynchronous=True)),
    "asynchronous and late": (NetworkFaults(delay=2), Talking(asynchronous=True)),
    "one partner": (NetworkFaults(), Talking(partners="one")),
    "crash and return": (
        NetworkFaults(
            schedule=[(8, "crash", 1), (10, "crash", 4), (60, "return", 1), (70, "return", 4)]
        ),
        Talking(),
    ),
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("skewed", [False, True])
def test_consensus_stands_trouble(trouble, skewed):
    faults, talking = TROUBLES[trouble]
    problem = problem_of("hinge", skewed=skewed)
    simulation = simulate(problem, Consensus(), rule="gap", faults=faults, talking=talking)
    end = simulation.run(10_000)
    assert simulation.network.stopped
    assert end.objective.max() <= optimum(problem).primal * (1 + 2e-3)


def test_rows_of_a_site_that_left_count_no_longer():
    problem = problem_of("odm")
    faults = NetworkFaults(schedule=[(20, "leave", 5)])  # two fifths of the rows
    simulation = simulate(problem, Consensus(), "complete", faults=faults)
    simulation.run(1500)
    bounds = starts()
    rest = LinearProblem(problem.X[: bounds[5]], problem.label[: bounds[5]], problem.constants)
    best = optimum(rest).primal
    for model in simulation.network.models()[:5]:
        assert rest.evaluate(model).objective <= best * (1 + 1e-4)


def test_rows_of_a_site_that_joined_count():
    problem = problem_of("odm")
    faults = NetworkFaults(schedule=[(50, "join", 5)])
    simulation = simulate(problem, Consensus(), "complete", faults=faults)
    end = simulation.run(1500)
    assert end.objective.max() <= optimum(problem).primal * (1 + 1e-4)


@pytest.mark.parametrize("skewed", [False, True])
def test_gadget_and_tracking_approach_the_optimum(skewed):
    problem = problem_of("hinge", C=0.03, skewed=skewed)
    best = optimum(problem).primal
    exchanges = Talking(exchanges=20 if skewed else 2)
    for loss_rate in (0.0, 0.3):
        faults = NetworkFaults(loss=loss_rate)
        end = simulate(problem, Gadget(), talking=exchanges, faults=faults).run(3000)
        assert end.objective.max() <= best * 1.03
    smooth = problem_of("odm", C=0.03, skewed=skewed)
    end = simulate(smooth, Tracking()).run(3000)
    assert end.objective.max() <= optimum(smooth).primal * 1.001


def test_gadget_stops_where_the_objective_no_longer_falls():
    problem = problem_of("odm", C=0.03)
    simulation = simulate(problem, Gadget(batch_size=None), rule="gap", tol=1e-2)
    end = simulation.run(20_000)
    assert simulation.network.stopped
    assert end.objective.max() <= optimum(problem).primal * 1.02


def test_the_papers_rule_stops_early_and_counts_how_often():
    problem = problem_of("hinge", C=0.03)
    simulation = simulate(problem, Gadget(), rule="norm")
    simulation.run(20_000)
    assert simulation.network.stopped
    sites = simulation.network.sites()
    assert np.all(sites[:, 4] >= 1)
    assert sites[:, 5].max() == simulation.network.round


@pytest.mark.parametrize("robust", ["clip", "trim"])
def test_a_liar_is_limited(robust):
    problem = problem_of("odm", C=0.03, n=600)
    best = optimum(problem).primal
    faults = NetworkFaults(lies={2: "opposite"})
    honest = np.arange(SITES) != 2
    sound = simulate(problem, Gadget(robust=robust), "complete", faults=faults)
    sound.run(1000)
    reached = [problem.evaluate(w).objective for w in sound.network.models()[honest]]
    assert max(reached) <= 1.3 * best
    trusting = simulate(problem, Gadget(), "complete", faults=faults)
    trusting.run(1000)
    assert trusting.diverged or trusting.last.objective[honest].min() > 1.5 * best


@pytest.mark.parametrize("method", [Consensus(), Gadget(), Tracking()])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_same_seed_same_run_on_any_number_of_threads(method, asynchronous, monkeypatch):
    from widemargin.gossip import simulation as module

    monkeypatch.setattr(module, "THREADED_WORK", 0)
    faults = NetworkFaults(loss=0.3, delay=2, schedule=[(5, "crash", 1), (9, "return", 1)])
    talking = Talking(partners="one", asynchronous=asynchronous)
    runs = []
    for threads in (1, 2, 1):
        problem = problem_of("hinge", threads=threads)
        run = simulate(problem, method, faults=faults, talking=talking, seed=4)
        run.network.run(40)
        runs.append(run.network.models())
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])
    other = simulate(problem_of("hinge"), method, faults=faults, talking=talking, seed=5)
    other.network.run(40)
    assert not np.array_equal(runs[0], other.network.models())


def test_scores_of_many_models_are_those_of_each():
    problem = problem_of("hinge")
    models = np.random.default_rng(0).normal(size=(37, problem.size))
    loss, right = problem.native.score_models(models, 2)
    for k, w in enumerate(models):
        evaluation = problem.evaluate(w)
        assert loss[k] == pytest.approx(evaluation.objective - 0.5 * w @ w)
        assert right[k] == np.sum((problem.X @ w > 0) == (problem.label > 0))


@pytest.mark.parametrize("method", [Gadget(batch_size=None), Tracking()])
def test_sites_that_are_down_do_not_soak_up_all_mass(method):
    problem = problem_of("odm", C=0.03)
    schedule = [(20, "crash", 1), (20, "crash", 4), (200, "return", 1), (200, "return", 4)]
    simulation = simulate(problem, method, faults=NetworkFaults(schedule=schedule))
    simulation.network.run(200)
    up = simulation.network.sites()[:, 0] > 0
    worst = max(problem.evaluate(w).objective for w in simulation.network.models()[up])
    assert worst <= 1.5 * optimum(problem).primal
    simulation.network.run(800)
    assert simulation.network.total()[-1] == pytest.approx(SITES, abs=1e-9)


def test_sites_whose_rows_are_few_for_their_features_do_not_stop_too_soon():
    X, y = make_classification(300, 2000, n_informative=30, random_state=0)
    X = np.ascontiguousarray(X / X.std(axis=0) / np.sqrt(2000))
    label = np.where(y == 1, 1, -1).astype(np.int8)
    problem = LinearProblem(X, label, LossConstants.of(Hinge(), 10.0), constant=1.0)
    start = np.linspace(0, 300, 21).astype(np.int64)
    simulation = Simulation(
        problem, start, graph_of("ring", 20), Consensus(), stopping=Stopping("gap", 1e-2)
    )
    simulation.run(20_000)
    assert simulation.network.stopped
    assert simulation.certificate.relative_gap <= 1e-2
