"""``widemargin gossip demo``: a network of processes on this machine, shown as it learns."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .files import read_file
from .messages import BAD_FILE, fail, faults_reported, print_json, usage_error
from .site import check_transport

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from ..sites.demo import DemoResult

SECONDS_BETWEEN_LINES = 2.0
WIDTH_OF_A_PIPE = 160  # it has none of its own; lines must not be folded
LINES_OF_NEWS = 8
MOST_CLASSES = 20


def demo(
    data: Annotated[
        Path | None, typer.Argument(help="Data file with labels; drawn at random if left out.")
    ] = None,
    sites: Annotated[int, typer.Option("--sites", help="Processes.", min=2, max=16)] = 4,
    rows: Annotated[
        int, typer.Option("--rows", help="Rows of all sites together, if drawn.", min=100)
    ] = 8000,
    classes: Annotated[
        int, typer.Option("--classes", help="Classes of the rows, if drawn.", min=2, max=8)
    ] = 2,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Time allowed for the sites to agree.", min=5.0)
    ] = 60.0,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", help="New folder for keys, states and logs; removed if left out."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the rows.")] = 0,
    format: options.FileFormat = None,
    label: options.Label = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a network of processes here: one is killed and restarted, all agree, models are compared.

    Every process is a site as `widemargin site run` runs it: keys of its own, its own rows, talking
    to two neighbours over 127.0.0.1. Takes less than a minute. Exit code 1 if a site's model is
    more than 1 % above the objective of the model of all rows. Ctrl-C ends all processes.
    """
    check_transport()
    if keep is not None and keep.exists():
        raise usage_error(f"--keep {keep}: must be a new folder; there is something already.")
    with faults_reported(), _ended_by_any_signal():
        from rich.console import Console

        from ..sites.demo import ROUND_INTERVAL, SHORT_ROUND_INTERVAL, generated, run_demo

        width = None if Console(stderr=as_json).is_terminal else WIDTH_OF_A_PIPE
        console = Console(stderr=as_json, highlight=False, width=width)
        X, y = generated(rows, seed, classes) if data is None else _labelled(data, format, label)
        with _folder(keep) as folder, _Screen(console) as screen:
            try:
                pace = ROUND_INTERVAL if data is None else SHORT_ROUND_INTERVAL
                result = run_demo(X, y, sites, folder, seconds, screen.show, pace)
            except RuntimeError as error:
                raise fail(str(error), BAD_FILE) from None
    if as_json:
        print_json({"command": "gossip demo", **asdict(result), "passed": result.passed})
    else:
        console.print("", _summary(result), soft_wrap=True)
        console.print(_verdict(result, keep), soft_wrap=True)
    if not result.passed:
        raise typer.Exit(BAD_FILE)


def _labelled(data: Path, format: str | None, label: str | None) -> tuple[Any, Any]:
    import numpy as np

    table = read_file(data, format=format, label=label, zero_based=None)
    classes = np.unique(np.asarray(table.y))
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise ValueError(
            f"{data}: the demonstration takes two to {MOST_CLASSES} classes; there are "
            f"{len(classes)}. Use another file, or leave it out."
        )
    X = table.X.toarray() if hasattr(table.X, "toarray") else table.X
    return np.asarray(X, dtype=np.float64), table.y


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, mode=0o700)
        yield keep.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
            yield Path(folder)


@contextmanager
def _ended_by_any_signal() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the processes as Ctrl-C does."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Screen:
    """The sites as a table that is redrawn in a terminal, or as plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._news: list[str] = []
        self._next_line = 0.0

    def __enter__(self) -> _Screen:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(
        self, seconds: float, statuses: Mapping[str, Mapping[str, Any] | None], news: str | None
    ) -> None:
        """Show the statuses and the news."""
        if news is not None:
            self._news.append(f"{seconds:6.1f} s  {news}")
        if self._live is not None:
            self._live.update(self._drawn(statuses), refresh=True)
        elif news is not None:
            self._console.print(self._news[-1], markup=False, soft_wrap=True)
        elif seconds >= self._next_line:
            self._next_line = seconds + SECONDS_BETWEEN_LINES
            self._console.print(_line(seconds, statuses), markup=False, soft_wrap=True)

    def _drawn(self, statuses: Mapping[str, Mapping[str, Any] | None]) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        from .status_table import fleet_table

        news = Text("\n".join(self._news[-LINES_OF_NEWS:]), style="dim")
        return Group(fleet_table(statuses), "", news)


def _line(seconds: float, statuses: Mapping[str, Mapping[str, Any] | None]) -> str:
    from .status_table import number, progress_of

    words = [
        f"{name} {progress_of(status)}"
        + (f" {number(status.get('estimated_gap'), '.0e')}" if status else "")
        for name, status in statuses.items()
    ]
    return f"{seconds:6.1f} s  {', '.join(words)}"


def _summary(result: DemoResult) -> RenderableType:
    from .status_table import plain_table

    figures = ("rows", "rounds", "accuracy alone", "accuracy now", "above the optimum")
    table = plain_table("site", right=figures)
    for site in result.sites:
        killed = " (killed)" if site.name == result.victim else ""
        table.add_row(
            site.name + killed,
            f"{site.rows:,}",
            f"{site.rounds:,}",
            f"{site.accuracy_alone:.4f}",
            f"{site.accuracy:.4f}",
            f"{_percent(site.excess)}",
        )
    return table


def _verdict(result: DemoResult, keep: Path | None) -> str:
    worst = max(site.excess for site in result.sites)
    lines = [
        "",
        f"Pooled, the rows give an accuracy of {result.accuracy:.4f}. No row left its process; "
        f"{result.victim} was killed on the way and went on from its state.",
        f"{'All' if result.agreed else 'Not all'} sites agreed, {result.seconds:.0f} s in all. "
        f"Models are at most {_percent(worst)} above the pooled optimum: "
        + ("within the 1 % wanted." if result.passed else "more than the 1 % wanted."),
    ]
    if keep is not None:
        lines.append(f"Keys, states and logs are in {keep}.")
    return "\n".join(lines)


def _percent(share: float) -> str:
    """Write a share as a percentage; rounding of the optimum may make it negative."""
    return f"{max(0.0, 100 * share):.3f} %"
