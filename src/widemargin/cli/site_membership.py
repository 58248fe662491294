"""``widemargin site join``, ``leave`` and ``doctor``: a site as a member of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options
from .messages import BAD_FILE, aligned, faults_reported, print_json, say, usage_error
from .site import FolderOption, check_transport, run_configured, site


@site.command()
def join(
    study: Annotated[Path, typer.Argument(help="The file NAME.study.", show_default=False)],
    name: Annotated[str, typer.Option("--name", help="Name of this site.")],
    data: Annotated[Path, typer.Option("--data", help="Rows of this site; never sent.")],
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            help="Label column of the rows, by name or by position from 0, where it is called "
            "otherwise than in the study. Left out: as in the study.",
        ),
    ] = None,
    format: options.FileFormat = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            help="Address to listen on; left out: nowhere, and the site dials the others. If the "
            "desk is on this machine: a free port here.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option("--address", help="Address that others dial, if it is not that of --listen."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", "-f", help="Folder of the site; left out: its name.")
    ] = None,
    invitation: Annotated[
        Path | None,
        typer.Option("--invitation", help="Left out: NAME.invitation beside the study."),
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option("--metrics-port", help="Port of Prometheus metrics; 0 for none.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Whether to run the site at once.")
    ] = True,
    log: options.LogFile = None,
    json_log: options.JsonLog = None,
) -> None:
    """Become a member of a study, and run: make a folder and keys, enrol, train with the others.

    The rows are checked against the columns of the study before anyone is told of the site. To go
    on after a stop: `widemargin site run`, or the same command again.
    """
    check_transport()
    if folder is None and Path(name).name != name:
        raise usage_error(f"--name {name}: it is no name of a folder. Give one with --folder.")
    folder = Path(name) if folder is None else folder
    with faults_reported():
        from ..sites.studies.joining import join_study
        from ..sites.studies.study_owner import invitation_of

        if invitation is None and invitation_of(study).exists():
            invitation = invitation_of(study)
        config = join_study(
            study,
            folder,
            name=name,
            invitation=invitation,
            listen=listen,
            address=address or None,
            data=str(data.resolve()),
            label=_position_or_name(label),
            format=format,
            metrics_port=metrics_port,
        )
        assert config.study is not None
        count = len(config.study.members)
        members = "1 member" if count == 1 else f"{count} members"
        say(
            f"joined {config.study.name!r} as {name!r}: version {config.study.version}, {members}; "
            f"the site is in {folder}"
        )
        if run:
            run_configured(config, log, json_log)


@site.command()
def leave(folder: FolderOption = Path()) -> None:
    """Leave the study, and stop: the others go on without the rows of this site."""
    check_transport()
    with faults_reported():
        from ..sites.studies.joining import leave_study

        left = leave_study(folder)
    typer.echo(
        f"left {left.name!r}; version {left.version} has {len(left.members)} members. What the "
        "model has learnt from the rows until now fades as the others go on."
    )


@site.command()
def doctor(
    folder: FolderOption = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a site: files, keys, rows, addresses, neighbours, clock, resources.

    Exit code 1 if something is wrong.
    """
    check_transport()
    with faults_reported():
        from ..sites.doctor import examine

        findings = examine(folder)
    if as_json:
        print_json({"findings": [vars(each) for each in findings]})
    else:
        marks = {True: "ok", False: "WRONG", None: "?"}
        rows: list[tuple[str, str]] = []
        for each in findings:
            rows.append((f"{marks[each.right]:<5}  {each.check}", each.said))
            if each.advice:
                rows.append(("", f"→ {each.advice}"))
        typer.echo(aligned(rows))
    if any(each.right is False for each in findings):
        raise typer.Exit(BAD_FILE)


def _position_or_name(label: str | None) -> Any:
    """Return a label column as `site.toml` has it: a position is a number."""
    if label is not None and label.lstrip("-").isdigit():
        return int(label)
    return label
