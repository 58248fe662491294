"""The training skeleton: budgets that are divided, records, interrupts, warnings."""

import pickle
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from widemargin.core.blocks import BlockMemory, RowBlock, joined
from widemargin.core.budget import LEAST_SHARE, Budget
from widemargin.core.fit import Fit, train
from widemargin.core.history import History
from widemargin.core.outcome import Certificate, Outcome, Solution
from widemargin.engines import LocalEngine

COLUMNS = {"problem": int, "iteration": int, "seconds": float, "relative_gap": float}


def solved(k: int, gap: float = 0.0, outcome: Outcome = Outcome.CONVERGED) -> Solution[int]:
    return Solution(k, Certificate(1.0, 1.0 - gap), outcome, 3 + k, "a solver")


class TestBudget:
    def test_time_is_divided_among_those_who_wait(self) -> None:
        whole = Budget(max_time=100.0)
        first = whole.share(0, 4).time_left
        last = whole.share(3, 4).time_left
        assert first == pytest.approx(25, abs=1)
        assert last == pytest.approx(100, abs=1)
        assert whole.share(0, 4, at_once=2).time_left == pytest.approx(50, abs=1)

    def test_who_comes_late_has_some_time_left(self) -> None:
        late = Budget(max_time=10.0, started=time.perf_counter() - 20.0)
        assert late.out_of_time
        assert late.share(3, 4).time_left == pytest.approx(LEAST_SHARE / 4 * 10.0, rel=0.05)

    def test_memory_and_threads(self) -> None:
        share = Budget(memory=1000, threads=4).share(sharers=3, threads=2)
        assert (share.memory, share.threads) == (333, 2)

    def test_without_a_limit_time_never_ends(self) -> None:
        budget = Budget()
        assert budget.time_left is None
        assert budget.share(0, 5).time_left is None
        assert not budget.out_of_time

    def test_a_share_stops_for_its_own_caller_and_for_the_outer_one(self) -> None:
        asked = {"outer": False, "inner": False}
        outer = Budget(stopping=lambda: asked["outer"])
        share = outer.share(stopping=lambda: asked["inner"])
        assert not share.out_of_time
        for who in asked:
            asked[who] = True
            assert share.out_of_time
            assert outer.share().out_of_time == asked["outer"]
            asked[who] = False
        assert not pickle.loads(pickle.dumps(share)).out_of_time

    def test_it_travels(self) -> None:
        budget = Budget(max_time=50.0, stopping=lambda: True)
        there = pickle.loads(pickle.dumps(budget))
        assert there.time_left == pytest.approx(50, abs=1)
        assert budget.out_of_time
        assert not there.out_of_time  # who may stop it stays behind


class TestFit:
    def test_problems_are_recorded_in_their_order(self) -> None:
        def solve(k: int, budget: Budget, history: History) -> Solution[int]:
            time.sleep(0.02 * (3 - k))
            history.record(k, iteration=0, relative_gap=0.5)
            return solved(k)

        budget = Budget()
        fit = Fit("Name", 3, solve, budget, History.of(COLUMNS, budget))
        fit.run(LocalEngine(2), at_once=2)
        found = fit.attributes()
        assert found["history_"]["problem"].tolist() == [0, 1, 2]
        assert found["history_"]["problem"].dtype == np.int64
        assert (found["n_iter_"], found["solver_"], found["converged_"]) == (5, "a solver", True)

    def test_an_interrupt_keeps_what_is_usable_and_goes_on(self) -> None:
        kept: list[Any] = []

        def solve(k: int, budget: Budget, history: History) -> Solution[int]:
            history.record(10 + k, iteration=0, relative_gap=0.5)
            if k == 1:
                raise KeyboardInterrupt
            return solved(k)

        for n_problems, wanted in ((2, [0, 11]), (3, None)):
            kept.clear()
            budget = Budget()
            fit = Fit("Name", n_problems, solve, budget, History.of(COLUMNS, budget))
            with pytest.raises(KeyboardInterrupt):
                train(fit, fit.run, kept.append)
            assert bool(kept) == (wanted is not None)
            if wanted is not None:
                assert [fit.iterate(k) for k in range(2)] == wanted
                assert np.isnan(fit.attributes()["relative_gap_"])
                assert not fit.attributes()["converged_"]
            assert len(fit.history.rows) == 2

    def test_one_warning_for_all_problems_that_points_at_the_caller(self) -> None:
        def solve(k: int, budget: Budget, history: History) -> Solution[int]:
            return solved(k, gap=0.1 * k, outcome=Outcome.TIME if k else Outcome.CONVERGED)

        budget = Budget(tol=1e-2)
        fit = Fit("Name", 3, solve, budget, History.of(COLUMNS, budget))
        with pytest.warns(ConvergenceWarning, match=r"in 2 of 3 binary problems.* 0\.2,") as caught:
            train(fit, fit.run, lambda _: None)
        assert [each.filename for each in caught] == [__file__]
        assert "`max_time`" in str(caught[0].message)

    def test_nothing_to_warn_of(self) -> None:
        budget = Budget()
        fit = Fit("Name", 1, lambda k, b, h: solved(k), budget, History.of(COLUMNS, budget))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train(fit, fit.run, lambda _: None)

    def test_listeners_hear_in_the_main_thread_only(self) -> None:
        heard: list[Any] = []

        def solve(k: int, budget: Budget, history: History) -> Solution[int]:
            history.record(k, iteration=0, relative_gap=0.5)
            return solved(k)

        budget = Budget()
        fit = Fit("Name", 2, solve, budget, History.of(COLUMNS, budget, heard.append))
        fit.run(LocalEngine(2), at_once=2)
        assert heard == []
        fit.run()
        assert [row["problem"] for row in heard] == [0, 1]
        assert threading.current_thread() is threading.main_thread()


class TestBlocks:
    def test_blocks_come_together_in_their_order(self) -> None:
        rows = np.arange(12.0).reshape(6, 2)
        codes = np.arange(6, dtype=np.int32)
        blocks = [
            RowBlock("a", rows[:2], codes[:2]),
            RowBlock("b", rows[2:], codes[2:], np.full(4, 2.0)),
        ]
        whole = joined(blocks)
        np.testing.assert_array_equal(whole.X, rows)
        np.testing.assert_array_equal(whole.codes, codes)
        np.testing.assert_array_equal(whole.weight, [1, 1, 2, 2, 2, 2])

    def test_the_oldest_is_forgotten_first(self) -> None:
        made: list[str] = []

        def make(name: str) -> str:
            made.append(name)
            return name

        memory = BlockMemory(2, make, lambda _: 1)
        for name in "aabcba":
            assert memory.of(name, name) == name
        assert made == ["a", "b", "c", "a"]


def test_reports_reach_the_listener_and_leave_no_row() -> None:
    heard = []
    history = History({"problem": int, "seconds": float}, listener=heard.append)
    history.report(counted="clusters", done=1, of=2)
    assert heard == [{"problem": 0, "counted": "clusters", "done": 1, "of": 2}]
    assert len(history.rows) == 0


def test_iterations_of_an_interrupted_problem_count() -> None:
    def solve(k: int, budget: Budget, history: History) -> Solution[int]:
        if k == 1:
            history.iterations = 50
            raise KeyboardInterrupt
        return Solution(k, Certificate(1.0, 1.0), Outcome.CONVERGED, 10)

    fit = Fit("Test", 2, solve, Budget(), History({"problem": int}))
    with pytest.raises(KeyboardInterrupt):
        fit.run()
    assert fit.attributes()["n_iter_"] == 50
    assert not fit.complete
