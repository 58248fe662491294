"""The privacy account, and private training in a simulated network."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import widemargin
from widemargin import GossipClassifier
from widemargin.gossip import PrivacyAccount, PrivateDescent
from widemargin.gossip.privacy import delta_of, epsilon_of, mu_of
from widemargin.gossip.private import shortened

# (μ, δ) and ε by dp_accounting 0.6.0's PLD accountant, GaussianDpEvent(1 / μ), discretised by 1e-4:
LIBRARY = (
    (0.1, 1e-5, 0.340669),
    (0.25, 1e-6, 1.060702),
    (1.0, 1e-5, 4.377178),
    (3.0, 1e-6, 18.163446),
)


def rows(n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) / np.sqrt(6)
    return X, np.where(X @ np.arange(1.0, 7.0) + 0.5 * rng.standard_normal(n) > 0, 1, -1)


@pytest.mark.parametrize(("mu", "delta", "epsilon"), LIBRARY)
def test_epsilon_is_that_of_a_library(mu: float, delta: float, epsilon: float) -> None:
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-3)
    assert mu_of(epsilon, delta) == pytest.approx(mu, rel=1e-3)


def test_the_library_agrees_now() -> None:
    dp_accounting = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    account = PrivacyAccount(2.0, 1e-6, 40, 1.0, problems=3)
    event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(account.noise), 40 * 3)
    accountant = pld.PLDAccountant(value_discretization_interval=1e-4).compose(event)
    assert accountant.get_epsilon(1e-6) == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0, 50.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-3])
def test_mu_epsilon_and_delta_fit_together(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert delta_of(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)
    assert delta_of(1.01 * mu, epsilon) > delta


def test_an_account_is_spent_release_by_release() -> None:
    account = PrivacyAccount(3.0, 1e-6, 50, 1.0)
    spent = [account.spent(k) for k in range(51)]
    assert spent[0] == 0.0
    assert all(a < b for a, b in itertools.pairwise(spent))
    assert spent[-1] == pytest.approx(3.0)
    # Three problems on the same rows need √3 times the noise.
    more = PrivacyAccount(3.0, 1e-6, 50, 1.0, problems=3)
    assert more.noise == pytest.approx(math.sqrt(3) * account.noise)


def test_rows_are_shortened() -> None:
    X = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    short = shortened(X, 1.0)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), [1.0, 0.5, 0.0], rtol=1e-5)
    assert (np.linalg.norm(short, axis=1) <= 1.0).all()
    np.testing.assert_allclose(shortened(sp.csr_matrix(X), 1.0).toarray(), short)
    single = shortened(X.astype(np.float32), 1.0)
    assert single.dtype == np.float32
    assert np.linalg.norm(single.astype(np.float64), axis=1).max() <= 1.0
    assert shortened(X, 100.0) is X


def test_private_sites_learn() -> None:
    X, y = rows(4000)
    best = GossipClassifier(5, "ring", C=1.0, tol=1e-2).fit(X, y).score(X, y)
    solver = PrivateDescent(epsilon=3.0, row_norm=1.5)
    model = GossipClassifier(5, "ring", solver=solver, random_state=0).fit(X, y)
    assert model.score(X, y) > best - 0.02
    assert model.score_sites(X, y).min() > best - 0.03
    assert model.converged_
    assert model.privacy_["epsilon_spent"] == pytest.approx(3.0)
    assert model.privacy_["releases_made"] == 100


def test_one_class_at_each_site() -> None:
    X, y = rows(4000)
    solver = PrivateDescent(epsilon=3.0, row_norm=1.5)
    model = GossipClassifier(2, "ring", solver=solver).fit(X, y, sites=(y > 0).astype(int))
    assert model.score_sites(X, y).min() > 0.8


def test_nothing_that_rows_show_in_is_kept(tmp_path: Path) -> None:
    X, y = rows()
    model = GossipClassifier(4, solver=PrivateDescent(releases=20)).fit(X, y)
    assert np.isnan([model.dual_gap_, model.relative_gap_, model.label_skew_]).all()
    for name in ("mean_accuracy", "mean_objective", "dual", "relative_gap"):
        assert np.isnan(model.history_[name]).all()
    model.save(tmp_path / "model.wm")
    again = widemargin.load_model(tmp_path / "model.wm")
    assert again.privacy_ == model.privacy_
    assert again.privacy_["adjacency"] == "one row of one site added or removed"
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_noise_is_as_large_as_the_account_says() -> None:
    """The first release is at w = 0: with its noise, the model is known but for that."""
    X, y = rows(60)
    solver = PrivateDescent(epsilon=1.0, row_norm=2.0, releases=1, interval=1)
    found = [
        GossipClassifier(1, topology=np.zeros((1, 1)), solver=solver, random_state=k, max_iter=8)
        .fit(X, y)
        .site_coef_[0, 0]
        for k in range(300)
    ]
    reach = math.hypot(2.0, 1.0)
    step = 2.0 / (1.0 + 60 * reach**2)
    noise = np.std(found, axis=0) / step
    np.testing.assert_allclose(noise, solver.account().noise * reach, rtol=0.15)
    expected = step * (y @ X)
    assert np.abs(np.mean(found, axis=0) - expected).max() < 4 * noise.max() * step / np.sqrt(300)


def test_problems_and_sites_have_noise_of_their_own() -> None:
    X, y = rows(90)
    X[:] = 0.0  # nothing but noise
    y = np.arange(90) % 3
    solver = PrivateDescent(releases=1, interval=1)
    model = GossipClassifier(6, solver=solver, max_iter=1).fit(X, y)
    flat = model.site_coef_.reshape(18, -1)
    assert len(np.unique(flat.round(12), axis=0)) == 18
    assert model.privacy_["problems"] == 3


def test_too_few_rounds_warn_and_spend_less() -> None:
    X, y = rows()
    with pytest.warns(ConvergenceWarning, match="10 of 100 releases"):
        model = GossipClassifier(4, solver="private", max_iter=20).fit(X, y)
    assert not model.converged_
    assert 0 < model.privacy_["epsilon_spent"] < 3.0


def test_weights_are_refused() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="every row must weigh the same"):
        GossipClassifier(4, solver="private").fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="every row must weigh the same"):
        GossipClassifier(4, solver="private", class_weight="balanced").fit(X, y)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"row_norm": -1.0}, "row_norm"),
        ({"releases": 0}, "releases"),
        ({"momentum": 1.0}, "momentum"),
        ({"step": 3.0}, "step"),
    ],
)
def test_parameters_out_of_range_are_refused(changes: dict[str, float], said: str) -> None:
    X, y = rows(100)
    with pytest.raises(ValueError, match=f"`{said}` must be"):
        GossipClassifier(2, solver=PrivateDescent(**changes)).fit(X, y)
