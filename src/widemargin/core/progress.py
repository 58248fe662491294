"""A progress line for fits that take longer than two seconds.

Solvers report after every iteration; the line is drawn only on a terminal. Most fits run inside
grid searches, notebooks, pipes and worker processes, where a report costs one attribute test.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from .history import Listener

__all__ = ["FitProgress", "gap_fraction"]

#: A fit that ends sooner shows nothing.
SECONDS_BEFORE_SHOWING = 2.0
SECONDS_BETWEEN_REFRESHES = 0.1


class FitProgress:
    """Progress line of a fit, from its first duality gap to ``tol``.

    A context manager. The line appears on standard error if that is a terminal, in the main thread
    of the main process, once the fit has taken two seconds, and is erased when the fit ends.
    ``WIDEMARGIN_PROGRESS=0`` in the environment turns it off.

    Parameters
    ----------
    label : str
        Text at the beginning of the line, e.g. ``"ODM, class 3 of 10"``.
    tol : float
        Relative gap at which the fit stops; the bar is full there.
    stream : file-like, default=None
        File to draw on; None takes standard error.

    Notes
    -----
    The bar is logarithmic: from the first reported gap to `tol`, each tenfold reduction takes the
    same length. The gap of a solver may rise for a while; the bar shows the best one so far.

    No thread is started: the line is redrawn by `report` itself, at most ten times a second.

    Examples
    --------
    >>> from widemargin.core.progress import FitProgress
    >>> with FitProgress("ODM", tol=1e-3) as progress:
    ...     progress.report(1, relative_gap=0.5, active_rows=80, rows=100)
    """

    def __init__(self, label: str, tol: float, *, stream: TextIO | None = None) -> None:
        self.label = label
        self.tol = tol
        self._stream = stream
        self._visible = False
        self._start = 0.0
        self._next_refresh = 0.0
        self._first_gap = math.nan
        self._best_gap = math.inf
        self._display: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        stream = sys.stderr if self._stream is None else self._stream
        self._stream = stream
        self._visible = _is_visible(stream)
        if self._visible:
            self._start = time.monotonic()
            self._next_refresh = self._start + SECONDS_BEFORE_SHOWING
        return self

    def __exit__(self, *_: object) -> None:
        self._visible = False
        display, self._display = self._display, None
        if display is not None:
            # A closed terminal has nothing left to erase.
            with contextlib.suppress(OSError, ValueError):
                display.stop()

    def report(
        self,
        iteration: int,
        relative_gap: float,
        active_rows: int | None = None,
        rows: int | None = None,
    ) -> None:
        """Record the state of the fit, and redraw the line if it is due.

        Parameters
        ----------
        iteration : int
            Passes made so far.
        relative_gap : float
            Relative duality gap now.
        active_rows, rows : int, optional
            Rows that the solver still updates, and rows of the problem.
        """
        if not self._visible:
            return
        if math.isfinite(relative_gap):
            if math.isnan(self._first_gap):
                self._first_gap = relative_gap
            self._best_gap = min(self._best_gap, relative_gap)
        if not self._due():
            return
        gap = f"{self._best_gap:.1e}" if math.isfinite(self._best_gap) else "unknown"
        active = "" if active_rows is None else f" · active {active_rows:,} of {rows:,}"
        self._draw(
            gap_fraction(self._first_gap, self._best_gap, self.tol),
            f"gap {gap} → {self.tol:.0e} · iteration {iteration:,}{active}",
        )

    def report_parts(self, level: int, done: int, parts: int) -> None:
        """Record how many parts of a level are solved, and redraw the line if it is due.

        Parameters
        ----------
        level : int
            The level being solved; 0 is the root.
        done, parts : int
            Parts solved, and parts of the level.
        """
        if self._visible and self._due():
            self._draw(done / parts, f"level {level} · parts {done:,} of {parts:,}")

    def report_count(self, what: str, done: int, of: int) -> None:
        """Record a count, and redraw the line if it is due.

        Parameters
        ----------
        what : str
            What is counted.
        done, of : int
            Number that is done, and total number.
        """
        if self._visible and self._due():
            self._draw(done / of, f"{what} {done:,} of {of:,}")

    def listener(self, name: str, verbose: int) -> Listener:
        """Return what solvers call with their records: it redraws the line, and prints if verbose.

        Parameters
        ----------
        name : str
            Name of the estimator, for what is printed.
        verbose : int
            Whether to print.
        """
        counted = -1

        def listen(row: Mapping[str, Any]) -> None:
            nonlocal counted
            if "counted" in row:
                what, done, of = row["counted"], row["done"], row["of"]
                self.report_count(what, done, of)
                if verbose and done != counted:
                    print(f"[{name}] {what}: {done} of {of}")
                    counted = done
                return
            iteration, gap = row["iteration"], row["relative_gap"]
            active, rows = row["active_rows"], row["rows"]
            self.report(iteration, gap, active, rows)
            if verbose and (iteration % 10 == 0 or gap <= self.tol):
                print(
                    f"[{name}] iteration {iteration}: relative gap {gap:.2e}, "
                    f"{active} of {rows} rows active"
                )

        return listen

    def _due(self) -> bool:
        now = time.monotonic()
        if now < self._next_refresh:
            return False
        self._next_refresh = now + SECONDS_BETWEEN_REFRESHES
        return True

    def _draw(self, fraction: float, text: str) -> None:
        try:
            if self._display is None and not self._open_display():
                self._visible = False
                return
            assert self._display is not None
            assert self._task is not None
            # Rich measures the time since the line appeared, not since the fit began.
            text = f"{text} · {time.monotonic() - self._start:.0f} s"
            self._display.update(self._task, completed=fraction, text=text)
            self._display.refresh()
        except (OSError, ValueError):
            # An error of the terminal must not end the fit.
            self._visible = False

    def _open_display(self) -> bool:
        from rich.console import Console
        from rich.errors import LiveError
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(file=self._stream)
        if console.is_dumb_terminal:
            return False
        display = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            console=console,
            transient=True,
            auto_refresh=False,
            # Redirecting would reroute the caller's own prints during a fit.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = display.add_task(escape(self.label), total=1.0, text="")
        try:
            display.start()
        except LiveError:
            return False  # the caller has a live display of its own
        self._display = display
        return True


def gap_fraction(first_gap: float, gap: float, tol: float) -> float:
    """Return the part of the way from `first_gap` to `tol`, on a logarithmic scale in [0, 1].

    Parameters
    ----------
    first_gap, gap, tol : float
        Relative gap at the beginning, now, and at the end. Non-finite gaps count as no progress.

    Returns
    -------
    float
        0 at `first_gap` or above, 1 at `tol` or below.
    """
    if not (math.isfinite(first_gap) and math.isfinite(gap)):
        return 0.0
    if gap <= tol:
        return 1.0
    if gap >= first_gap or tol <= 0:
        return 0.0
    return math.log(first_gap / gap) / math.log(first_gap / tol)


def _is_visible(stream: TextIO | None) -> bool:
    """Return whether a line drawn on `stream` by this thread is seen by a user."""
    if os.environ.get("WIDEMARGIN_PROGRESS") == "0" or stream is None:
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    # Workers of a pool inherit the terminal; their lines would overwrite one another.
    if multiprocessing.parent_process() is not None:
        return False
    if multiprocessing.current_process().name != "MainProcess":
        return False
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False  # not a real file, or closed
