"""Weights of a solution as the attributes that predict."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.multiclass.fit import weight_attributes
from widemargin.multiclass.problem import MulticlassObjective

N_FEATURES, CONSTANT = 4_000, 2.0


def sparse_weights(n_classes: int) -> sp.csr_array:
    """Some weights of zero are stored, one class has no constant, and one has nothing."""
    random = np.random.default_rng(0)
    weights = sp.random_array(
        (n_classes, N_FEATURES + 1), density=0.2, format="csr", random_state=random
    )
    weights.data[::7] = 0.0
    dense = weights.toarray()
    dense[:, -1] = random.normal(size=n_classes)
    dense[0, -1] = 0.0
    if n_classes > 2:
        dense[n_classes // 2] = 0.0
    found = sp.csr_array(dense)
    found.data[3] = 0.0
    return found


@pytest.mark.parametrize("n_classes", [2, 50])
@pytest.mark.parametrize("give_away", [False, True])
def test_sparse_weights_are_taken_apart(n_classes: int, give_away: bool) -> None:
    weights = sparse_weights(n_classes)
    before = weights.toarray()
    objective = MulticlassObjective(N_FEATURES, n_classes, "ww", 1.0, constant=CONSTANT)
    found = weight_attributes(weights, objective, give_away=give_away)
    expected = before if n_classes > 2 else before[1:] - before[:1]
    coef = found["coef_"]
    np.testing.assert_array_equal(coef.toarray(), expected[:, :-1])
    np.testing.assert_array_equal(found["intercept_"], CONSTANT * expected[:, -1])
    assert coef.format == "csr"
    assert coef.has_sorted_indices
    assert coef.indices.dtype == coef.indptr.dtype == np.int32
    assert np.all(coef.data != 0)
    assert coef.nnz == len(coef.data) == len(coef.indices) == np.count_nonzero(expected[:, :-1])
    assert found["density_"] == coef.nnz / expected[:, :-1].size
    if not give_away:
        np.testing.assert_array_equal(weights.toarray(), before)


def test_sparse_weights_given_away_are_not_copied() -> None:
    weights = sparse_weights(50)
    objective = MulticlassObjective(N_FEATURES, 50, "ovr", 1.0, constant=CONSTANT)
    size = weights.data.nbytes + weights.indices.nbytes
    tracemalloc.start()
    try:
        weight_attributes(weights, objective, give_away=True)
        assert tracemalloc.get_traced_memory()[1] < 0.1 * size
        tracemalloc.reset_peak()
        weight_attributes(sparse_weights(50), objective)
        assert tracemalloc.get_traced_memory()[1] > size  # it would be seen
    finally:
        tracemalloc.stop()
