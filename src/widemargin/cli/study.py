"""``widemargin study``: describe what sites learn together, sign it, and let sites enrol."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .messages import aligned, faults_reported, print_json, usage_error
from .setting_options import SettingsCommand, given_settings
from .site import check_transport
from .study_schema import Example, found_schema, with_declared

study = typer.Typer(
    name="study",
    help="Describe what sites learn together, and let them enrol.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StudyPath = Annotated[Path, typer.Argument(help="The file NAME.study.", show_default=False)]
# A guess that sets the pace of consensus, not its result.
USUAL_ROWS = 1000


@study.command(cls=SettingsCommand)
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the study.", show_default=False)],
    sites: Annotated[
        int,
        typer.Option(
            "--sites", min=1, help="Sites that begin together; others may join them later."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Example of a site's table: its columns become the schema."),
    ] = None,
    label: options.Label = None,
    format: options.FileFormat = None,
    n_features: Annotated[
        int | None,
        typer.Option("--features", help="Features of a row, if there is no example."),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option("--classes", help="Labels, by commas. Left out: those of the example."),
    ] = None,
    folder: Annotated[Path, typer.Option("--folder", help="Where the files are written.")] = Path(),
    desk: Annotated[
        str, typer.Option("--desk", help="Where sites will enrol, tcp://HOST:PORT.")
    ] = "tcp://127.0.0.1:7000",
    relay: Annotated[
        str | None,
        typer.Option(
            "--relay",
            help="Where sites meet that cannot be dialled, relay://HOST:PORT; the desk runs it.",
        ),
    ] = None,
    topology: Annotated[
        str,
        typer.Option(
            "--topology",
            help="Who are neighbours: the members next to each other (ring), two on either side "
            "(nearest), or all (complete).",
        ),
    ] = "nearest",
    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="Schema, as `site check --write-schema` writes it."),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="COLUMN=LOW:HIGH",
            help="Declared range of a column: nothing is told about its values (repeat for more).",
        ),
    ] = None,
    levels: Annotated[
        list[str] | None,
        typer.Option(
            "--levels",
            metavar="COLUMN=A,B,C",
            help="Declared levels of a category, likewise (repeat for more).",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a signed description, NAME.study, the keys of its owner and an invitation.

    Every setting that sites share is an option. Run `widemargin study host` next, and give
    NAME.study and NAME.invitation to the operators of the sites.
    """
    check_transport()
    if Path(name).name != name or name.startswith("."):
        raise usage_error(f"{name}: the study needs a name that a file can have.")
    with faults_reported():
        from ..sites.site_folder import make_folder
        from ..sites.studies.study_owner import create_study

        settings = given_settings(ctx)
        settings.setdefault("least_sites", sites)
        private = settings.get("solver") == "private"
        if schema_file is None:
            example = found_schema(data, label, format, n_features, classes)
            example = example.without_values() if private else example
        elif any(each is not None for each in (data, n_features, classes)):
            raise usage_error(
                "--schema has the columns and classes: leave --data, --features and --classes out."
            )
        else:
            from ..sites.studies.schema import read_schema

            example = Example(read_schema(schema_file))
        schema = with_declared(example.schema, ranges or (), levels or ())
        degree = {"ring": 2, "nearest": 4}.get(topology, sites - 1)
        if not private:  # its sites do not count their rows: a guess would stay
            settings.setdefault("total_rows", (example.n_rows or USUAL_ROWS) * sites)
        settings.setdefault("n_links", max(1, sites * min(degree, sites - 1)))
        if example.row_square is not None:
            settings.setdefault("row_square", example.row_square)
        make_folder(folder)
        path = folder / f"{name}.study"
        made = create_study(
            path,
            name=name,
            desk=desk,
            topology=topology,
            settings=settings,
            schema=schema,
            relay=relay,
        )
    if as_json:
        print_json({"study": str(path), "owner": made.owner, "desk_key": made.desk.public_key})
        return
    files = path.with_suffix("")
    described = f"{schema.n_features or len(schema.columns)} columns, classes " + ", ".join(
        map(str, schema.classes)
    )
    typer.echo(
        aligned(
            [
                ("study", f"{path}, signed; every site gets a copy"),
                ("invitation", f"{files}.invitation, a secret; every site that may join gets it"),
                ("keys", f"{files}.owner, secret: keep it here, and a backup elsewhere"),
                ("data", described),
            ]
        )
    )
    typer.echo(
        f"\nNext:\n  1. Here: widemargin study host {shlex.quote(str(path))}\n"
        f"  2. At each site: widemargin site join {path.name} --name NAME --data rows.csv"
    )


@study.command()
def host(
    path: StudyPath,
    listen: Annotated[
        str | None,
        typer.Option("--listen", help="Address to bind; left out: the desk's port, everywhere."),
    ] = None,
    log: options.LogFile = None,
    json_log: options.JsonLog = None,
) -> None:
    """Run the desk of a study, where sites enrol and leave, until Ctrl-C or SIGTERM.

    It sees names, addresses and public keys of sites, neither rows nor models. Sites that are
    members go on without it. If the study has a relay, it runs here, too: it passes on what sites
    encrypt for each other.
    """
    check_transport()
    with faults_reported():
        import signal
        import threading
        from contextlib import closing

        from ..sites.events import EventLog
        from ..sites.network.descriptors import desk_connections, raise_limit
        from ..sites.studies.enrolment import Desk, desk_listen
        from ..sites.studies.study_owner import StudyOwner

        owner = StudyOwner(path)
        found = owner.study()
        raise_limit()
        at_the_desk, at_the_relay = desk_connections(relay=found.relay is not None)
        ended = threading.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: ended.set())
        with closing(EventLog(found.name, log, as_json=json_log)) as listener:
            where = listen or desk_listen(found.desk.address)
            desk = Desk(owner, where, listener, most=at_the_desk)
            with closing(desk), _relay(owner, found.relay, at_the_relay, listener):
                members = [member.name for member in found.members]
                listener("desk_open", listen=where, version=found.version, members=members)
                while not ended.wait(1.0):
                    pass
                listener("desk_closed")


def _relay(
    owner: Any, address: str | None, most: int, listener: Any
) -> AbstractContextManager[Any]:
    """Return the relay of a study, running; nothing if it has none."""
    if address is None:
        return nullcontext()
    from ..sites.network.relay import Relay
    from ..sites.studies.enrolment import desk_listen

    where = desk_listen(address.replace("relay://", "tcp://"))
    listener("relay_open", listen=where)
    return Relay(where, owner.relay_secret, owner.keys, most=most, listener=listener)


@study.command()
def show(path: StudyPath, as_json: options.AsJson = False) -> None:
    """Show a study, after its signature was checked."""
    check_transport()
    with faults_reported():
        from ..sites.studies.study import read_study

        found = read_study(path)
    if as_json:
        print_json(found.document())
        return
    lines = [
        ("study", f"{found.name}, version {found.version}, signature valid"),
        ("owner", found.owner),
        ("desk", f"{found.desk.address}  {found.desk.public_key}"),
        ("relay", found.relay or "none"),
        ("topology", found.topology),
        ("begins with", f"{found.least_sites} sites"),
        *((f"  {key}", str(value)) for key, value in found.settings.items()),
        ("label", str(found.schema.label)),
        ("classes", ", ".join(map(str, found.schema.classes))),
        ("columns", str(found.schema.n_features or ", ".join(found.schema.names))),
        ("members", str(len(found.members))),
        *((f"  {m.name}", f"{m.address or 'dials only'}  {m.public_key}") for m in found.members),
    ]
    typer.echo(aligned(lines))


@study.command()
def admit(
    path: StudyPath,
    name: Annotated[str, typer.Option("--name", help="Name of the site.")],
    key: Annotated[str, typer.Option("--key", help="Its public key, 40 characters.")],
    address: Annotated[
        str | None,
        typer.Option("--address", help="tcp://HOST:PORT; left out if it cannot be dialled."),
    ] = None,
) -> None:
    """Add a member by hand: for sites that cannot reach the desk, or to change an address."""
    check_transport()
    with faults_reported():
        from ..sites.studies.study import checked_member
        from ..sites.studies.study_owner import StudyOwner

        member = checked_member({"name": name, "public_key": key, "address": address})
        changed = StudyOwner(path).admit(member)
    typer.echo(f"{name} is a member; {path} is version {changed.version}.")


@study.command()
def remove(
    path: StudyPath,
    name: Annotated[str, typer.Option("--name", help="Name of the member.")],
) -> None:
    """Remove a member, and make a new invitation: the member knows the old one."""
    check_transport()
    with faults_reported():
        from ..sites.studies.study_owner import StudyOwner

        owner = StudyOwner(path)
        before, changed = owner.study(), owner.remove(name)
    typer.echo(
        f"{name} is no member any more; {path} is version {changed.version}, and the invitation is "
        "new."
    )
    if changed.least_sites < before.least_sites:
        typer.echo(f"If the others wait for it, the {changed.least_sites} that are left go on.")
    elif not changed.may_begin:
        members, needed = len(changed.members), changed.least_sites
        typer.echo(f"Sites that do not train yet wait for more: {members} of {needed} are left.")
