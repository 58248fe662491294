"""Groups of rows close together: far pairs are left out, and what that costs is bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import SVMClassifier, _native
from widemargin.core.losses import Hinge, MarginDistribution
from widemargin.core.outcome import certify
from widemargin.core.rows import as_rows
from widemargin.kernel import near_groups, problem
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.near_groups import CUTOFF
from widemargin.kernel.problem import KernelProblem

DTYPES = [np.float32, np.float64]


@pytest.fixture(autouse=True)
def few_rows_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_groups, "FEWEST_ROWS", 500)


def clouds(n_rows: int = 3000, seed: int = 0) -> np.ndarray:
    """Rows of eight kinds, told apart by indicators, and with two measurements each."""
    rng = np.random.default_rng(seed)
    kind = np.eye(8)[rng.integers(8, size=n_rows)]
    return np.hstack([kind, rng.random((n_rows, 2))])


def as_layout(X: np.ndarray, layout: str, dtype: Any = np.float64) -> Any:
    X = X.astype(dtype)
    return sp.csr_matrix(X) if layout == "csr" else X


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_a_product_without_far_pairs(name: str, constant: float, layout: str, dtype: Any) -> None:
    kernel = Kernel(name, 30.0, constant=constant)
    rows = as_rows(as_layout(clouds(), layout, dtype))
    near = near_groups.near_groups(kernel, rows, 1)
    assert near is not None
    assert near.share < 0.3
    rng = np.random.default_rng(1)
    some = np.sort(rng.choice(3000, 1000, replace=False))
    coef = rng.normal(size=(3, 1000))
    found, entries = near_groups.near_product(kernel, rows, rows, coef, some, near, 1)
    expected = kernel.product(rows, rows, coef, some)
    rounding = 1e-5 if dtype == np.float32 else 1e-12
    allowed = rounding + CUTOFF * np.abs(coef).sum(axis=1).max()
    np.testing.assert_allclose(found, expected, atol=allowed)
    assert entries < 0.3 * 3000 * 1000
    again, _ = near_groups.near_product(kernel, rows, rows, coef, some, near, 2)
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("cutoff", [1e-12, 1e-3, 0.1])
def test_no_value_above_the_cutoff_is_left_out(cutoff: float) -> None:
    X = clouds(2000)
    kernel, rows = Kernel("rbf", 8.0), as_rows(X)
    near = _native.near_groups(rows, kernel.spec, cutoff)
    values = kernel.block(rows, rows)
    ones = np.ones((2000, 1))
    kept, entries = _native.near_product(rows, rows, kernel.spec, ones, np.arange(2000), near)
    left_out = values.sum(axis=1) - kept[0]
    assert entries == pytest.approx(near.share * 2000**2)
    assert np.all(left_out <= cutoff * 2000 + 1e-9)
    if cutoff == 0.1:
        assert left_out.max() > 1e-6  # the bound is put to the test


def test_dense_and_csr_rows_have_the_same_groups() -> None:
    X = clouds()
    spec = Kernel("rbf", 30.0).spec
    dense, csr = (
        _native.near_groups(as_rows(as_layout(X, layout)), spec, CUTOFF)
        for layout in ("dense", "csr")
    )
    np.testing.assert_array_equal(dense.group, csr.group)
    assert dense.share == csr.share
    assert np.bincount(dense.group).max() <= 256


def test_many_features_are_boxed_by_those_that_vary() -> None:
    X = np.zeros((2000, 300))
    X[:, 100:110] = clouds(2000)
    near = near_groups.near_groups(Kernel("rbf", 30.0), as_rows(X), 1)
    assert near is not None
    assert near.share < 0.3


def test_rows_that_coincide_are_cut_into_groups() -> None:
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 1000, axis=0)
    near = near_groups.near_groups(Kernel("rbf", 30.0), as_rows(X), 1)
    assert near is not None
    assert near.share == 0.5
    assert np.bincount(near.group).max() <= 256


@pytest.mark.parametrize(
    "kernel", [Kernel("rbf", 0.5), Kernel("linear"), Kernel("poly", 1.0, 1.0, 2)]
)
def test_wide_kernels_have_no_groups(kernel: Kernel) -> None:
    assert near_groups.near_groups(kernel, as_rows(clouds()), 1) is None


def test_queries_of_their_own() -> None:
    kernel, basis, queries = Kernel("rbf", 30.0), as_rows(clouds()), as_rows(clouds(2000, seed=5))
    square = _native.near_groups(basis, kernel.spec, CUTOFF)
    near = _native.near_queries(queries, square, kernel.spec, CUTOFF)
    coef, every = np.random.default_rng(0).normal(size=3000), np.arange(3000)
    found, entries = near_groups.near_product(kernel, queries, basis, coef, every, near, 1)
    np.testing.assert_allclose(found, kernel.product(queries, basis, coef), atol=1e-9)
    assert entries < 0.3 * 3000 * 2000


@pytest.mark.parametrize("loss", [Hinge(), MarginDistribution(0.5, 0.2)])
def test_a_certificate_allows_for_what_is_left_out(
    loss: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a coarse cutoff margins are wrong, and the certificate still holds."""
    rng = np.random.default_rng(3)
    X = clouds(1500)
    y = np.where(rng.random(1500) < 0.5, 1.0, -1.0)
    terms = loss.terms(np.full(1500, 2.0))
    net_dual = terms.nearest(rng.random(1500))
    whole = KernelProblem(X, Kernel("rbf", 3.0), y, terms)
    exact = whole.dense_q() @ net_dual
    monkeypatch.setattr(near_groups, "CUTOFF", 5e-3)
    posed = KernelProblem(X, Kernel("rbf", 3.0), y, terms)
    assert posed.near is not None
    rough = posed.margins(net_dual)
    assert np.abs(rough - exact).max() > 1e-4
    truth, found = certify(terms, net_dual, exact), posed.certificate(net_dual, rough)
    assert found.primal >= truth.primal
    assert found.dual <= truth.dual


@pytest.mark.parametrize("threads", [1, 2])
def test_a_fit_counts_fewer_values(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = clouds(2500)
    y = np.sign(np.sin(9 * X[:, -1]) + 0.3 * np.random.default_rng(0).normal(size=2500))
    model = SVMClassifier(C=10.0, gamma=30.0, strategy="exact", n_jobs=threads, random_state=0)
    narrow = model.fit(X, y)
    passes, decision = narrow.history_["passes"][-1], narrow.decision_function(X)
    monkeypatch.setattr(problem, "near_groups", lambda *arguments: None)
    everything = model.fit(X, y)
    assert passes < 0.5 * everything.history_["passes"][-1]
    assert everything.relative_gap_ <= 1e-3
    np.testing.assert_allclose(decision, everything.decision_function(X), atol=0.2)
