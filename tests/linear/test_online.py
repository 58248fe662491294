"""Learning from rows in blocks, as from rows in one place."""

import uuid

import numpy as np
import pytest
from sklearn.datasets import make_classification

from widemargin.core.blocks import RowBlock
from widemargin.core.budget import Budget
from widemargin.core.losses import Hinge, LossConstants, MarginDistribution, SquaredHinge
from widemargin.engines import LocalEngine
from widemargin.linear import online
from widemargin.linear.online import absorb_all, first_state
from widemargin.linear.problems import LinearProblems


def problems(X, codes, n_blocks, loss):
    pieces = np.array_split(np.arange(len(codes)), n_blocks)
    blocks = [RowBlock(uuid.uuid4().hex, X[rows], codes[rows]) for rows in pieces]
    return LinearProblems.of_blocks(
        LocalEngine(1), blocks, int(codes.max()) + 1, LossConstants.of(loss, 2.0), 1.0
    )


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), MarginDistribution(0.5, 0.2)])
@pytest.mark.parametrize("diagonal", [False, True])
def test_blocks_are_learnt_as_one(loss, diagonal, monkeypatch):
    if diagonal:
        monkeypatch.setattr(online, "DIRECT_SIZE", 3)
    X, y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=0)
    codes, budget = y.astype(np.int32), Budget(threads=1)
    found = []
    for n_blocks in (1, 3):
        w, past = first_state(problems(X[:150], codes[:150], n_blocks, loss), budget.memory)
        assert past.ndim == (2 if diagonal else 3)
        for rows in (slice(0, 150), slice(150, 300)):
            posed = problems(X[rows], codes[rows], n_blocks, loss)
            assert (posed.whole is None) == (n_blocks == 3)
            w, past = absorb_all(posed, budget, w, past)
        found.append((w, past))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4 if diagonal else 1e-8)
