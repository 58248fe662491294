"""Commands for a running site: show its status, save its model, reload its file, stop it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .files import check_output
from .messages import BAD_FILE, faults_reported, print_json, say, usage_error

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["add", "check_transport", "model", "reload", "status", "stop"]

FolderOption = Annotated[
    Path, typer.Option("--folder", "-f", help="Folder of the site, where its site.toml is.")
]
FoldersOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--folder", "-f", help="Folder of the site; this one if left out (repeat for more)."
    ),
]
SECONDS_BETWEEN_REFRESHES = 1.0
SECONDS_TO_STOP = 30.0

Statuses = Mapping[str, Mapping[str, Any] | None]


def status(
    folder: FoldersOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C, if a terminal watches.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, a line per site.")] = False,
) -> None:
    """Show the status of a site: its progress, and whether its neighbours are heard.

    With several folders, a line for each site. Exit code 1 if one of them does not answer.
    """
    check_transport()
    folders = [Path()] if folder is None else folder
    with faults_reported():
        from rich.console import Console

        if as_json:
            if watch:
                raise usage_error("--watch draws a table, --json prints once; give one of them.")
            for each in folders:
                print_json(_answer(each))
            return
        # A pipe has no width; what is written to it must not be folded.
        console = Console(width=None if Console().is_terminal else 160, highlight=False)
        if watch and console.is_terminal:
            _refresh(console, folders)
        elif len(folders) == 1:
            console.print(_drawn({"": _answer(folders[0])}))
        else:
            statuses = _statuses(folders)
            console.print(_drawn(statuses))
            if None in statuses.values():
                raise typer.Exit(BAD_FILE)


def model(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model (.wm).")],
    folder: FolderOption = Path(),
) -> None:
    """Save the model that a running site has now; the site goes on."""
    check_transport()
    with faults_reported():
        check_output(output, "--output", ())
        # The site writes the file, from a folder of its own.
        answer = _answer(folder, "model", path=str(output.resolve()))
    typer.echo(f"saved {output}" + ("" if answer.get("agreed") else "; sites do not agree yet"))


def reload(folder: FolderOption = Path()) -> None:
    """Have a running site read its site.toml again: neighbours come and go."""
    check_transport()
    with faults_reported():
        answer = _answer(folder, "reload")
    changes = [
        f"{word}: {', '.join(answer[key])}"
        for key, word in (("added", "new neighbours"), ("removed", "gone"))
        if answer.get(key)
    ]
    typer.echo("\n".join(changes) if changes else "read again: the same neighbours")


def stop(folder: FolderOption = Path()) -> None:
    """Stop a running site; its state is saved first."""
    check_transport()
    from ..sites.control import ControlError

    with faults_reported():
        _answer(folder, "stop")
        deadline = time.monotonic() + SECONDS_TO_STOP
        while time.monotonic() < deadline:
            try:
                _answer(folder)
            except ControlError:
                typer.echo("stopped")
                return
            time.sleep(0.1)
    say(f"error: the site still runs after {SECONDS_TO_STOP:.0f} s; its log may say why.")
    raise typer.Exit(BAD_FILE)


def add(
    name: Annotated[str, typer.Argument(help="Name of the neighbour.", show_default=False)],
    address: Annotated[str, typer.Argument(help="tcp://HOST:PORT.", show_default=False)],
    # An option, not an argument: it may begin with a hyphen.
    public_key: Annotated[str, typer.Option("--key", help="Its public key, 40 characters.")],
    folder: FolderOption = Path(),
) -> None:
    """Add a neighbour to site.toml; `widemargin site reload` informs a running site.

    The neighbour must add this site as well. Keys have characters that shells read: quote them.
    """
    check_transport()
    with faults_reported():
        from ..sites.config import Neighbour, add_neighbour

        path = folder / "site.toml"
        add_neighbour(path, Neighbour(name, address, public_key))
    typer.echo(f"added {name} to {path}; tell a running site by `widemargin site reload`.")


def check_transport() -> None:
    """End with a usage error unless pyzmq, the transport of sites, is installed."""
    from importlib.util import find_spec

    if find_spec("zmq") is None:
        raise usage_error(
            "Sites talk through pyzmq, which is not installed. Get it with "
            '`pip install "widemargin[gossip]"`.'
        )


def _answer(folder: Path, command: str = "status", **fields: Any) -> dict[str, Any]:
    from ..sites.control import ask

    return dict(ask(folder, command, **fields))


def _statuses(folders: Sequence[Path]) -> Statuses:
    """Return the status of each site; None for one that does not answer."""
    from ..sites.control import ControlError
    from ..sites.watch import name_of

    statuses: dict[str, Mapping[str, Any] | None] = {}
    for folder in folders:
        try:
            answer = _answer(folder)
            statuses[str(answer["name"])] = answer
        except ControlError:
            statuses[name_of(folder)] = None
    return statuses


def _drawn(statuses: Statuses) -> RenderableType:
    from .status_table import fleet_table, site_view

    answers = list(statuses.values())
    if len(answers) == 1 and answers[0] is not None:
        return site_view(answers[0])
    return fleet_table(statuses)


def _refresh(console: Any, folders: Sequence[Path]) -> None:
    """Redraw until the user presses Ctrl-C."""
    from rich.live import Live

    try:
        with Live(_drawn(_statuses(folders)), console=console, auto_refresh=False) as live:
            while True:
                time.sleep(SECONDS_BETWEEN_REFRESHES)
                live.update(_drawn(_statuses(folders)), refresh=True)
    except KeyboardInterrupt:
        return
