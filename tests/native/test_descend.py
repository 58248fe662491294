"""The native coordinate descent: shrinking, row cache, stopping, and what it leaves behind."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from oracle import solve_with_clarabel
from reference import kernels
from reference.certificate import primal
from reference.losses import make_loss
from widemargin import _native
from widemargin.core.losses import Hinge, LossTerms, MarginDistribution, SquaredHinge
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import KernelProblem

UPSILON, THETA = 0.5, 0.4
LOSSES = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "odm": MarginDistribution(UPSILON, THETA),
}
losses = pytest.mark.parametrize("loss", LOSSES)
GAMMA = 0.5


def two_clouds(
    n_rows: int, dtype: str = "float64", distance: float = 1.2
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_rows)
    y = np.where(np.arange(n_rows) % 2 == 0, 1.0, -1.0)
    return (rng.normal(size=(n_rows, 3)) + 0.5 * distance * y[:, None]).astype(dtype), y


class Run:
    """One call of ``descend`` on an RBF problem with C = 1, and what came of it."""

    def __init__(
        self,
        X: np.ndarray | sp.csr_matrix,
        y: np.ndarray,
        loss: str,
        report: Callable[..., bool] = lambda *state: False,
        start: np.ndarray | None = None,
        **options: object,
    ) -> None:
        n = len(y)
        terms: LossTerms = LOSSES[loss].terms(np.ones(n))
        kernel = Kernel("rbf", GAMMA)
        self.problem = KernelProblem(X, kernel, y, terms)
        self.net_dual = np.zeros(n) if start is None else start.copy()
        self.margin = self.problem.margins(self.net_dual)
        self.states: list[tuple[int, float, float, int, int]] = []

        def remember(*state: float) -> bool:
            self.states.append(state)  # type: ignore[arg-type]
            return report(*state)

        settings = {
            "relative_gap": 1e-9,
            "max_iterations": 10_000,
            "block": 64,
            "working_set": 24,
            "cache_bytes": 2**30,
            "shrinking": True,
            "threads": 1,
            "seed": 0,
        }
        self.error: BaseException | None = None
        self.ended = ""
        try:
            self.ended = _native.descend(
                self.problem.rows,
                kernel.spec,
                y,
                self.problem.diagonal,
                terms.lower_margin,
                terms.upper_margin,
                terms.below,
                terms.above,
                terms.bound,
                terms.floor,
                self.net_dual,
                self.margin,
                _native.DescentOptions(**{**settings, **options}),
                remember,
            )
        except Exception as error:
            self.error = error
        self.loss = loss

    @property
    def objective(self) -> float:
        """The primal objective of the net dual, by the reference."""
        X, y = self.problem.X, self.problem.label
        dense = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
        Q = kernels.signed(kernels.rbf(dense, dense, GAMMA), y)
        return primal(Q, self.net_dual, make_loss(self.loss, 1.0, np.ones(len(y)), UPSILON, THETA))


@losses
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("cache_bytes", [0, 2**30])
@pytest.mark.parametrize("block", [24, 50, 80])
def test_meets_the_oracle(loss: str, shrinking: bool, cache_bytes: int, block: int) -> None:
    X, y = two_clouds(80)
    run = Run(X, y, loss, shrinking=shrinking, cache_bytes=cache_bytes, block=block)
    assert run.ended == "converged"
    K = kernels.rbf(X, X, GAMMA)
    expected = solve_with_clarabel(K, y, loss, 1.0, None, UPSILON, THETA).objective
    assert run.objective == pytest.approx(expected, rel=2e-9)


@losses
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("cache_bytes", [0, 2**30])
def test_shrinking_changes_the_way_and_not_the_end(
    loss: str, dtype: str, layout: str, cache_bytes: int
) -> None:
    X, y = two_clouds(600, dtype, distance=3.0)
    data = sp.csr_matrix(X) if layout == "csr" else X
    shrunk = Run(data, y, loss, cache_bytes=cache_bytes)
    whole = Run(data, y, loss, cache_bytes=cache_bytes, shrinking=False)
    assert shrunk.ended == whole.ended == "converged"
    assert min(state[3] for state in shrunk.states) < 600  # rows were dropped
    assert {state[3] for state in whole.states} == {600}
    rel = 1e-7 if dtype == "float32" else 3e-9
    assert shrunk.objective == pytest.approx(whole.objective, rel=rel)


@losses
def test_dual_objective_never_falls(loss: str) -> None:
    """Each block is a step up, as long as no row is dropped."""
    X, y = two_clouds(300)
    duals = np.array([state[2] for state in Run(X, y, loss, shrinking=False).states])
    assert len(duals) > 5
    assert np.all(np.diff(duals) >= -1e-12 * duals[-1])


@losses
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("cache_bytes", [0, 2**30])
def test_threads_do_not_change_a_bit(loss: str, threads: int, cache_bytes: int) -> None:
    X, y = two_clouds(1300)
    sizes = {"block": 700, "working_set": 600, "cache_bytes": cache_bytes}
    one = Run(X, y, loss, relative_gap=1e-4, **sizes)
    many = Run(X, y, loss, relative_gap=1e-4, threads=threads, **sizes)
    np.testing.assert_array_equal(one.net_dual, many.net_dual)
    np.testing.assert_array_equal(one.margin, many.margin)
    assert one.states == many.states


# The row cache


@losses
@pytest.mark.parametrize("cached_rows", [3, 4, 7, 30])
def test_few_cached_rows_are_enough(loss: str, cached_rows: int) -> None:
    X, y = two_clouds(90)
    full = Run(X, y, loss, relative_gap=1e-8)
    tight = Run(X, y, loss, relative_gap=1e-8, cache_bytes=cached_rows * 90 * 8)
    assert tight.ended == "converged"
    assert tight.objective == pytest.approx(full.objective, rel=2e-8)


@losses
def test_cache_saves_kernel_values_and_nothing_else(loss: str) -> None:
    """With room for the working set and no more, rows are evaluated again, to the same values."""
    X, y = two_clouds(400)
    full = Run(X, y, loss, block=32)
    tight = Run(X, y, loss, block=32, cache_bytes=40 * 400 * 8)
    assert tight.states[-1][4] > full.states[-1][4]
    np.testing.assert_array_equal(tight.net_dual, full.net_dual)
    np.testing.assert_array_equal(tight.margin, full.margin)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan's own memory")
def test_cache_stays_within_its_bytes() -> None:
    """4,000 rows of 4,000 values are 128 MB; 8 MB of them are kept."""
    peaks = {}
    for megabytes in (8, 1000):
        script = f"""
            import re
            from test_descend import Run, two_clouds

            def peak():
                text = open("/proc/self/status").read()
                return int(re.search(r"VmHWM:\\s+(\\d+)", text)[1]) // 1024

            X, y = two_clouds(4000)
            seen = []
            stop = lambda *state: seen.append(peak()) or len(seen) == 40
            Run(X, y, "odm", stop, cache_bytes={megabytes} * 10**6, block=200)
            print(seen[-1] - seen[0])
        """
        found = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        peaks[megabytes] = int(found.stdout)
    assert peaks[1000] > 60  # else the test would prove nothing
    assert peaks[8] < 25


# Stopping


@losses
def test_start_at_the_optimum_is_left_alone(loss: str) -> None:
    X, y = two_clouds(120)
    first = Run(X, y, loss)
    again = Run(X, y, loss, start=first.net_dual, relative_gap=1e-8)
    assert again.ended == "converged"
    assert len(again.states) == 1
    np.testing.assert_array_equal(again.net_dual, first.net_dual)


def test_iterations_are_limited() -> None:
    X, y = two_clouds(300)
    run = Run(X, y, "odm", max_iterations=3)
    assert run.ended == "iterations"
    assert run.states[-1][0] == 3
    np.testing.assert_allclose(run.margin, run.problem.margins(run.net_dual), atol=1e-12)
    assert Run(X, y, "odm", max_iterations=0).ended == "iterations"


def test_report_may_stop_it() -> None:
    X, y = two_clouds(300)
    run = Run(X, y, "hinge", lambda iteration, *state: iteration > 0)
    assert run.ended == "stopped"
    assert len(run.states) == 2
    assert np.any(run.net_dual)


def test_exception_in_the_report_is_raised_with_state_in_order() -> None:
    X, y = two_clouds(300)

    def fail(iteration: int, *state: float) -> bool:
        if iteration > 0:
            raise LookupError("from the report")
        return False

    run = Run(X, y, "odm", fail)
    assert isinstance(run.error, LookupError)
    assert np.any(run.net_dual)
    np.testing.assert_allclose(run.margin, run.problem.margins(run.net_dual), atol=1e-12)


def test_gap_out_of_reach_ends_as_stalled() -> None:
    """A gap is never below −1; the loop must notice that it no longer gets smaller."""
    X, y = two_clouds(60, "float32")
    assert Run(X, y, "odm", relative_gap=-1.0).ended == "stalled"


@losses
def test_no_rows(loss: str) -> None:
    assert Run(np.zeros((0, 3)), np.zeros(0), loss).ended == "converged"


def test_arrays_of_another_length_are_refused() -> None:
    X, y = two_clouds(10)
    problem = KernelProblem(X, Kernel("rbf"), y, Hinge().terms(np.ones(10)))
    options = _native.DescentOptions(
        relative_gap=1e-3,
        max_iterations=1,
        block=8,
        working_set=4,
        cache_bytes=10**6,
        shrinking=True,
        threads=1,
        seed=0,
    )
    good = [y, problem.diagonal, *3 * [np.ones(10)], np.zeros(10), np.zeros(10), np.zeros(10)]
    for k in range(len(good)):
        bad = list(good)
        bad[k] = np.ones(9)
        label, diagonal, below, above, bound, floor, net_dual, margin = bad
        with pytest.raises(ValueError, match="one entry per row"):
            _native.descend(
                problem.rows,
                problem.kernel.spec,
                label,
                diagonal,
                1.0,
                np.inf,
                below,
                above,
                bound,
                floor,
                net_dual,
                margin,
                options,
                lambda *state: False,
            )
