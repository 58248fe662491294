"""How svrg, dsvrg and sampled_svrg work: steps that correct themselves, parts, samples, budgets."""

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from linear_problems import Case, Run, optimum, problem_of, run_of

from engines_under_test import CarryingEngine
from widemargin import _native
from widemargin.core.outcome import Outcome
from widemargin.engines import LocalEngine
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers import dsvrg, newton, pegasos, sampled_svrg, svrg

STAGED = {"svrg": svrg.solve, "dsvrg": dsvrg.solve}
CASE = Case(n_rows=2000)


def history(run: Run) -> dict[str, Any]:
    return run.history.table()


@pytest.mark.parametrize("solver", STAGED)
@pytest.mark.parametrize("factor", [30.0, 1000.0])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_steps_that_are_too_long_correct_themselves(solver: str, factor: float) -> None:
    problem, run = problem_of(CASE), run_of(tol=1e-6, max_iter=300)
    found = STAGED[solver](problem, np.zeros(problem.size), *run, step_factor=factor)
    assert found.outcome.converged
    assert found.certificate.primal == pytest.approx(optimum_of_newton(problem), rel=1e-6)
    # The first stages went wrong, or this would test nothing; none of them was kept.
    primal = history(run)["primal"]
    assert np.count_nonzero(np.diff(primal) == 0) >= 2
    assert np.all(np.diff(primal) <= 0)


def optimum_of_newton(problem: LinearProblem) -> float:
    run = run_of(tol=1e-9)
    return newton.solve(problem, np.zeros(problem.size), *run).certificate.primal


def test_step_of_the_data_is_not_halved() -> None:
    problem, run = problem_of(CASE), run_of(tol=1e-6, max_iter=300)
    svrg.solve(problem, np.zeros(problem.size), *run)
    assert np.all(np.diff(history(run)["primal"]) < 0)


def test_rows_of_very_different_lengths_take_few_more_stages() -> None:
    stages = []
    for longest in (1.0, 30.0):
        problem = problem_of(CASE)
        # One row in a hundred is longer, and seldom wrong: uniform draws would need smaller steps.
        problem.X[::100] *= longest
        problem = LinearProblem(problem.X, problem.label, problem.constants, constant=1.0)
        run = run_of(tol=1e-4, max_iter=1000)
        assert svrg.solve(problem, np.zeros(problem.size), *run).outcome.converged
        stages.append(run.history.iterations)
    # The mean smoothness grows thirtyfold, the largest a thousandfold.
    assert stages[1] < 60 * stages[0]


@pytest.mark.parametrize("solver", STAGED)
def test_evaluations_are_counted(solver: str) -> None:
    problem, run = problem_of(CASE), run_of(tol=1e-6, max_iter=300)
    STAGED[solver](problem, np.zeros(problem.size), *run, steps_per_row=0.5)
    counted = history(run)["gradient_evaluations"]
    np.testing.assert_array_equal(counted, 2000 + 3000 * np.arange(counted.size))
    assert problem.evaluations == counted[-1]


def test_fewer_evaluations_than_plain_sgd() -> None:
    """To an objective error of 1e-4: at least three times fewer."""
    case = Case(n_rows=600, n_features=30, C=10.0)
    best = optimum(case)

    def needed(solve: Any, **options: Any) -> float:
        problem, run = problem_of(case), run_of(tol=1e-6, max_iter=150)
        solve(problem, np.zeros(problem.size), *run, **options)
        told = history(run)
        reached = np.flatnonzero(told["primal"] <= best * (1 + 1e-4))
        return float(told["gradient_evaluations"][reached[0]]) if reached.size else np.inf

    by_sgd = needed(pegasos.solve)
    assert 3 * needed(svrg.solve) <= by_sgd
    assert 3 * needed(dsvrg.solve) <= by_sgd


class TestParts:
    @pytest.mark.parametrize("partition", ["stratified", "random"])
    def test_every_row_is_in_one_part_and_classes_keep_their_shares(self, partition: str) -> None:
        problem = problem_of(Case(n_rows=1001, sparse=True, weighted=True))
        parts = dsvrg.divide(problem, 7, partition, 8, seed=0)
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(1001))
        blocks = dsvrg.on_engine(problem, parts, LocalEngine()).blocks
        positive = [np.count_nonzero(block.codes == 1) for block in blocks]
        assert max(positive) - min(positive) <= (8 if partition == "stratified" else 1)
        for rows, block in zip(parts, blocks, strict=True):
            assert abs(block.n_rows - 143) <= 1
            assert abs(block.X - problem.X[rows]).nnz == 0
            np.testing.assert_array_equal(block.codes == 1, problem.label[rows] == 1)
            assert problem.weight is not None
            np.testing.assert_array_equal(block.weight, problem.weight[rows])

    def test_strata_keep_their_shares(self) -> None:
        # Three directions: each is a stratum, and rare ones would be missing from random parts.
        random = np.random.default_rng(0)
        which = np.repeat([0, 1, 2], [180, 10, 10])
        X = np.eye(3)[which] * (5 + random.random((200, 1)))
        label = np.where(np.arange(200) % 2, 1, -1).astype(np.int8)
        problem = LinearProblem(X, label, problem_of(CASE).constants)
        for rows in dsvrg.divide(problem, 5, "stratified", 3, seed=0):
            np.testing.assert_array_equal(np.bincount(which[rows]), [36, 2, 2])

    def test_bad_options(self) -> None:
        problem, run, w = problem_of(CASE), run_of(), np.zeros(7)
        with pytest.raises(ValueError, match="`partition` must be 'stratified' or 'random'; got"):
            dsvrg.solve(problem, w, *run, partition="clusters")
        with pytest.raises(ValueError, match="`n_parts` must be at least 1; got 0"):
            dsvrg.solve(problem, w, *run, n_parts=0)

    def test_more_parts_than_rows(self) -> None:
        case = Case(n_rows=20)
        problem, run = problem_of(case), run_of(tol=1e-7, max_iter=3000)
        found = dsvrg.solve(problem, np.zeros(problem.size), *run, n_parts=50)
        assert found.certificate.primal == pytest.approx(optimum(case), rel=1e-6)

    @pytest.mark.parametrize("steps_per_row", [0.1, 1.0, 2.5])
    def test_an_engine_that_shares_nothing_gives_the_same(self, steps_per_row: float) -> None:
        answers = []
        for engine in (LocalEngine(1), LocalEngine(2), CarryingEngine()):
            problem, run = problem_of(CASE), run_of(tol=1e-6, max_iter=300)
            net_dual = np.zeros(problem.n_rows)
            found = dsvrg.solve(
                problem,
                np.zeros(problem.size),
                *run,
                net_dual,
                engine=engine,
                steps_per_row=steps_per_row,
            )
            assert found.outcome.converged
            answers.append(np.concatenate([found.iterate, net_dual]))
        np.testing.assert_array_equal(answers[0], answers[1])
        np.testing.assert_array_equal(answers[0], answers[2])

    def test_parts_take_turns_over_the_stages(self) -> None:
        visited: list[int] = []

        class Watching(LocalEngine):
            def visit(self, parts: Any, i: int, fn: Any, value: Any) -> Any:
                visited.append(i)
                return super().visit(parts, i, fn, value)

        problem, run = problem_of(CASE), run_of(tol=1e-8, max_iter=10)
        dsvrg.solve(
            problem,
            np.zeros(problem.size),
            *run,
            n_parts=8,
            partition="random",
            steps_per_row=0.1,
            engine=Watching(1),
        )
        assert visited == [k % 8 for k in range(len(visited))]
        assert len(visited) >= 8

    def test_given_steps_and_step(self) -> None:
        """T steps of η from zero, by hand: the mean of the later half of the iterates."""
        problem, run = problem_of(Case(n_rows=40, constant=0.0)), run_of(tol=1e-12, max_iter=1)
        w = np.zeros(problem.size)
        found = dsvrg.solve(problem, w, *run, n_parts=1, steps=7, step=0.01)
        at = problem.evaluate(w)
        each, total = problem.smoothness(), float(problem.smoothness().sum())
        chance = int(np.random.SeedSequence((1, 0)).generate_state(1, np.uint64)[0])
        iterates, duals = [], np.zeros(40)
        problem.evaluate(w, dual=duals)
        for i in _native.draw_rows(each, 7, chance):
            x, y = problem.X[i], problem.label[i]
            m = y * (x @ w)
            dual = max(0.8 - m, 0.0) - 0.5 * max(m - 1.2, 0.0)
            w = w - 0.01 * (w + at.gradient - (dual - duals[i]) * y * x * total / each[i])
            iterates.append(w)
        np.testing.assert_allclose(found.iterate, np.mean(iterates[3:], axis=0), rtol=1e-9)


class TestSamples:
    def test_sample_is_right_on_average(self) -> None:
        problem = problem_of(Case(n_rows=300, weighted=True))
        w, share = np.full(problem.size, 0.1), sampled_svrg.sensitivity(problem)
        exact = problem.evaluate(w).gradient
        drawn = [sampled_svrg.drawn_sample(problem, share, 60, seed) for seed in range(400)]
        gradients = np.array([core.evaluate(w).gradient for core in drawn])
        error = gradients.std(axis=0) / np.sqrt(len(drawn))
        assert np.all(np.abs(gradients.mean(axis=0) - exact) < 5 * error)
        assert all(core.n_rows <= 60 for core in drawn)

    def test_samples_grow_where_they_do_not_help(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes: list[int] = []

        def watching(problem: Any, share: Any, size: int, seed: int) -> LinearProblem:
            sizes.append(size)
            return drawn_sample(problem, share, size, seed)

        drawn_sample = sampled_svrg.drawn_sample
        monkeypatch.setattr(sampled_svrg, "drawn_sample", watching)
        problem, run = problem_of(CASE), run_of(tol=1e-6, max_iter=100)
        found = sampled_svrg.solve(problem, np.zeros(problem.size), *run, sample_size=10)
        assert found.outcome.converged
        assert set(sizes) == {10, 80, 640}
        assert sizes == sorted(sizes)
        # Looks at all rows that no sample would have needed are counted too.
        assert problem.evaluations == history(run)["gradient_evaluations"][-1] > 4 * 2000


ALL = {
    "svrg": svrg.solve,
    "dsvrg": dsvrg.solve,
    "sampled_svrg": sampled_svrg.solve,
    "pegasos": pegasos.solve,
}


@pytest.mark.parametrize("solver", ALL)
class TestBudgets:
    def test_iterations(self, solver: str) -> None:
        problem, run = problem_of(CASE), run_of(tol=1e-12, max_iter=3)
        found = ALL[solver](problem, np.zeros(problem.size), *run)
        assert found.outcome is Outcome.ITERATIONS
        assert found.certificate.primal < problem.evaluate(np.zeros(problem.size)).objective

    def test_time(self, solver: str) -> None:
        problem, run = problem_of(CASE), run_of(tol=1e-12, stopping=lambda: True)
        assert ALL[solver](problem, np.zeros(problem.size), *run).outcome is Outcome.TIME

    def test_interrupt_leaves_the_last_state(self, solver: str) -> None:
        def interrupt(row: Any) -> None:
            if row["begun"] == 3:
                raise KeyboardInterrupt

        problem = problem_of(CASE)
        run = run_of(tol=1e-12, max_iter=1000, listener=interrupt)
        with pytest.raises(KeyboardInterrupt):
            ALL[solver](problem, np.zeros(problem.size), *run)
        assert run.history.latest is not None
        assert run.history.best is not None
        again = problem.evaluate(run.history.latest).certificate.primal
        assert again == pytest.approx(history(run)["primal"][-1], rel=1e-12)

    def test_ctrl_c_in_native_code(self, solver: str) -> None:
        """Steps that would take many seconds end at once."""
        sent: list[float] = []

        def send() -> None:
            sent.append(time.perf_counter())
            signal.raise_signal(signal.SIGINT)

        timer = threading.Timer(0.1, send)

        def start(row: Any) -> None:
            if row["begun"] == 1:
                timer.start()

        problem = problem_of(Case(n_rows=2000, n_features=2000))
        run = run_of(tol=0.0, max_iter=10**6, listener=start)
        long = {} if solver == "pegasos" else {"steps_per_row": 2000.0}
        with pytest.raises(KeyboardInterrupt):
            ALL[solver](problem, np.zeros(problem.size), *run, **long)
        waited = time.perf_counter() - sent[0]
        timer.join()
        assert waited < 1
        assert run.history.latest is not None
        assert np.all(np.isfinite(run.history.latest))


@pytest.mark.parametrize("solver", ["svrg", "dsvrg", "sampled_svrg"])
def test_hinge_is_refused_with_advice(solver: str) -> None:
    problem = problem_of(Case("hinge"))
    with pytest.raises(ValueError, match=r"continuous derivative.*'dual' or 'pegasos'"):
        ALL[solver](problem, np.zeros(problem.size), *run_of())


def test_rows_without_anything_in_them() -> None:
    X = np.zeros((30, 3))
    problem = LinearProblem(X, np.resize([1, -1], 30).astype(np.int8), problem_of(CASE).constants)
    for solve in ALL.values():
        found = solve(problem, np.zeros(3), *run_of())
        assert found.outcome.converged
        np.testing.assert_array_equal(found.iterate, 0.0)
