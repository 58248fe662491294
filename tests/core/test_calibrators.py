"""Calibrators and the probabilities of classes against naive versions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from widemargin.core.calibrators import calibrated, fit_calibrators
from widemargin.core.class_probabilities import (
    class_probabilities,
    coupled,
    fit_calibration,
    leads,
    pooled,
)


def columns(scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decisions of three columns, labels drawn by a sigmoid of them, weights."""
    random = np.random.default_rng(0)
    decisions = random.normal(size=(400, 3)) * np.array([1.0, 0.2, 5.0])
    positive = random.random((400, 3)) < expit(decisions * [2.0, 5.0, 0.1] + [0.0, 1.0, -2.0])
    return scale * decisions, positive, random.random(400) + 0.1


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_a_sigmoid_minimises_the_cross_entropy_to_platts_targets(scale: float) -> None:
    decisions, positive, weight = columns(scale)
    found = fit_calibrators("sigmoid", "rest", decisions, positive, weight[:, None])
    for k in range(3):
        above, below = weight[positive[:, k]].sum(), weight[~positive[:, k]].sum()
        target = np.where(positive[:, k], (above + 1) / (above + 2), 1 / (below + 2))
        f = decisions[:, k] / scale

        def loss(ab: np.ndarray, f: np.ndarray = f, target: np.ndarray = target) -> float:
            z = ab[0] * f + ab[1]
            return float(weight @ (np.logaddexp(0.0, z) - target * z))

        naive = minimize(loss, [0.0, 0.0], tol=1e-12).x
        np.testing.assert_allclose(found["slope"][k] * scale, naive[0], rtol=1e-4)
        np.testing.assert_allclose(found["offset"][k], naive[1], rtol=1e-4, atol=1e-4)


def test_decisions_that_mislead_give_the_share_of_the_class() -> None:
    decisions, positive, weight = columns()
    found = fit_calibrators("sigmoid", "rest", -decisions, positive, weight[:, None])
    np.testing.assert_array_equal(found["slope"], 0.0)
    share = (weight[:, None] * positive).sum(axis=0) / weight.sum()
    np.testing.assert_allclose(calibrated(found, decisions)[0], share, atol=0.01)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_separable_and_missing_rows(method: str) -> None:
    f = np.linspace(-1, 1, 20)[:, None]
    sure = fit_calibrators(method, "rest", f, f > 0, np.ones((20, 1)))
    p = calibrated(sure, f)
    assert np.all(np.diff(p[:, 0]) >= 0)
    assert p.min() > 0
    assert p.max() < 1
    none = fit_calibrators(method, "rest", f, f > 0, np.zeros((20, 1)))
    np.testing.assert_allclose(calibrated(none, f), 0.5)


def test_steps_are_those_of_scikit_learn_but_for_their_ends() -> None:
    decisions, positive, weight = columns()
    found = fit_calibrators("isotonic", "rest", decisions, positive, weight[:, None])
    new = np.random.default_rng(1).normal(size=(100, 3)) * 3.0
    probability = calibrated(found, new)
    for k in range(3):
        steps = IsotonicRegression(out_of_bounds="clip")
        steps.fit(decisions[:, k], positive[:, k].astype(float), weight)
        above, below = weight[positive[:, k]].sum(), weight[~positive[:, k]].sum()
        expected = np.clip(steps.predict(new[:, k]), 1 / (below + 2), (above + 1) / (above + 2))
        np.testing.assert_allclose(probability[:, k], expected, atol=0.02)
        inside = (expected > 0.2) & (expected < 0.8)
        np.testing.assert_allclose(probability[inside, k], expected[inside], atol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 4, 6])
def test_coupling_minimises_its_objective(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    pairs = list(combinations(range(n_classes), 2))
    r = random.random((5, len(pairs)))
    for row, p in zip(r, coupled(r, n_classes), strict=True):

        def objective(p: np.ndarray, row: np.ndarray = row) -> float:
            terms = ((1 - x) * p[i] - x * p[j] for x, (i, j) in zip(row, pairs, strict=True))
            return 2 * sum(term**2 for term in terms)

        assert p.min() >= 0
        assert p.sum() == pytest.approx(1.0)
        for _ in range(20):
            other = random.dirichlet(np.ones(n_classes))
            for step in (1e-3, 0.1, 1.0):
                assert objective(p) <= objective(p + step * (other - p)) + 1e-12


def test_coupling_finds_the_probabilities_behind_consistent_pairs() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=7)
    r = np.column_stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in combinations(range(5), 2)])
    np.testing.assert_allclose(coupled(r, 5), p, rtol=1e-6)
    certain = coupled(np.round(r), 5)
    assert np.all(np.isfinite(certain))


def test_leads_are_scores_minus_the_largest_other() -> None:
    scores = np.array([[3.0, 1.0, 2.0], [0.0, 0.0, -1.0]])
    np.testing.assert_array_equal(leads(scores), [[1.0, -2.0, -1.0], [0.0, 0.0, -1.0]])


def naive_pool(p: np.ndarray, c: int) -> np.ndarray:
    """Project onto the distributions that are largest at c, by trying all sets that share."""
    best, distance = p, np.inf
    others = [k for k in range(len(p)) if k != c]
    for size in range(len(p)):
        for chosen in combinations(others, size):
            q = p.copy()
            q[[c, *chosen]] = q[[c, *chosen]].mean()
            far = float(((q - p) ** 2).sum())
            if np.all(q <= q[c] + 1e-15) and far < distance:
                best, distance = q, far
    return best


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_pooling_is_the_closest_distribution_that_agrees(n_classes: int) -> None:
    random = np.random.default_rng(0)
    p = random.dirichlet(np.ones(n_classes), size=200)
    p[:20] = np.round(p[:20] * 4) / 4  # ties
    predicted = random.integers(0, n_classes, 200)
    found = pooled(p, predicted)
    np.testing.assert_array_equal(found.argmax(axis=1), predicted)
    rows = np.arange(200)
    runner_up = found.copy()
    runner_up[rows, predicted] = -1.0
    assert np.all(found[rows, predicted] > runner_up.max(axis=1))
    np.testing.assert_allclose(found, [naive_pool(*each) for each in zip(p, predicted)], atol=1e-12)  # noqa: B905


def test_all_schemes_agree_with_predictions() -> None:
    random = np.random.default_rng(0)
    for scheme, n_classes, n_columns in (
        ("binary", 2, 1),
        ("rest", 4, 4),
        ("margins", 4, 4),
        ("pairs", 4, 6),
    ):
        decisions = random.normal(size=(60, n_columns))
        codes, weight = random.integers(0, n_classes, 60), np.ones(60)
        predicted = random.integers(0, n_classes, 60)
        for method in ("sigmoid", "isotonic"):
            calibration = fit_calibration(method, scheme, decisions, codes, n_classes, weight)
            found = class_probabilities(calibration, decisions, predicted, n_classes)
            np.testing.assert_array_equal(found.argmax(axis=1), predicted)
            np.testing.assert_allclose(found.sum(axis=1), 1.0)
