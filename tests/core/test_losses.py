"""The losses against the reference, and against what a conjugate is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.losses import MarginLoss, make_loss
from widemargin.core.losses import Hinge, LossTerms, MarginDistribution, SquaredHinge

NAMES = ("hinge", "squared_hinge", "odm")


def terms_of(name: str, row_weights: np.ndarray, upsilon: float, theta: float) -> LossTerms:
    losses = {
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "odm": MarginDistribution(upsilon, theta),
    }
    assert losses[name].name == name
    return losses[name].terms(row_weights)


def positive(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


@st.composite
def losses(draw: st.DrawFn) -> tuple[LossTerms, MarginLoss]:
    """One row of any loss: ours and the reference's."""
    name = draw(st.sampled_from(NAMES))
    C, weight = draw(positive(1e-3, 1e5)), draw(positive(0.1, 5))
    upsilon, theta = draw(positive(0.01, 1)), draw(st.floats(0, 0.99))
    ours = terms_of(name, np.array([C * weight]), upsilon, theta)
    return ours, make_loss(name, C, np.array([weight]), upsilon, theta)


@given(losses(), st.floats(-5, 5))
def test_primal_and_implied_dual(pair: tuple[LossTerms, MarginLoss], margin: float) -> None:
    ours, reference = pair
    m = np.array([margin])
    np.testing.assert_allclose(ours.primal(m), reference.primal_loss(m), rtol=1e-12)
    # At a kink the slope is a whole interval, and rounding picks an end of it.
    if abs(margin - ours.lower_margin) > 1e-12:
        np.testing.assert_allclose(ours.implied_dual(m), reference.implied_dual(m), rtol=1e-9)


@given(losses(), st.floats(-3, 3))
def test_phi(pair: tuple[LossTerms, MarginLoss], share: float) -> None:
    """Everywhere: inside the domain, on its border and outside, where both are infinite."""
    ours, reference = pair
    scale = float(ours.bound[0]) if np.isfinite(ours.bound[0]) else 10.0
    net_dual = np.array([share * scale])
    # Between its terms φ cancels near its root: the rounding left is that of one of them.
    rounding = 4e-12 * abs(net_dual[0])
    np.testing.assert_allclose(
        ours.phi(net_dual), reference.phi(net_dual), rtol=1e-12, atol=rounding
    )


def test_phi_is_finite_on_the_bound_itself() -> None:
    terms = Hinge().terms(np.array([0.1, 0.3, 7.0]))
    np.testing.assert_allclose(terms.phi(terms.bound), -terms.bound)
    assert np.all(np.isinf(terms.phi(1.001 * terms.bound)))
    assert np.all(np.isinf(terms.phi(-0.001 * terms.bound)))


@given(losses(), st.floats(-5, 5), st.sampled_from([0.0, 1e-6, 1e-3, 1.0, 40.0]))
def test_coordinate_minimiser(
    pair: tuple[LossTerms, MarginLoss], margin: float, diagonal: float
) -> None:
    ours, reference = pair
    expected = reference.coordinate_minimiser(0, margin, diagonal)
    found = ours.coordinate_minimiser(np.array([margin]), np.array([diagonal]))
    np.testing.assert_allclose(found, [expected], rtol=1e-12)


BOUNDED_AND_CURVED = LossTerms(
    1.0, np.inf, np.array([0.5]), np.zeros(1), np.array([2.0]), np.zeros(1)
)


@pytest.mark.parametrize(
    "terms",
    [*(terms_of(name, np.array([2.0]), 0.4, 0.1) for name in NAMES), BOUNDED_AND_CURVED],
    ids=[*NAMES, "bounded and curved"],
)
def test_losses_are_conjugates(terms: LossTerms) -> None:
    """ℓ(m) = max over γ of −mγ − φ(γ) on a grid, and implied_dual attains it."""
    grid = np.linspace(-30, 30, 120_001)
    phi = terms.phi(grid)
    for m in np.linspace(-2, 3, 21):
        found = float(np.max(-m * grid - phi))
        at = np.array([m])
        assert float(terms.primal(at)[0]) == pytest.approx(found, abs=1e-5)
        dual = terms.implied_dual(at)
        assert float((-at * dual - terms.phi(dual))[0]) == pytest.approx(found, abs=1e-5)


def test_nearest_net_dual_inside_the_domain() -> None:
    """What a warm start may bring: negative, or beyond a bound that has become smaller."""
    anywhere = np.array([-3.0, 0.0, 0.7, 5.0])
    weights = np.full(4, 2.0)
    hinge, squared, odm = (terms_of(name, weights, 0.4, 0.1) for name in NAMES)
    np.testing.assert_array_equal(hinge.nearest(anywhere), [0.0, 0.0, 0.7, 2.0])
    np.testing.assert_array_equal(squared.nearest(anywhere), [0.0, 0.0, 0.7, 5.0])
    np.testing.assert_array_equal(odm.nearest(anywhere), anywhere)


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_independent(name: str) -> None:
    """An array of rows gives what each row gives alone."""
    rng = np.random.default_rng(0)
    weights, margins = rng.uniform(0.1, 3, 50), rng.normal(1, 1, 50)
    together = terms_of(name, weights, 0.4, 0.1)
    for i in range(50):
        alone = terms_of(name, weights[i : i + 1], 0.4, 0.1)
        here = slice(i, i + 1)
        np.testing.assert_array_equal(together.primal(margins)[here], alone.primal(margins[here]))
        np.testing.assert_array_equal(
            together.implied_dual(margins)[here], alone.implied_dual(margins[here])
        )


def test_newton_may_ask_which_losses_are_smooth() -> None:
    weights = np.array([1.0, 2.0])
    assert not Hinge().terms(weights).smooth
    assert SquaredHinge().terms(weights).smooth
    assert MarginDistribution(0.5, 0.2).terms(weights).smooth
    # A bound remains: curvature alone does not make the hinge's primal piecewise quadratic.
    assert not BOUNDED_AND_CURVED.smooth
