"""The methods that gossip is measured against, on generated data."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers.gadget import admm, classifiers, ours, stepped, trained
from benchmarks.papers.gadget.problem import divided, even_sites, skewed_sites
from benchmarks.papers.gadget.stepping import NormRule

from widemargin import LinearODMClassifier

SITES = 5


def ring(sites):
    mixing = np.zeros((sites, sites))
    for site in range(sites):
        mixing[site, [site - 1, site, (site + 1) % sites]] = 1.0 / 3.0
    return mixing


def complete(sites):
    return np.full((sites, sites), 1.0 / sites)


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(900, 8, class_sep=0.8, random_state=0)
    site = even_sites(600, SITES, 0)
    return divided(X[:600], y[:600], X[600:], y[600:], site=site, mixing=ring(SITES), lam=1e-2)


def test_the_objective_is_that_of_pegasos(problem):
    w = np.linspace(-1.0, 1.0, problem.size)
    losses = [max(0.0, 1.0 - y * (x @ w)) for x, y in zip(problem.X, problem.y, strict=True)]
    expected = 0.5 * problem.lam * w @ w + np.mean(losses)
    assert problem.objective(w[None]) == pytest.approx([expected])
    heavy = replace(problem, weight=np.where(problem.y > 0, 3.0, 1.0))
    expected = 0.5 * problem.lam * w @ w + np.average(losses, weights=heavy.weight)
    assert heavy.objective(w[None]) == pytest.approx([expected])


def test_the_other_objective_is_that_of_the_library(problem):
    X, y = problem.X[:, :-1], problem.y
    odm = LinearODMClassifier(C=1.0 / (problem.lam * len(y)), tol=1e-9).fit(X, y)
    model = np.append(odm.coef_, odm.intercept_)[None]
    ours = problem.objective(model, "odm") / (problem.lam)
    assert ours == pytest.approx(odm.history_["primal"][-1])


def test_rows_are_dealt_evenly_or_by_label(problem):
    sizes = [len(rows) for rows in problem.rows]
    assert sizes == [120] * SITES
    y = np.repeat([0, 1], [30, 70])
    site = skewed_sites(y, 10, 0)
    assert np.array_equal(np.bincount(site), [10] * 10)
    assert [len(np.unique(y[site == each])) for each in range(10)] == [1] * 10
    assert not np.array_equal(site, skewed_sites(y, 10, 1))


def test_rows_cost_what_is_smaller_dense_or_sparse():
    X = sp.csr_matrix([[1.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    sites = {"site": np.array([0, 1]), "mixing": complete(2), "lam": 1.0}
    few = divided(X, np.array([0, 1]), X, np.array([0, 1]), **sites)
    # Two of five values with the constant, twelve bytes each, and a label; five dense ones.
    assert few.row_bytes(np.array([0])) == 2 * 12 + 1
    assert few.row_bytes(np.array([1])) == 5 * 8 + 1


def test_the_rule_counts_calm_iterations_and_keeps_what_a_site_had():
    rule = NormRule(epsilon=0.1, times=2)
    norms = [[5.0, 9.0], [5.05, 5.0], [5.0, 4.0], [5.0, 4.0], [7.0, 4.0], [7.0, 4.0], [7.0, 4.0]]
    rule.start(np.zeros((2, 1)))
    ends = [rule.update(number, np.array(each)[:, None]) for number, each in enumerate(norms, 1)]
    assert rule.first.tolist() == [3, 5]
    assert ends == [False] * 4 + [True] * 3
    assert rule.entered.tolist() == [2, 1]
    assert rule.stopped_models(np.full((2, 1), 8.0)).tolist() == [[5.0], [4.0]]


def test_pegasos_finds_the_optimum(problem):
    optimum = problem.objective(trained.pooled(problem).models)[0]
    outcome = stepped.pegasos(problem, batch=None, rule=NormRule(1e-5), max_rounds=20_000)
    assert outcome.stopped
    assert outcome.messages == 0
    assert optimum <= problem.objective(outcome.models)[0] * (1 + 1e-3)
    assert problem.objective(outcome.models)[0] < 1.005 * optimum
    mean = stepped.pegasos(problem, rule=NormRule(0.0), max_rounds=20_000, average=True)
    assert not mean.stopped
    assert problem.objective(mean.models)[0] < 1.02 * optimum


def test_sparse_and_dense_rows_take_the_same_steps(problem):
    sparse = replace(problem, X=sp.csr_matrix(problem.X), X_test=sp.csr_matrix(problem.X_test))
    for batch in (1, 7, None):
        ends = [ours.printed(each, batch=batch, max_rounds=40).models for each in (problem, sparse)]
        assert ends[0] == pytest.approx(ends[1])


def test_projection_keeps_models_in_the_ball(problem):
    settings = {"rule": NormRule(0.0), "max_rounds": 1}
    radius = 1.0 / np.sqrt(problem.lam)
    free, held = (ours.printed(problem, project=each, **settings).models for each in (False, True))
    assert np.linalg.norm(free, axis=1).max() > radius
    assert np.linalg.norm(held, axis=1).max() <= radius * (1 + 1e-12)


def test_gadget_as_printed_counts_a_sum_and_a_weight(problem):
    outcome = ours.printed(problem, exchanges=2, rule=NormRule(0.0), max_rounds=3)
    assert outcome.messages == 3 * 2 * SITES
    assert outcome.bytes_sent == 3 * 2 * SITES * (32 + (problem.size + 1) * 8)
    assert not outcome.stopped


def test_gadget_stops_by_the_rule_and_is_near_the_optimum(problem):
    outcome = ours.printed(problem, batch=None, max_rounds=50_000)
    assert outcome.stopped
    assert max(outcome.facts["first"]) == outcome.rounds
    optimum = problem.objective(trained.pooled(problem).models)[0]
    assert problem.objective(outcome.models).max() < 1.05 * optimum


def test_quantised_vectors_are_right_on_average():
    rng = np.random.default_rng(0)
    vector = rng.normal(size=40)
    draws = stepped.quantised(np.tile(vector, (20_000, 1)), 3, rng)
    unit = np.linalg.norm(vector) / 7
    assert np.allclose(draws / unit, np.round(draws / unit))
    assert len(np.unique(np.round(np.abs(draws) / unit))) <= 8
    # An error of rounding is at most a unit, its standard deviation at most half of one.
    assert np.abs(draws.mean(axis=0) - vector).max() < 5 * 0.5 * unit / np.sqrt(20_000)
    tau = stepped.contraction(40, 3)
    left = np.mean(np.sum((draws / tau - vector) ** 2, axis=1))
    assert left <= (1 - 1 / tau) * (vector @ vector)
    assert stepped.quantised(np.zeros((1, 4)), 3, rng).tolist() == [[0.0] * 4]


def test_choco_counts_bits(problem):
    # A header, a norm of eight bytes, then four bits for each of the nine values.
    assert stepped.message_bytes(9, 3) == 32 + 8 + 5
    outcome = stepped.choco(problem, max_rounds=10)
    assert outcome.messages == 10 * 2 * SITES
    assert outcome.bytes_sent == outcome.messages * 45
    assert stepped.choco(problem, bits=None, max_rounds=1).bytes_sent == 2 * SITES * (32 + 9 * 8)


def test_choco_without_compression_is_gossip_sgd(problem):
    everyone = replace(problem, mixing=complete(SITES))
    found = stepped.choco(everyone, bits=None, batch=None, max_rounds=30).models
    w = np.zeros(problem.size)
    for number in range(1, 31):
        pulls = []
        for rows in problem.rows:
            X, y = problem.X[rows], problem.y[rows]
            short = y * (X @ w) < 1
            pulls.append((short * y) @ X / len(y))
        w = (1 - 1 / number) * w + np.mean(pulls, axis=0) / (problem.lam * number)
    assert found == pytest.approx(np.tile(w, (SITES, 1)))


def test_choco_keeps_the_mean_and_converges(problem):
    models = np.random.default_rng(0).normal(size=(SITES, problem.size))
    exchange = stepped.Compressed(problem, 3, None, 0)
    mixed = models
    for _ in range(500):
        mixed = exchange.mix(mixed)
    assert mixed.mean(axis=0) == pytest.approx(models.mean(axis=0))
    assert np.ptp(mixed, axis=0).max() < 1e-6
    optimum = problem.objective(trained.pooled(problem).models)[0]
    outcome = stepped.choco(problem, batch=20, max_rounds=4_000, average=True)
    assert problem.objective(outcome.models).max() < 1.02 * optimum


def test_a_watch_sees_the_run_and_ends_it(problem):
    seen = []

    def watch(number, models, sent):
        seen.append((number, sent))
        return number == 6

    outcome = stepped.choco(problem, max_rounds=100, watch=watch)
    assert (outcome.rounds, outcome.stopped) == (6, True)
    assert seen == [(number, number * 2 * SITES * 45) for number in range(1, 7)]


def test_dist_eval_agrees_and_is_near_pooled(problem):
    alone, pooled = trained.alone(problem), trained.pooled(problem)
    outcome = trained.dist_eval(problem, epsilon=1e-9)
    assert outcome.stopped
    agreed = np.repeat(alone.decisions.mean(axis=1, keepdims=True), SITES, axis=1)
    assert outcome.decisions == pytest.approx(agreed, abs=1e-6)
    assert outcome.accuracy(problem) == pytest.approx(pooled.accuracy(problem), abs=0.03)
    assert outcome.bytes_sent == outcome.rounds * 2 * SITES * (32 + 300 * 8)
    one = trained.dist_eval(problem, max_rounds=1)
    assert not one.stopped
    assert one.decisions == pytest.approx(alone.decisions @ problem.mixing)


def test_asg_selects_the_rows_nearest_to_the_margin():
    X, y = np.array([[-3.0], [-1.1], [-0.5], [0.2], [1.3], [4.0]]), np.repeat([0, 1], 3)
    sites = {"site": np.array([0, 0, 0, 0, 1, 1]), "mixing": complete(2), "lam": 1.0}
    few = divided(X, y, X, y, **sites)
    w = np.array([1.0, 0.0])
    assert trained.selected(few, np.arange(6), w, 0.0).tolist() == [1, 4]
    assert trained.selected(few, np.arange(6), w, 0.7).tolist() == [1, 2, 4, 3]
    assert trained.selected(few, np.array([4, 5]), w, 0.0).tolist() == [4]


def test_asg_that_sends_everything_is_pooled(problem):
    outcome = trained.asg(problem, share=1.0, epsilon=1e-12, times=10)
    assert outcome.stopped
    assert outcome.facts["rows_held"] == [600] * SITES
    pooled = trained.pooled(problem)
    assert outcome.models == pytest.approx(pooled.models, abs=1e-2)
    first = trained.asg(problem, share=1.0, max_rounds=1)
    assert first.bytes_sent == 600 * (problem.size * 8 + 1) + SITES * 32
    assert first.messages == SITES


def test_liblinear_pools_or_not(problem):
    pooled = trained.pooled(problem)
    assert pooled.bytes_sent == 480 * (9 * 8 + 1) + 4 * 9 * 8 + 8 * 32
    alone = trained.alone(problem)
    assert (alone.messages, alone.bytes_sent) == (0, 0)
    assert problem.objective(alone.models).min() > problem.objective(pooled.models)[0]


def test_a_site_with_one_class_has_a_model(problem):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(problem.y))
    both = trained.model(problem.X, problem.y, weight, 0.1)
    mirrored = trained.model(problem.X * problem.y[:, None], np.ones_like(problem.y), weight, 0.1)
    assert mirrored == pytest.approx(both, abs=1e-2)


def test_recall_and_balanced_accuracy(problem):
    outcome = trained.pooled(problem)
    found = np.where(outcome.decisions[:, 0] > 0, 1.0, -1.0)
    recalls = [np.mean(found[problem.y_test == label] == label) for label in (-1.0, 1.0)]
    assert outcome.recall(problem)[0] == pytest.approx(recalls[1])
    assert outcome.balanced_accuracy(problem)[0] == pytest.approx(np.mean(recalls))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("features", [4, 9])
def test_admm_finds_what_liblinear_finds_at_a_site(problem, form, features, monkeypatch):
    """Tall and wide rows are factored differently."""
    for name, value in (("ABSOLUTE", 1e-7), ("RELATIVE", 1e-6), ("ITERATIONS", 20_000)):
        monkeypatch.setattr(admm, name, value)
    rows = np.arange(6 if features == 9 else 60)
    part = replace(problem, X=form(problem.X[rows][:, :features]), y=problem.y[rows])
    part = replace(part, X_test=problem.X_test[:, :features])
    part = replace(part, weight=np.where(part.y > 0, 2.0, 1.0), site=0 * rows, mixing=np.eye(1))
    exact = trained.model(part.X, part.y, part.weight, part.lam)
    best, found = part.objective(np.stack([exact, admm.admm(part).models[0]]))
    assert found == pytest.approx(best, rel=2e-3)


def test_admm_diverges_beyond_twice_the_step(problem):
    beyond = admm.admm(problem, admm.Parameters(None, 0.1, 10.5))
    assert not beyond.stopped
    assert beyond.rounds < 100


def test_classifiers_of_sites_differ_and_are_better_than_chance(problem):
    for model in ("lasso", "forest", "perceptron_adam"):
        outcome = classifiers.classifiers(problem, model, seed=1)
        assert outcome.decisions.shape == (300, SITES)
        assert outcome.accuracy(problem).min() > 0.6
    assert len(np.unique(outcome.decisions, axis=1).T) == SITES
    again = classifiers.classifiers(problem, model, seed=1)
    assert np.array_equal(outcome.decisions, again.decisions)
