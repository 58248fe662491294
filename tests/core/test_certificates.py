"""The duality gap as computed, against the reference and against its promise."""

import math

import numpy as np
import pytest

from oracle import solve_with_clarabel
from reference.certificate import dual, primal
from reference.losses import make_loss
from reference.problems import DIFFICULTIES, random_problem
from widemargin.core.losses import Hinge, LossTerms, MarginDistribution, SquaredHinge
from widemargin.core.outcome import Certificate, certify

UPSILON, THETA, C = 0.4, 0.1, 3.0
NAMES = ("hinge", "squared_hinge", "odm")


def terms_of(name: str, row_weights: np.ndarray) -> LossTerms:
    losses = (Hinge(), SquaredHinge(), MarginDistribution(UPSILON, THETA))
    return losses[NAMES.index(name)].terms(row_weights)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("difficulty", [d for d in DIFFICULTIES if d != "weighted"])
def test_certificate_bounds_the_optimum(name: str, difficulty: str) -> None:
    _, y, weights, K, Q = random_problem(difficulty)
    terms = terms_of(name, C * weights)
    reference = make_loss(name, C, weights, UPSILON, THETA)
    optimum = solve_with_clarabel(K, y, name, C, weights, UPSILON, THETA)
    rng = np.random.default_rng(0)
    low = -np.inf if name == "odm" else 0.0
    for scale in (0.0, 0.05, 1.0):
        net_dual = np.clip(scale * rng.normal(size=len(Q)), low, terms.bound)
        found = certify(terms, net_dual, Q @ net_dual)
        assert found.primal == pytest.approx(primal(Q, net_dual, reference), rel=1e-12)
        assert found.dual == pytest.approx(dual(Q, net_dual, reference), rel=1e-12, abs=1e-12)
        rounding = 1e-10 * optimum.objective  # the contradictory rows are best left at zero
        assert found.dual - rounding <= optimum.objective <= found.primal + rounding
        assert found.gap == found.primal - found.dual
        assert found.relative_gap == found.gap / found.primal
    at_optimum = certify(terms, optimum.net_dual, Q @ optimum.net_dual)
    assert at_optimum.relative_gap == pytest.approx(0.0, abs=1e-9)


def test_infeasible_dual_proves_nothing() -> None:
    terms = Hinge().terms(np.ones(2))
    for net_dual in ([2.0, 0.5], [-0.1, 0.5]):
        certificate = certify(terms, np.array(net_dual), np.array([0.5, 0.5]))
        assert certificate.relative_gap == math.inf


def test_nothing_to_lose_is_optimal() -> None:
    assert Certificate(primal=0.0, dual=0.0).relative_gap == 0.0


def test_nan_is_no_certificate() -> None:
    assert math.isnan(Certificate(math.nan, math.nan).relative_gap)
    assert not Certificate(math.nan, 1.0).relative_gap <= 1e-3
