"""Targets in the units of a fit."""

import numpy as np
import pytest

from widemargin.core.losses import LossConstants
from widemargin.core.regression_losses import (
    DeviationBand,
    EpsilonInsensitive,
    Pinball,
    SquaredEpsilonInsensitive,
)
from widemargin.core.regression_set import TargetUnits, regression_set, weighted_quantile


@pytest.mark.parametrize(
    "loss",
    [
        EpsilonInsensitive(0.3),
        SquaredEpsilonInsensitive(0.3),
        Pinball(0.7),
        DeviationBand(0.5, 0.3),
    ],
)
def test_the_loss_in_another_unit_is_the_loss_over_the_square_of_the_unit(loss: object) -> None:
    given = LossConstants.of(loss, 2.0)  # type: ignore[arg-type]
    unit = 4.0
    for residual in (-5.0, -0.31, 0.0, 0.2, 0.4, 7.0):
        inside = given.in_units(unit).primal(residual / unit)
        assert unit**2 * inside == pytest.approx(given.primal(residual), rel=1e-14)


def test_units_are_a_power_of_two_near_the_mean_distance() -> None:
    targets = np.array([1e6 - 3.0, 1e6 + 3.0])
    units = TargetUnits.around(1e6, targets, None)
    assert units == TargetUnits(1e6, 4.0)
    np.testing.assert_array_equal(units.inside(targets), [-0.75, 0.75])
    assert TargetUnits.around(2.0, np.full(3, 2.0), None) == TargetUnits(2.0, 1.0)


def test_weights_are_copies() -> None:
    values, weights = np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 3.0, 2.0, 1.0])
    repeated = np.repeat(values, weights.astype(int))
    for quantile in (0.1, 0.5, 0.9):
        expected = np.quantile(repeated, quantile, method="inverted_cdf")
        assert weighted_quantile(values, quantile, weights) == expected
        assert weighted_quantile(repeated, quantile, None) == expected


def test_rows_without_weight_are_left_out() -> None:
    X, y = np.arange(8.0).reshape(4, 2), np.arange(4)
    found = regression_set(X, y, [1.0, 0.0, 2.0, 0.0])
    assert found.kept is not None
    assert found.kept.tolist() == [0, 2]
    assert found.targets.tolist() == [0.0, 2.0]
    assert found.n_given == 4
    with pytest.raises(ValueError, match="At least one `sample_weight` must be positive"):
        regression_set(X, y, np.full(4, 1e-280))
