"""``widemargin site``: make, run and control a site of a network, a process of its own."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .files import check_output
from .messages import BAD_FILE, aligned, faults_reported, print_json, say, usage_error
from .setting_options import SettingsCommand, given_settings
from .site_check import check

site = typer.Typer(
    name="site",
    help="Run one site of a network that learns together, and show its status.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

site.command()(check)

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


@site.command(cls=SettingsCommand)
def init(
    ctx: typer.Context,
    name: Annotated[str, typer.Option("--name", help="Name of the site, as neighbours call it.")],
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Folder to make; that of the name if left out.")
    ] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", help="Address to listen on, tcp://HOST:PORT.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Data file of this site; read here, never sent.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Label column, by name or position.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="Of the data; left out: found from its name.")
    ] = None,
    sites: Annotated[int | None, typer.Option("--sites", help="Sites of the network.")] = None,
    features: Annotated[int | None, typer.Option("--features", help="Features of a row.")] = None,
    metrics_port: Annotated[
        int | None, typer.Option("--metrics-port", help="Port of Prometheus metrics; 0 for none.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Make keys, a commented site.toml and a systemd unit in a new folder.

    Give your public key and your address to the operators of neighbouring sites, and add theirs
    with `widemargin site add-neighbour`. The secret key stays in the folder.
    """
    check_transport()
    if folder is None and Path(name).name != name:
        raise usage_error(f"--name {name}: it is no name of a folder. Give one with --folder.")
    folder = Path(name) if folder is None else folder
    with faults_reported():
        from ..persistence.atomic_write import write_atomically
        from ..sites.config import check_settings, write_template
        from ..sites.network.keys import make_keys
        from ..sites.site_folder import make_folder
        from ..sites.template import UNIT_NAME, unit_text

        settings: dict[str, Any] = {
            "listen": listen,
            "data": None if data is None else str(data.resolve()),
            "label": label,
            "format": format,
            "n_sites": sites,
            "n_features": features,
            "metrics_port": metrics_port,
            **given_settings(ctx),
        }
        given = {key: value for key, value in settings.items() if value is not None}
        check_settings({"name": name, **given})
        make_folder(folder)
        if (folder / "site.toml").exists():
            raise usage_error(
                f"--folder {folder}: there is a site already. Name another folder, or edit its "
                "site.toml."
            )
        public_key = make_keys(folder)
        write_template(folder, name, **given)
        write_atomically(folder / UNIT_NAME, unit_text(folder, name).encode())
    if as_json:
        print_json({"name": name, "folder": str(folder), "public_key": public_key})
        return
    typer.echo(aligned([("site", name), ("folder", str(folder)), ("public key", public_key)]))
    typer.echo(_next_steps(folder, given))


def _next_steps(folder: Path, given: dict[str, Any]) -> str:
    file, here = shlex.quote(str(folder / "site.toml")), shlex.quote(str(folder))
    wanted = [key for key in ("data", "n_sites", "total_rows", "n_features") if key not in given]
    steps = [f"Set {', '.join(wanted)} in {folder / 'site.toml'}."] if wanted else []
    steps += [
        "Tell neighbours the name, address and public key of this site, and add theirs:\n"
        f"     widemargin site add-neighbour --folder {here} NAME tcp://HOST:PORT --key 'KEY'",
        f"Run it: widemargin site run --config {file}",
        f"Or keep it running: {folder / 'widemargin-site.service'} says how.",
    ]
    return "\nNext:\n" + "\n".join(f"  {k}. {step}" for k, step in enumerate(steps, 1))


@site.command()
def run(
    config: Annotated[Path, typer.Option("--config", help="The site's file.")] = Path("site.toml"),
    log: options.LogFile = None,
    json_log: options.JsonLog = None,
) -> None:
    """Run a site until it is stopped: train on its rows and talk to its neighbours.

    It goes on where it was stopped, or killed. Ctrl-C, SIGTERM and `widemargin site stop` save its
    state and end it.
    """
    check_transport()
    with faults_reported():
        from ..sites.config import read_config

        run_configured(read_config(config), log, json_log)


def run_configured(config: Any, log: Path | None, json_log: bool | None) -> None:
    """Run a site until it is stopped, with its log and its metrics."""
    from contextlib import ExitStack, closing

    from ..sites.control import check_not_running
    from ..sites.events import EventLog
    from ..sites.site import run_site
    from ..sites.status import served_metrics

    # Before a second process fails over the port of the metrics.
    check_not_running(config.folder)
    with ExitStack() as stack:
        listener = stack.enter_context(closing(EventLog(config.name, log, as_json=json_log)))
        if config.metrics_port:
            stack.enter_context(
                served_metrics(Path(config.folder), config.name, config.metrics_port)
            )
            listener("metrics_served", url=f"http://127.0.0.1:{config.metrics_port}/metrics")
        run_site(config, listener=listener)


@site.command()
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

        from .status_table import status_view

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
            console.print(status_view({"": _answer(folders[0])}))
        else:
            statuses = _statuses(folders)
            console.print(status_view(statuses))
            if None in statuses.values():
                raise typer.Exit(BAD_FILE)


@site.command()
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


@site.command()
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


@site.command()
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


@site.command("add-neighbour")
def add(
    name: Annotated[str, typer.Argument(help="Name of the neighbour.", show_default=False)],
    address: Annotated[
        str,
        typer.Argument(
            help="tcp://HOST:PORT, relay://HOST:PORT, or '' if it dials this site.",
            show_default=False,
        ),
    ],
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


def _statuses(folders: Sequence[Path]) -> dict[str, Mapping[str, Any] | None]:
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


def _refresh(console: Any, folders: Sequence[Path]) -> None:
    """Redraw until the user presses Ctrl-C."""
    from rich.live import Live

    from .status_table import status_view

    try:
        with Live(status_view(_statuses(folders)), console=console, auto_refresh=False) as live:
            while True:
                time.sleep(SECONDS_BETWEEN_REFRESHES)
                live.update(status_view(_statuses(folders)), refresh=True)
    except KeyboardInterrupt:
        return
