"""How a fit of a network ends: by itself, by a budget, by an interrupt, badly."""

import warnings

import numpy as np
import pytest
from gossip_networks import EVEN, SKEWED, X, Y, gossip, rows
from sklearn.exceptions import ConvergenceWarning

from widemargin import GossipClassifier
from widemargin.core.progress import FitProgress
from widemargin.estimators.gossip_sites import NetworkRules
from widemargin.gossip import Consensus, Gadget, NetworkFaults, Tracking


def test_the_budget_of_rounds():
    with pytest.warns(ConvergenceWarning, match="did not converge: .* in `max_iter` was reached"):
        model = gossip(max_iter=5).fit(X, Y)
    assert model.n_iter_ == 5
    assert not model.converged_
    assert model.relative_gap_ > 1e-3
    with pytest.warns(ConvergenceWarning, match="in 4 of 4 binary problems"):
        gossip(max_iter=2).fit(*rows(4))


def test_the_budget_of_time():
    # GADGET's steps shrink: it is far from this gap for hours.
    settings = {"solver": "gadget", "loss": "odm", "tol": 1e-9, "max_iter": 10**9}
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model = gossip(**settings, max_time=0.3).fit(X, Y)
    assert 0.2 < model.history_["seconds"][-1] < 30.0  # runners may be slow
    assert model.n_iter_ > 1
    with pytest.warns(ConvergenceWarning, match="in 4 of 4 .* `max_time` was reached"):
        model = gossip(**settings, max_time=0.4).fit(*rows(4))
    ends = np.flatnonzero(np.diff(model.history_["problem"], append=9))
    assert len(ends) == 4
    assert np.all(model.history_["round"][ends] > 1)  # each had its share


def test_no_warning_where_rounds_are_over_but_the_gap_is_proved():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = gossip(stopping="never", max_iter=400).fit(X, Y)
    assert model.converged_
    assert model.n_iter_ == 400


def test_the_norm_rule_proves_nothing_and_says_so():
    model = gossip(stopping="norm", solver="gadget", epsilon=0.05, max_iter=10_000)
    with pytest.warns(ConvergenceWarning, match="proves nothing about the distance"):
        model.fit(X, Y)
    assert not model.converged_
    stricter = gossip(stopping="norm", solver="gadget", epsilon=0.001, quiet=5, max_iter=10_000)
    with pytest.warns(ConvergenceWarning, match="proves nothing"):
        stricter.fit(X, Y)
    assert stricter.n_iter_ > model.n_iter_


def test_sites_without_duals_may_stop_too_early():
    with pytest.warns(ConvergenceWarning, match="no bound on the gap: .* solver='consensus'"):
        model = gossip(solver="tracking", tol=1e-2, max_iter=10_000).fit(X, Y)
    assert model.estimated_gap_ <= 1e-2 < model.relative_gap_


def test_models_that_grow_without_bounds():
    with pytest.warns(ConvergenceWarning, match="The models grew beyond all bounds"):
        model = gossip(solver=Tracking(step=100.0), loss="odm", max_iter=10_000).fit(X, Y)
    assert np.isfinite(model.site_coef_).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert not model.converged_
    assert model.n_iter_ < 10_000


def test_a_network_that_falls_apart_is_told_of_at_once(monkeypatch):
    split = NetworkFaults(schedule=[(5, "leave", 2), (9, "leave", 5), (12, "crash", 0)])
    interrupt_at(monkeypatch, 0)  # the warning comes before the first round
    message = r"sites \[2, 5\] .* into 2 components .*: \[0, 1, 6, 7\], \[3, 4\]\. Their models"
    with pytest.warns(UserWarning, match=message) as caught, pytest.raises(KeyboardInterrupt):
        gossip(faults=split).fit(*rows(4))
    assert [each.filename for each in caught] == [__file__]
    joins_too_late = NetworkFaults(schedule=[(5, "leave", 2), (50, "join", 5)])
    with pytest.warns(UserWarning, match="into 2 components"), pytest.raises(KeyboardInterrupt):
        gossip(faults=joins_too_late, max_iter=50).fit(X, Y)


@pytest.mark.parametrize(
    ("topology", "schedule"),
    [
        ("ring", [(5, "leave", 2), (9, "leave", 3)]),
        ("ring", [(5, "leave", 2), (9, "join", 5)]),  # apart only until then
        ("complete", [(5, "leave", 2), (9, "leave", 5)]),
    ],
)
def test_a_network_that_holds_together_is_not(monkeypatch, topology, schedule):
    interrupt_at(monkeypatch, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyboardInterrupt):
            gossip(topology=topology, faults=NetworkFaults(schedule=schedule)).fit(X, Y)


def test_lies_are_told_of():
    faults = NetworkFaults(lies={2: "opposite"})
    for believer, topology in (
        (Consensus(robust=None), "complete"),
        ("consensus", "ring"),
        ("gadget", "complete"),
        ("tracking", "complete"),
    ):
        model = gossip(faults=faults, topology=topology, solver=believer, max_iter=50)
        with pytest.warns(ConvergenceWarning, match="lie, .* every site has three neighbours"):
            model.fit(X, Y)
        assert not model.converged_
    with pytest.warns(ConvergenceWarning, match="in `max_iter` was reached"):
        sound = gossip(
            faults=faults,
            topology="complete",
            solver=Gadget(robust="clip"),
            stopping="never",
            max_iter=500,
        ).fit(X, Y, sites=EVEN)
    assert np.delete(sound.score_sites(X, Y), 2).min() > 0.75


def test_gadget_on_skewed_sites_is_warned_of():
    settings = {"solver": Gadget(), "stopping": "never", "max_iter": 2, "tol": 1e9}
    with pytest.warns(UserWarning, match=r"label skew 0\.5.*exchanges=20") as caught:
        gossip(**settings).fit(X, Y, sites=SKEWED)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gossip(**settings).fit(X, Y, sites=EVEN)
        gossip(**settings, exchanges=20).fit(X, Y, sites=SKEWED)
        gossip(**{**settings, "solver": "consensus"}).fit(X, Y, sites=SKEWED)


def test_warnings_name_the_users_line():
    with pytest.warns(ConvergenceWarning) as caught:
        gossip(max_iter=2).fit(X, Y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Feature 3 carries") as caught:
        gossip(tol=1e9).fit(X * [1, 1, 1, 1000, 1, 1, 1, 1, 1, 1], Y)
    assert caught[0].filename == __file__


def interrupt_at(monkeypatch, n_reports):
    reports = iter(range(n_reports))

    def interrupt(*_):
        if next(reports, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report", interrupt)


def test_an_interrupt_keeps_the_last_checkpoint(monkeypatch):
    interrupt_at(monkeypatch, 6)
    model = gossip()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.n_iter_ == model.history_["round"][-1] == 7
    assert np.isnan(model.relative_gap_)
    assert np.isnan(model.dual_gap_)
    assert not model.converged_
    assert model.history_["max_accuracy"][-1] == pytest.approx(model.score_sites(X, Y).max())


def test_an_interrupt_before_all_classes_were_begun_keeps_an_earlier_fit(monkeypatch):
    features, labels = rows(4)
    model = gossip(tol=0.1)
    interrupt_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(features, labels)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")
    monkeypatch.undo()
    before = model.fit(X[:, :5], Y).coef_
    interrupt_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(features, labels)
    assert model.coef_ is before
    assert model.predict(X[:, :5]).shape == Y.shape


def test_an_interrupt_at_the_very_end_leaves_no_half_of_a_model(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    model = gossip(tol=0.1).fit(X[:, :5], Y)
    before = dict(vars(model))
    monkeypatch.setattr(NetworkRules, "mixing_time", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*rows(4))
    assert vars(model) == before


def test_what_verbose_prints(capsys):
    gossip(verbose=1, stopping="never", max_iter=2, tol=1e9).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("[GossipClassifier] round 2: relative gap ")
    gossip(verbose=1, stopping="never", max_iter=1, tol=1e9).fit(*rows(4))
    assert "[GossipClassifier] binary problems: 3 of 4" in capsys.readouterr().out
    gossip(stopping="never", max_iter=2, tol=1e9).fit(X, Y)
    assert capsys.readouterr().out == ""


def test_sites_that_are_not_there_at_the_end_are_named():
    schedule = [(5, "crash", 2), (10**6, "join", 3)]
    model = GossipClassifier(
        5, "complete", C=0.1, faults=NetworkFaults(schedule=schedule), max_iter=30, random_state=0
    )
    both = r"Sites \[2\] crashed and did not return.*did not happen: \[\(1000000, 'join', 3\)\]"
    with pytest.warns(UserWarning, match=both), pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
