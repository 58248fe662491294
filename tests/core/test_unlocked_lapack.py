"""Cholesky's method with the interpreter's lock released."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import scipy.linalg

from widemargin.core.resources import single_threaded_blas
from widemargin.core.unlocked_lapack import solve_positive_definite


def positive_definite(n: int, dtype: type) -> np.ndarray:
    half = np.random.default_rng(0).standard_normal((n, n)).astype(dtype)
    return np.asarray(half @ half.T + n * np.eye(n, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 300])
def test_solves_as_scipy_does(dtype, n):
    matrix = positive_definite(n, dtype)
    target = np.random.default_rng(1).standard_normal(n)
    wanted = scipy.linalg.solve(matrix.astype(np.float64), target, assume_a="pos")
    found = solve_positive_definite(matrix, target)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_a_matrix_that_is_not_positive_definite_has_no_solution():
    assert solve_positive_definite(-np.eye(3), np.ones(3)) is None


def test_a_strided_matrix_is_refused():
    with pytest.raises(ValueError, match="contiguous"):
        solve_positive_definite(np.eye(6)[::2, ::2], np.ones(3))


def test_other_threads_go_on_while_one_factorises():
    matrix, ticks, done = positive_definite(3000, np.float32), [], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    try:
        with single_threaded_blas():
            began = time.perf_counter()
            solve_positive_definite(matrix, np.ones(3000))
            ended = time.perf_counter()
    finally:
        done.set()
        other.join()
    # With the lock held, the other thread would run at the two ends of the call at most.
    assert sum(began < each < ended for each in ticks) > 10
