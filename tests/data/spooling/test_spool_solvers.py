"""The native core reads a spool as it reads the same rows in memory."""

import numpy as np
import pytest
from scipy import sparse

from widemargin.core.losses import LossConstants, SquaredHinge
from widemargin.data import spool
from widemargin.linear.problem import LinearProblem


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_matrix])
def test_same_objective_and_gradient(matrix, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.5)).astype(dtype)
    y = np.where(rng.random(200) < 0.5, 1, -1)
    constants = LossConstants.of(SquaredHinge(), 1.0)
    batches = [(matrix(X[:90]), y[:90]), (matrix(X[90:]), y[90:])]

    def evaluated(rows, label):
        return LinearProblem(rows, label.astype(np.int8), constants, constant=1.0).evaluate(w)

    w = rng.normal(size=7)
    expected = evaluated(matrix(X), y)
    with spool(batches) as rows:
        got = evaluated(rows.X, rows.classes[rows.codes])
    assert got.objective == expected.objective
    np.testing.assert_array_equal(got.gradient, expected.gradient)
