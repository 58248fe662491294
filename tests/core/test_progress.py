"""The progress line: drawn for people, silent for everything else."""

import io
import math
import os
import subprocess
import sys
import textwrap
import threading

import pytest

from widemargin.core import progress
from widemargin.core.progress import FitProgress, gap_fraction


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("WIDEMARGIN_PROGRESS", raising=False)
    return Terminal()


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_SHOWING", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_REFRESHES", 0.0)


def run(stream, gaps=(0.5, 0.05, 0.005), label="ODM [all]"):
    with FitProgress(label, tol=1e-3, stream=stream) as shown:
        for iteration, gap in enumerate(gaps):
            shown.report(iteration, gap, active_rows=1234, rows=50_000)


def test_line_shows_gap_target_and_rows(terminal, at_once):
    run(terminal)
    text = terminal.getvalue()
    for part in ("ODM [all]", "5.0e-03", "1e-03", "iteration 2", "1,234 of 50,000"):
        assert part in text


def test_line_shows_level_and_parts(terminal, at_once):
    with FitProgress("SVM", tol=1e-3, stream=terminal) as shown:
        for done in (0, 1200, 4096):
            shown.report_parts(6, done, 4096)
    text = terminal.getvalue()
    for part in ("SVM", "level 6 · parts 0 of 4,096", "1,200 of 4,096", "4,096 of 4,096"):
        assert part in text


def test_the_bar_of_parts_is_their_share(terminal, monkeypatch):
    clock = iter(range(100, 200))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    drawn = []
    monkeypatch.setattr(FitProgress, "_draw", lambda self, share, text: drawn.append(share))
    with FitProgress("SVM", tol=1e-3, stream=terminal) as shown:
        shown.report_parts(1, 0, 4)  # the first two seconds
        for done in (1, 2, 4):
            shown.report_parts(1, done, 4)
    monkeypatch.undo()
    assert drawn == [0.25, 0.5, 1.0]


def test_parts_are_silent_when_not_a_terminal(at_once):
    stream = io.StringIO()
    with FitProgress("SVM", tol=1e-3, stream=stream) as shown:
        shown.report_parts(1, 1, 4)
    assert stream.getvalue() == ""


def test_a_divided_fit_reports_levels_and_parts(monkeypatch):
    import numpy as np

    from widemargin import Stratified, SVMClassifier

    told = []
    monkeypatch.setattr(
        FitProgress, "report_parts", lambda self, level, done, of: told.append((level, done, of))
    )
    X = np.random.default_rng(0).normal(size=(80, 2))
    SVMClassifier(strategy=Stratified(levels=2, fan_in=2), random_state=0).fit(X, X[:, 0] > 0)
    assert [call for call in told if call[1] == 0] == [(2, 0, 4), (1, 0, 2), (0, 0, 1)]
    assert {(2, 4, 4), (1, 2, 2)} <= set(told)
    assert [call[0] for call in told] == sorted((call[0] for call in told), reverse=True)


def test_line_is_erased_at_the_end(terminal, at_once):
    run(terminal)
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")


def test_line_is_erased_when_the_fit_raises(terminal, at_once):
    def interrupted_gaps():
        yield 0.5
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(terminal, gaps=interrupted_gaps())
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")


def test_nothing_in_the_first_two_seconds(terminal):
    run(terminal)
    assert terminal.getvalue() == ""


def test_appears_after_two_seconds(terminal, monkeypatch):
    clock = iter([100.0, 101.9, 102.1, 102.1])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with FitProgress("ODM", tol=1e-3, stream=terminal) as shown:
        shown.report(1, 0.5, 10, 10)
        assert terminal.getvalue() == ""
        shown.report(2, 0.1, 10, 10)
        assert "1.0e-01" in terminal.getvalue()
        monkeypatch.undo()


def test_refreshes_are_rationed(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_SHOWING", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_REFRESHES", 3600.0)
    with FitProgress("ODM", tol=1e-3, stream=terminal) as shown:
        shown.report(1, 0.5, 10, 10)
        drawn = terminal.getvalue()
        for iteration in range(1000):
            shown.report(iteration, 0.1, 10, 10)
        assert terminal.getvalue() == drawn


def test_silent_when_not_a_terminal(at_once):
    stream = io.StringIO()
    run(stream)
    assert stream.getvalue() == ""


def test_silent_when_switched_off(terminal, at_once, monkeypatch):
    monkeypatch.setenv("WIDEMARGIN_PROGRESS", "0")
    run(terminal)
    assert terminal.getvalue() == ""


def test_silent_on_a_dumb_terminal(terminal, at_once, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    run(terminal)
    assert terminal.getvalue() == ""


def test_silent_outside_the_main_thread(terminal, at_once):
    thread = threading.Thread(target=run, args=(terminal,))
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


def test_silent_in_a_worker_process(tmp_path):
    pty = pytest.importorskip("pty")
    program = tmp_path / "pool.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, sys
            from widemargin.core import progress

            progress.SECONDS_BEFORE_SHOWING = 0.0

            def fit(label):
                progress.SECONDS_BEFORE_SHOWING = 0.0
                with progress.FitProgress(label, tol=1e-3) as shown:
                    shown.report(1, 0.5, 10, 10)
                return sys.stderr.isatty()

            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    assert pool.map(fit, ["worker"]) == [True], "the worker must see a terminal"
                fit("parent")
            """
        )
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    environment.pop("WIDEMARGIN_PROGRESS", None)
    subprocess.run(
        [sys.executable, str(program)], stderr=theirs, check=True, env=environment, timeout=120
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "parent" in shown
    assert "worker" not in shown


def test_a_live_display_of_the_caller_goes_first(terminal, at_once, monkeypatch):
    from rich.errors import LiveError
    from rich.progress import Progress

    def refuse(self):
        raise LiveError("Only one live display may be active at once")

    monkeypatch.setattr(Progress, "start", refuse)
    run(terminal)
    assert terminal.getvalue() == ""


def test_a_terminal_that_goes_away_does_not_end_the_fit(at_once, terminal, monkeypatch):
    def broken(self, text):
        raise OSError("Input/output error")

    monkeypatch.setattr(Terminal, "write", broken)
    run(terminal)


def test_no_standard_error_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    run(None)


def test_closed_stream():
    stream = Terminal()
    stream.close()
    stream.isatty = io.StringIO.isatty.__get__(stream)
    run(stream)


def test_infinite_and_undefined_gaps(terminal, at_once):
    run(terminal, gaps=(math.inf, math.nan))
    assert "unknown" in terminal.getvalue()


def test_the_gap_shown_never_rises(terminal, at_once):
    run(terminal, gaps=(0.5, 0.01, 0.9))
    assert "9.0e-01" not in terminal.getvalue()


@pytest.mark.parametrize(
    ("first", "gap", "tol", "expected"),
    [
        (1.0, 1.0, 1e-3, 0.0),
        (1.0, 0.1, 1e-3, 1 / 3),
        (1.0, 0.01, 1e-3, 2 / 3),
        (1.0, 1e-3, 1e-3, 1.0),
        (1.0, 0.0, 1e-3, 1.0),
        (1.0, -1e-18, 1e-3, 1.0),
        (1.0, 2.0, 1e-3, 0.0),
        (1e-4, 1e-4, 1e-3, 1.0),
        (1.0, 0.1, 0.0, 0.0),
        (math.nan, math.inf, 1e-3, 0.0),
        (math.inf, 0.1, 1e-3, 0.0),
    ],
)
def test_gap_fraction(first, gap, tol, expected):
    assert gap_fraction(first, gap, tol) == pytest.approx(expected)


def test_rich_is_imported_only_to_draw():
    code = (
        "import sys\n"
        "from widemargin.core.progress import FitProgress\n"
        "with FitProgress('ODM', tol=1e-3) as shown:\n"
        "    shown.report(1, 0.5, 10, 10)\n"
        "assert 'rich' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
