"""Methods as their papers print them: weights, gluing, the start, the last level."""

from itertools import pairwise

import numpy as np
import pytest

from engines_under_test import ListeningEngine
from parts_to_merge import two_clouds
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
    assert (printed.partition, printed.carry, printed.routed, printed.refine) == (
        ours.partition,
        ours.carry,
        ours.routed,
        ours.refine,
    )
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
@losses
def test_same_leaves_where_the_weights_are_the_same(kind: type, loss: str) -> None:
    """The partition is the same; ODM's papers weigh like we do, those of the SVM do not."""
    _, ours = fitted(kind, loss, printed=False)
    _, printed = fitted(kind, loss, printed=True)
    same_weights = (loss == "odm") != (kind is Clustered)
    for a, b in zip(ours[0], printed[0], strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)
        assert np.array_equal(a.net_dual, b.net_dual) == same_weights


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
