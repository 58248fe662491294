"""``widemargin gossip watch``: a page that draws the network, for a browser on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from widemargin.cli.messages import faults_reported, usage_error
from widemargin.cli.site_control import check_transport

__all__ = ["watch"]


def watch(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of sites on this machine.", show_default=False)
    ],
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page, too.")] = False,
) -> None:
    """Serve a read-only page that draws sites, their disagreement and accuracy, until Ctrl-C.

    It listens on 127.0.0.1 alone and holds neither rows nor weights. From another machine, reach it
    through ssh: `ssh -L PORT:127.0.0.1:PORT HOST`.
    """
    check_transport()
    with faults_reported():
        from widemargin.sites.runtime.local_http import HOST, LocalServer
        from widemargin.sites.watch import Watcher, page_of

        for folder in folders:
            if not (folder / "site.toml").is_file():
                raise usage_error(
                    f"{folder}: must be the folder of a site; it has no site.toml. "
                    "`widemargin site init` makes one."
                )
        with LocalServer(port, page_of(Watcher(folders))) as server:
            address = f"http://{HOST}:{server.port}/"
            typer.echo(f"{address} shows {len(folders)} sites; Ctrl-C ends it.")
            if browser:
                import webbrowser

                webbrowser.open(address)
            try:
                while True:
                    time.sleep(3600)
            except KeyboardInterrupt:
                return  # the way to end it
