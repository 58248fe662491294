"""``widemargin site``: a site of a network as a process of its own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .messages import aligned, faults_reported, print_json, usage_error
from .site_control import add, check_transport, model, reload, status, stop

__all__ = ["site"]

site = typer.Typer(name="site", no_args_is_help=True, rich_markup_mode=None)


@site.callback()
def _site() -> None:
    """Run one site of a network that learns together, and show its status."""


@site.command()
def init(
    name: Annotated[str, typer.Option("--name", help="Name of the site, as neighbours call it.")],
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Folder to make; that of the name if left out."),
    ] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", help="Address to listen on, tcp://HOST:PORT.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Data file of this site; read here, never sent.")
    ] = None,
    lam: Annotated[float | None, typer.Option("--lam", help="λ; the same at all sites.")] = None,
    sites: Annotated[int | None, typer.Option("--sites", help="Sites of the network.")] = None,
    total_rows: Annotated[
        int | None, typer.Option("--total-rows", help="Rows of all sites together.")
    ] = None,
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
        from ..sites.keys import make_keys
        from ..sites.template import UNIT_NAME, unit_text

        settings: dict[str, Any] = {
            "listen": listen,
            "data": None if data is None else str(data.resolve()),
            "lam": lam,
            "n_sites": sites,
            "total_rows": total_rows,
            "n_features": features,
            "metrics_port": metrics_port,
        }
        given = {key: value for key, value in settings.items() if value is not None}
        check_settings({"name": name, **given})
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
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
    log: Annotated[
        Path | None,
        typer.Option("--log", help="File to append the log to; standard error if left out."),
    ] = None,
    json_log: Annotated[
        bool | None,
        typer.Option(
            "--json-log/--plain-log", help="Left out: JSON lines unless a terminal watches."
        ),
    ] = None,
) -> None:
    """Run a site until it is stopped: train on its rows and talk to its neighbours.

    It goes on where it was stopped, or killed. Ctrl-C, SIGTERM and `widemargin site stop` save its
    state and end it.
    """
    check_transport()
    with faults_reported():
        from contextlib import ExitStack, closing

        from ..sites.config import read_config
        from ..sites.events import EventLog
        from ..sites.site import run_site
        from ..sites.status import served_metrics

        settings = read_config(config)
        with ExitStack() as stack:
            listener = stack.enter_context(closing(EventLog(settings.name, log, as_json=json_log)))
            if settings.metrics_port:
                stack.enter_context(
                    served_metrics(Path(settings.folder), settings.name, settings.metrics_port)
                )
                listener("metrics_served", url=f"http://127.0.0.1:{settings.metrics_port}/metrics")
            run_site(settings, listener=listener)


for command in (status, model, reload, stop):
    site.command()(command)
site.command("add-neighbour")(add)
