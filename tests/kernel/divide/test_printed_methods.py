"""Methods as their papers print them: partition, weights, gluing, the start, the last level."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from engines_under_test import ListeningEngine
from parts_to_merge import two_clouds
from reference import landmarks as reference
from reference.coordinate_descent import coordinate_descent
from reference.kernels import rbf
from reference.losses import Hinge
from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.kernel.divide.methods import Fold, block_of_whole, small_copy
from widemargin.kernel.divide.starts import as_carried

STRATEGIES = (Stratified, Clustered, Cascade, Preserving)
strategies = pytest.mark.parametrize("kind", STRATEGIES)
Array = npt.NDArray[np.float64]
MODELS = {"hinge": SVMClassifier, "odm": ODMClassifier}
losses = pytest.mark.parametrize("loss", MODELS)


def fitted(kind: type, loss: str, printed: bool) -> tuple:
    X, y = two_clouds(160)
    engine = ListeningEngine()
    strategy = kind(levels=2, fan_in=2, printed=printed)
    model = MODELS[loss](strategy=strategy, engine=engine, random_state=0, tol=1e-6).fit(X, y)
    return model, engine.levels


@strategies
@losses
def test_row_of_the_table(kind: type, loss: str) -> None:
    ours, printed = kind().row(loss), kind(printed=True).row(loss)
    assert ours.start is not as_carried
    assert printed.start is as_carried
    assert printed.weight is (small_copy if loss == "odm" else block_of_whole)
    assert ours.weight is (block_of_whole if kind is Clustered else small_copy)
    assert printed.last_level == (1 if kind is Stratified else 0)
    assert ours.last_level == 0
    assert printed.name == ours.name
    assert printed.partition == replace(ours.partition, printed=True)
    assert (printed.carry, printed.routed, printed.refine) == (ours.carry, ours.routed, ours.refine)
    if kind is Clustered:
        assert printed.regroup == printed.partition
    if isinstance(ours.regroup, Fold):
        assert ours.regroup.divided
        assert printed.regroup == Fold(divided=False)


@strategies
@losses
def test_printed_methods_run(kind: type, loss: str) -> None:
    printed, levels = fitted(kind, loss, printed=True)
    assert printed.level_ == (1 if kind is Stratified else 0)
    assert printed.history_["level"].tolist() == ([2, 1] if kind is Stratified else [2, 1, 0])
    X, y = two_clouds(160)
    assert printed.score(X, y) > 0.8
    for part in levels[0]:
        assert part.report is not None
        largest = np.abs(part.net_dual).max()
        if loss == "hinge":  # a row weighs C = 1
            assert largest <= 1.0 + 1e-9


@strategies
def test_every_level_is_solved_to_the_tolerance_by_coordinate_descent(kind: type) -> None:
    _, levels = fitted(kind, "hinge", printed=True)
    for part in (part for level in levels for part in level):
        assert part.report is not None
        assert part.report.solver == "coordinate"
        assert part.report.primal - part.report.dual <= 1e-6 * part.report.primal
    _, levels = fitted(kind, "hinge", printed=False)
    assert levels[0][0].report.solver != "coordinate"


def two_variable_descent(K: Array, y: Array, start: Array, c: float, theta: float, v: float):
    """SODM's Eqns. 2 and 3: coordinate descent over α = [ζ; β], as printed; returns ζ − β."""
    m = len(y)
    Q = np.outer(y, y) * K
    H = np.block([[Q + m * c * v * np.eye(m), -Q], [-Q, Q + m * c * np.eye(m)]])
    b = np.concatenate([np.full(m, theta - 1), np.full(m, theta + 1)])
    alpha = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
    for _ in range(20_000):
        before = alpha.copy()
        for i in range(2 * m):
            alpha[i] = max(alpha[i] - (H[i] @ alpha + b[i]) / H[i, i], 0.0)
        if np.abs(alpha - before).max() < 1e-10:
            break
    return alpha[:m] - alpha[m:]


def test_sodm_is_its_algorithm_1() -> None:
    """Lines 4 to 16 in NumPy, on the partition that was drawn."""
    X, y = two_clouds(48)
    sign, gamma, theta, upsilon = np.where(y == y.max(), 1.0, -1.0), 0.5, 0.2, 0.5
    engine, lam = ListeningEngine(), 40.0
    strategy = Stratified(levels=2, fan_in=2, n_strata=5, printed=True)
    model = ODMClassifier(
        gamma=gamma, lam=lam, strategy=strategy, engine=engine, tol=1e-9, random_state=3
    ).fit(X, y)
    c = (1 - theta) ** 2 / (lam * upsilon)
    K = rbf(X, X, gamma)
    # Lines 1 and 2: strata of all rows, in equal pieces whatever the labels.
    stratum = reference.strata(K, reference.landmarks(K, 5))
    leaves = [part.rows for part in engine.levels[0]]
    part = np.zeros(48, dtype=np.int64)
    for number, rows in enumerate(leaves):
        part[rows] = number
    assert reference.spread(stratum, part, 4) <= 1
    alpha = np.zeros(48)
    for level, parts in (
        (2, leaves),
        (1, [np.sort(np.r_[tuple(leaves[k : k + 2])]) for k in (0, 2)]),
    ):
        solved = engine.levels[2 - level]
        for rows, found in zip(parts, solved, strict=True):
            np.testing.assert_array_equal(found.rows, rows)
            start = alpha[rows]
            alpha[rows] = two_variable_descent(
                K[np.ix_(rows, rows)], sign[rows], start, c, theta, upsilon
            )
            np.testing.assert_allclose(found.net_dual, alpha[rows], atol=2e-4 * np.abs(alpha).max())
            moved = np.abs(found.net_dual - start).sum()
            assert found.report.moved == pytest.approx(moved, rel=1e-2)
    assert len(engine.levels) == 2  # the loop ends at p parts
    # The signs of the glued duals' decisions are the model's.
    np.testing.assert_array_equal(np.sign(K @ (sign * alpha)), np.sign(model.decision_function(X)))


def test_dc_svm_is_its_algorithm_1() -> None:
    """Clusters, glued starts, refinement and the whole set, in NumPy."""
    X, y = two_clouds(90)
    sign, gamma = np.where(y == y.max(), 1.0, -1.0), 0.5
    engine = ListeningEngine()
    strategy = Clustered(levels=2, fan_in=2, n_sample=40, printed=True)
    model = SVMClassifier(gamma=gamma, strategy=strategy, engine=engine, tol=1e-9, random_state=1)
    model.fit(X, y)
    K = rbf(X, X, gamma)
    Q = np.outer(sign, sign) * K
    alpha = np.zeros(90)
    for level in engine.levels[:2]:
        glued = np.zeros(90)
        for part in level:
            block = Q[np.ix_(part.rows, part.rows)]
            own = Hinge(1.0, np.ones(part.n_rows))
            best = coordinate_descent(block, own, start=alpha[part.rows], tol=1e-9)
            at = part.net_dual
            assert objective(block, at) == pytest.approx(objective(block, best), rel=1e-7)
            assert part.report.moved == pytest.approx(np.abs(at - alpha[part.rows]).sum(), rel=1e-9)
            glued[part.rows] = at
        alpha = glued
    (root,) = engine.levels[2]
    best = coordinate_descent(Q, Hinge(1.0, np.ones(90)), tol=1e-9)
    assert objective(Q, root.net_dual) == pytest.approx(objective(Q, best), rel=1e-7)
    # The root starts from the solution on the support vectors of the level before.
    support = np.flatnonzero(alpha)
    assert support.size < 90
    refined = np.zeros(90)
    alone = Q[np.ix_(support, support)]
    refined[support] = coordinate_descent(alone, Hinge(1.0, np.ones(support.size)), tol=1e-9)
    assert objective(Q, refined) <= objective(Q, alpha) + 1e-9
    moved = np.abs(root.net_dual - refined).sum()
    assert root.report.moved == pytest.approx(moved, abs=0.05 * np.abs(refined).sum())


def objective(Q: Array, alpha: Array) -> float:
    return float(0.5 * alpha @ Q @ alpha - alpha.sum())


def test_clusters_that_do_not_fit_a_sample_are_refused() -> None:
    X, y = two_clouds(160)
    model = SVMClassifier(strategy=Clustered(levels=5, fan_in=2, n_sample=16, printed=True))
    with pytest.raises(ValueError, match=r"all 32 clusters are found on `n_sample` rows.*got 16"):
        model.fit(X, y)


@losses
@pytest.mark.parametrize("kind", [Stratified, Cascade, Preserving])
def test_duals_are_glued_and_taken_as_they_are(kind: type, loss: str) -> None:
    """What moved on a level is counted from the duals of the level before, put side by side."""
    _, levels = fitted(kind, loss, printed=True)
    for below, above in pairwise(levels):
        glued = np.zeros(160)
        for part in below:
            glued[part.rows] = part.net_dual
        for part in above:
            assert part.report is not None
            moved = np.abs(part.net_dual - glued[part.rows]).sum()
            assert part.report.moved == pytest.approx(moved, rel=1e-9)


def test_our_starts_move_less() -> None:
    """The slip that the division mends: glued duals start far too long."""
    ours, _ = fitted(Stratified, "odm", printed=False)
    printed, _ = fitted(Stratified, "odm", printed=True)
    assert ours.history_["movement"][1] < 0.7 * printed.history_["movement"][1]
