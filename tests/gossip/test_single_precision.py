"""Consensus sends vectors in single precision where the tolerance allows it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

from widemargin import GossipClassifier, LinearSVMClassifier
from widemargin.gossip import Consensus, Gadget, NetworkFaults
from widemargin.gossip.simulation import HEADER

N_FEATURES = 20


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(600, N_FEATURES, n_informative=8, random_state=0)


def fitted(rows, **settings) -> GossipClassifier:
    X, y = rows
    given = {"solver": "consensus", "max_iter": 20_000, "fit_intercept": False} | settings
    return GossipClassifier(5, "ring", **given).fit(X, y, sites=np.argsort(np.argsort(y)) // 120)


def bytes_of_a_message(model: GossipClassifier) -> float:
    return model.n_bytes_ / model.n_messages_


# Vector, level, four figures and their mass, counter, number, acknowledgement.
COUNT = N_FEATURES + 1 + 5 + 3


@pytest.mark.filterwarnings("ignore:GossipClassifier did not converge")
def test_messages_take_four_bytes_a_weight(rows) -> None:
    shorter = fitted(rows, tol=1e-4, stopping="never", max_iter=3)
    longer = fitted(rows, tol=0.99e-4, stopping="never", max_iter=3)
    assert bytes_of_a_message(shorter) == HEADER + 4 + 4 * N_FEATURES + 8 * (COUNT - N_FEATURES)
    assert bytes_of_a_message(longer) == HEADER + 4 + 8 * COUNT
    # What is counted is what is read: models differ by the rounding, and by no more.
    apart = np.abs(shorter.coef_ - longer.coef_).max() / np.abs(longer.coef_).max()
    assert 0.0 < apart < 1e-5


@pytest.mark.filterwarnings("ignore:GossipClassifier did not converge", "ignore:Classes are")
def test_running_sums_stay_in_double_precision(rows) -> None:
    model = fitted(rows, solver=Gadget(), tol=1e-2, stopping="never", max_iter=3)
    # The mass of the model is in place of the level.
    assert bytes_of_a_message(model) == HEADER + 4 + 8 * COUNT


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-6])
def test_tolerances_are_reached(rows, loss: str, tol: float) -> None:
    X, y = rows
    faults = NetworkFaults(loss=0.3)
    model = fitted(rows, loss=loss, tol=tol, faults=faults, C=10.0, solver=Consensus(penalty=4.0))
    assert model.converged_
    exact = LinearSVMClassifier(loss=loss, C=10.0, fit_intercept=False, tol=1e-8, max_iter=10_000)
    exact.fit(X, y)
    labels = np.where(y > 0, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - labels * (X @ model.coef_.ravel()))
    power = 1 if loss == "hinge" else 2
    halved = 1.0 if loss == "hinge" else 0.5
    reached = 0.5 * np.sum(model.coef_**2) + 10.0 * halved * np.sum(slack**power)
    slack = np.maximum(0.0, 1.0 - labels * (X @ exact.coef_.ravel()))
    best = 0.5 * np.sum(exact.coef_**2) + 10.0 * halved * np.sum(slack**power)
    assert best * (1.0 - 1e-7) <= reached <= best * (1.0 + tol)
