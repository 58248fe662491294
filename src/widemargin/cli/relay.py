"""``widemargin site relay`` and ``relay-token``: where sites meet that can only dial out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .messages import faults_reported
from .site import check_transport, site

SecretOption = Annotated[
    Path, typer.Option("--secret", help="File with the relay's secret, for its owner only.")
]
DEFAULT_SECRET = Path("relay.secret")


@site.command()
def relay(
    member: Annotated[
        list[str], typer.Option("--member", help="Public key of a site that may meet others here.")
    ],
    listen: Annotated[
        str, typer.Option("--listen", help="Address to listen on, tcp://HOST:PORT.")
    ] = "tcp://*:7400",
    secret: SecretOption = DEFAULT_SECRET,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="File to append the log to; standard error if left out."),
    ] = None,
) -> None:
    """Run a relay, at which two sites meet that can both only dial out, until Ctrl-C or SIGTERM.

    It passes on what they encrypt for each other, and reads nothing. Both name it as the address of
    the other, relay://HOST:PORT, and have their token (`widemargin site relay-token`) in the file
    relay.token of their folders. The secret is made if there is none.
    """
    check_transport()
    with faults_reported():
        from contextlib import closing

        from ..sites.events import EventLog
        from ..sites.network.addresses import parse_address
        from ..sites.network.keys import check_public_key
        from ..sites.network.relay import relay_secret, run_relay

        members = frozenset(map(check_public_key, member))
        address = parse_address(listen)
        with closing(EventLog("relay", log)) as listener:
            run_relay(address.host, address.port, relay_secret(secret), members, listener=listener)


@site.command("relay-token")
def relay_token(
    member: Annotated[str, typer.Option("--member", help="Public key of the site.")],
    secret: SecretOption = DEFAULT_SECRET,
) -> None:
    """Print the token that a site puts into the file relay.token of its folder, with mode 600."""
    check_transport()
    with faults_reported():
        from ..sites.network.keys import check_public_key
        from ..sites.network.relay import member_token, relay_secret

        typer.echo(member_token(relay_secret(secret), check_public_key(member)))
