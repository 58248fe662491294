"""Decision functions of a level against sums written out."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from parts_to_merge import two_clouds
from reference import kernels as naive
from widemargin import Clustered, SVMClassifier
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.model import level_model
from widemargin.kernel.model.level_model import LevelModel
from widemargin.kernel.partition.nearest_group import nearest_landmark

N_BASIS, N_QUERIES = 30, 70
# The last two parts are none of the router's: copies that were dealt out further.
PART = np.random.default_rng(2).permutation(np.arange(N_BASIS) % 6).astype(np.int32)


def expansion(form: str, routed: bool, constant: float, dtype: str = "float64") -> tuple:
    """Return a model with its basis, queries, kernel values and coefficients."""
    X, _ = two_clouds(N_BASIS)
    Z, _ = two_clouds(N_QUERIES, seed=1)
    X, Z = X.astype(dtype), Z.astype(dtype)
    coef = np.random.default_rng(3).normal(size=N_BASIS)
    centres = np.array([3, 7, 11, 20])
    router = None
    if routed:
        kernel = Kernel("precomputed") if form == "values" else Kernel("rbf", 0.1)
        basis = None if form == "values" else X[centres]
        router = nearest_landmark(kernel, basis, centres, np.ones(4))
    model = LevelModel(
        Kernel("rbf", 0.3, constant=constant) if form != "values" else values_kernel(constant),
        {"dense": X, "csr": sp.csr_matrix(X), "values": None}[form],
        np.arange(N_BASIS),
        coef,
        PART,
        router,
    )
    values = naive.rbf(Z.astype(float), X.astype(float), 0.3) + constant
    nearest = naive.rbf(Z.astype(float), X[centres].astype(float), 0.1).argmax(axis=1)
    return model, X, Z, values, coef, nearest


def values_kernel(constant: float) -> Kernel:
    return Kernel("precomputed", constant=constant)


forms = pytest.mark.parametrize("form", ["dense", "csr"])
constants = pytest.mark.parametrize("constant", [0.0, 1.0])


@forms
@constants
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_routed_rows_meet_their_part_alone(form: str, constant: float, dtype: str) -> None:
    model, _, Z, values, coef, nearest = expansion(form, True, constant, dtype)
    assert len(np.unique(nearest)) > 1
    expected = np.sum(values * coef * (nearest[:, None] == PART), axis=1)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for queries in (Z, sp.csr_matrix(Z)):
        for threads in (1, 2):
            np.testing.assert_allclose(model.decide(queries, threads), expected, atol=tolerance)
    assert model.decide(Z[:0]).shape == (0,)


@forms
@constants
def test_without_a_router_all_parts_are_summed(form: str, constant: float) -> None:
    model, _, Z, values, coef, _ = expansion(form, False, constant)
    np.testing.assert_allclose(model.decide(Z), values @ coef, atol=1e-13)


@forms
@pytest.mark.parametrize("routed", [False, True])
def test_local_decisions(form: str, routed: bool) -> None:
    model, _, Z, values, coef, _ = expansion(form, routed, 1.0)
    expected = np.array([values[:, k == PART] @ coef[k == PART] for k in range(6)])
    np.testing.assert_allclose(model.local_decisions(Z), expected, atol=1e-13)


@constants
@pytest.mark.parametrize("routed", [False, True])
def test_decisions_from_kernel_values(constant: float, routed: bool) -> None:
    """Of the kernel without its constant, and the router's own."""
    model, X, Z, values, coef, nearest = expansion("values", routed, constant)
    near: Any = naive.rbf(Z, X[[3, 7, 11, 20]], 0.1) if routed else None
    expected = values @ coef
    if routed:
        expected = np.sum(values * coef * (nearest[:, None] == PART), axis=1)
    np.testing.assert_allclose(model.decide_values(values - constant, near), expected, atol=1e-13)


def test_part_that_has_no_basis_rows_decides_nothing() -> None:
    """A cluster whose duals are all zero has no opinion."""
    model, X, Z, _, coef, nearest = expansion("dense", True, 1.0)
    kept = PART != 2
    fewer = LevelModel(
        model.kernel, X[kept], np.flatnonzero(kept), coef[kept], PART[kept], model.router
    )
    decision = fewer.decide(Z)
    assert np.any(nearest == 2)
    np.testing.assert_array_equal(decision[nearest == 2], 0.0)
    np.testing.assert_array_equal(decision[nearest != 2], model.decide(Z)[nearest != 2])


def test_clusters_that_are_asked_are_brought_together_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = make_moons(400, noise=0.25, random_state=0)
    model = SVMClassifier(gamma=4.0, strategy=Clustered(2, 4, 2), random_state=0).fit(X, y)
    expected = model.decision_function(X)
    one_by_one = np.concatenate([model.decision_function(row[None]) for row in X[:20]])
    np.testing.assert_array_equal(one_by_one, expected[:20])
    monkeypatch.setattr(level_model, "VECTORS_AT_ONCE", 20)
    assert len(model.support_) > 100  # several batches
    np.testing.assert_array_equal(model.decision_function(X), expected)
