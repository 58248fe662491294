"""Losses with targets: what a conjugate is, and what a coordinate's minimiser is, on grids."""

from dataclasses import replace

import numpy as np
import pytest

from widemargin.core.losses import Loss, LossConstants, LossTerms
from widemargin.core.regression_losses import (
    DeviationBand,
    EpsilonInsensitive,
    Pinball,
    SquaredEpsilonInsensitive,
)

LOSSES: list[Loss] = [
    EpsilonInsensitive(0.3),
    EpsilonInsensitive(0.0),
    SquaredEpsilonInsensitive(0.2),
    Pinball(0.8),
    DeviationBand(0.4, 0.25),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda each: each.name)
TARGET, WEIGHT = 0.7, 2.0


def one_row(loss: Loss) -> LossTerms:
    return replace(loss.terms(np.array([WEIGHT])), offset=np.array([TARGET]))


def by_definition(loss: Loss, residual: float) -> float:
    if isinstance(loss, Pinball):
        return WEIGHT * max(-loss.quantile * residual, (1 - loss.quantile) * residual)
    if isinstance(loss, DeviationBand):
        short, over = max(-loss.theta - residual, 0.0), max(residual - loss.theta, 0.0)
        return WEIGHT / 2 * (short**2 + loss.upsilon * over**2)
    assert isinstance(loss, EpsilonInsensitive | SquaredEpsilonInsensitive)
    power = 1 if isinstance(loss, EpsilonInsensitive) else 2
    return float(WEIGHT * max(abs(residual) - loss.epsilon, 0.0) ** power)


@every_loss
def test_primal_conjugate_and_implied_dual(loss: Loss) -> None:
    terms, grid = one_row(loss), np.linspace(-20, 20, 80_001)
    phi = terms.phi(grid)
    for decision in np.linspace(-2, 3, 23):
        at = np.array([decision])
        expected = by_definition(loss, decision - TARGET)
        assert float(terms.primal(at)[0]) == pytest.approx(expected, abs=1e-12)
        assert float(np.max(-decision * grid - phi)) == pytest.approx(expected, abs=1e-3)
        dual = terms.implied_dual(at)
        assert float((-at * dual - terms.phi(dual))[0]) == pytest.approx(expected, abs=1e-9)


@every_loss
@pytest.mark.parametrize("diagonal", [0.3, 1.0, 40.0])
def test_coordinate_minimiser(loss: Loss, diagonal: float) -> None:
    terms, grid = one_row(loss), np.linspace(-12, 12, 240_001)
    for rest in np.linspace(-2, 3, 11):
        objective = 0.5 * diagonal * grid**2 + rest * grid + terms.phi(grid)
        found = terms.coordinate_minimiser(np.array([rest]), np.array([diagonal]))
        assert float(found[0]) == pytest.approx(float(grid[np.argmin(objective)]), abs=2e-4)


@every_loss
def test_domain(loss: Loss) -> None:
    terms = one_row(loss)
    for end in (terms.floor, terms.bound):
        if np.isfinite(end[0]):
            assert np.isfinite(terms.phi(end)).all()
            assert np.isinf(terms.phi(1.001 * end)).all()
            np.testing.assert_array_equal(terms.nearest(5 * end), end)
    assert terms.smooth == bool(np.isinf(terms.bound[0]))


def test_rows_keep_their_targets() -> None:
    target = np.arange(4.0)
    terms = replace(EpsilonInsensitive(0.1).terms(np.ones(4)), offset=target)
    some = terms.at(np.array([3, 1]))
    np.testing.assert_array_equal(some.offset, [3.0, 1.0])
    np.testing.assert_array_equal(some.primal(np.array([3.0, 2.1])), [0.0, pytest.approx(1.0)])


def test_constants_scale_with_the_weight() -> None:
    constants = LossConstants.of(Pinball(0.75), 2.0)
    assert (constants.bound, constants.floor) == (1.5, -0.5)
    assert constants.times(3.0).floor == -1.5
    assert constants.primal(-2.0) == pytest.approx(3.0)
    assert constants.primal(2.0) == pytest.approx(1.0)
