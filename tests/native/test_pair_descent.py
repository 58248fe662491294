"""Descent on pairs of rows: what it keeps, and where it ends."""

import numpy as np
import pytest

from widemargin import _native


def block(n, dtype="float64", seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    kernel = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(2)).astype(dtype)
    upper = random.uniform(0.5, 2.0, size=n)
    upper[::7] = 0.0  # may not move
    net_dual = 0.4 * upper
    return kernel, upper, net_dual, kernel.astype(np.float64) @ net_dual + 0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 33, 64, 131])
def test_sum_bounds_and_margins_are_kept(n, dtype):
    kernel, upper, net_dual, margin = block(n, dtype)
    before = net_dual.copy()
    diagonal = np.ascontiguousarray(kernel.diagonal(), dtype=np.float64)
    _native.descend_pairs(kernel, diagonal, upper, net_dual, margin, violation=1e-9, steps=10**6)
    assert net_dual.sum() == pytest.approx(before.sum(), rel=1e-12)
    assert np.all((net_dual >= 0) & (net_dual <= upper))
    expected = kernel.astype(np.float64) @ net_dual + 0.5
    np.testing.assert_allclose(margin, expected, atol=1e-10 * max(1, n))
    # No pair is left that violates by more than was asked for.
    rise, fall = margin[net_dual < upper], margin[net_dual > 0]
    if len(rise) and len(fall):
        assert fall.max() - rise.min() <= 1e-9


def test_each_pair_lowers_the_objective():
    kernel, upper, net_dual, margin = block(40)
    diagonal = np.ascontiguousarray(kernel.diagonal())
    last = 0.5 * net_dual @ kernel @ net_dual + 0.5 * net_dual.sum()
    for _ in range(30):
        taken = _native.descend_pairs(
            kernel, diagonal, upper, net_dual, margin, violation=0.0, steps=1
        )
        assert taken == 1
        now = 0.5 * net_dual @ kernel @ net_dual + 0.5 * net_dual.sum()
        assert now < last
        last = now


def test_an_optimum_takes_no_pair():
    kernel, upper, net_dual, margin = block(50)
    diagonal = np.ascontiguousarray(kernel.diagonal())
    steps = {"violation": 1e-8, "steps": 10**6}
    assert _native.descend_pairs(kernel, diagonal, upper, net_dual, margin, **steps) > 0
    assert _native.descend_pairs(kernel, diagonal, upper, net_dual, margin, **steps) == 0


def test_copies_exchange_all_they_can():
    """Two equal rows have no curvature between them."""
    kernel = np.ones((2, 2))
    net_dual, margin = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    _native.descend_pairs(
        kernel, np.ones(2), np.array([0.25, 1.0]), net_dual, margin, violation=1e-12, steps=10
    )
    np.testing.assert_allclose(net_dual, [0.25, 0.75])


def test_arrays_must_fit_together():
    kernel, upper, net_dual, margin = block(5)
    with pytest.raises(ValueError, match="one entry per row"):
        _native.descend_pairs(kernel, np.ones(4), upper, net_dual, margin, violation=0.1, steps=1)
    with pytest.raises(ValueError, match="square"):
        _native.descend_pairs(
            kernel[:4].copy(), np.ones(5), upper, net_dual, margin, violation=0.1, steps=1
        )
