"""Ctrl-C ends any long native call within a second, with the state in order."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from limits import limits
from widemargin import ODMClassifier, SVMClassifier
from widemargin.core.rows import as_rows
from widemargin.inspection import shapley_values
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.solvers.binary import SOLVERS

# "Within a second", measured from the signal.
PATIENCE = 1.0


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    """Send SIGINT from another thread; fail unless KeyboardInterrupt comes soon after it."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        waited = time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        timer.join()
    assert waited < PATIENCE


def many_rows(n_rows: int, n_features: int, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(dtype)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_product(dtype: str, threads: int) -> None:
    rows = as_rows(many_rows(60_000, 100, dtype))  # 3.6e11 multiply-adds: half a minute at least
    with ctrl_c(after=0.2):
        Kernel("rbf", 0.01).product(rows, rows, np.ones((1, 60_000)), threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_sparse_product_with_a_million_columns(threads: int) -> None:
    n, stored = 100_000, 50
    columns = np.random.default_rng(0).integers(0, 10**6, size=n * stored)
    X = sp.csr_matrix((np.ones(n * stored), columns, np.arange(0, n * stored + 1, stored)))
    rows = as_rows(X)
    with ctrl_c(after=0.2):
        Kernel("laplacian", 0.01).product(rows, rows, np.ones((1, n)), threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_over_groups(threads: int) -> None:
    n = 60_000
    rows, ones, kernel = as_rows(many_rows(n, 100)), np.ones(n), Kernel("rbf", 0.01)
    starts, whole = np.arange(0, n + 1, 4), np.array([0, n])
    with ctrl_c(after=0.2):
        kernel.nearest_group(rows, rows, ones, starts, np.zeros(n // 4), threads)
    with ctrl_c(after=0.2):
        kernel.routed_product(rows, rows, ones, np.arange(n), whole, whole, threads)


def test_block() -> None:
    rows = as_rows(np.ones((3_000, 20_000), np.float32))
    with ctrl_c(after=0.2):
        Kernel("rbf", 0.01).block(rows, rows, threads=2)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_coordinate_descent_keeps_what_it_has(loss: str) -> None:
    X = many_rows(40_000, 5)
    y = np.where(np.arange(40_000) % 2 == 0, 1.0, -1.0)  # noise: ten times longer than we wait
    model = SVMClassifier(loss=loss, C=1e3, gamma=0.1, tol=1e-12, memory_limit="50MB")
    with ctrl_c(after=1.5):
        model.fit(X, y)
    assert np.any(model.dual_coef_)
    assert not model.converged_
    assert np.isnan(model.relative_gap_)
    assert model.history_["iteration"].size > 0
    assert set(model.predict(X[:50])) <= {-1.0, 1.0}


def test_latest_net_dual_belongs_to_the_margins() -> None:
    """What remains after an interrupt is feasible: the certificate of it is finite."""
    X = many_rows(8_000, 5)
    y = np.where(np.arange(8_000) % 2 == 0, 1.0, -1.0)
    terms = SVMClassifier()._loss().terms(np.full(8_000, 1e5))
    problem = KernelProblem(X, Kernel("rbf", 0.1), y, terms, threads=2)
    budget, history = limits(tol=1e-14, memory=20_000_000)
    with ctrl_c(after=1.0):
        SOLVERS["coordinate"](problem, Duals(np.zeros(8_000)), budget, history)
    assert history.latest is not None
    certificate = problem.certificate(
        history.latest.net_dual, problem.margins(history.latest.net_dual)
    )
    assert np.any(history.latest.net_dual)
    assert 0 < certificate.relative_gap < 1


@pytest.mark.parametrize("against", [False, True])
def test_shapley_values(against: bool) -> None:
    model = ODMClassifier(gamma=0.001).fit(many_rows(1_000, 400), np.arange(1_000) % 2)
    queries = many_rows(20_000, 400)
    with ctrl_c(after=0.3):
        shapley_values(model, queries, background=queries[:100] if against else None)


def test_prediction() -> None:
    model = ODMClassifier(gamma=0.01).fit(many_rows(1_000, 50), np.arange(1_000) % 2)
    queries = many_rows(400_000, 50)
    with ctrl_c(after=0.5):
        for _ in range(100):
            model.predict(queries)
    assert model.predict(queries[:3]).shape == (3,)


def test_problems_not_yet_begun_make_no_model() -> None:
    """A class whose problem has no duals would win wherever the others say no."""
    X = many_rows(40_000, 5)
    y = np.arange(40_000) % 3
    model = SVMClassifier(C=1e3, gamma=0.1, tol=1e-12, memory_limit="50MB", n_jobs=1)
    with ctrl_c(after=1.0):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")
