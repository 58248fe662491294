"""Joining a study and leaving it: the folder of a member, its keys, and its enrolment."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...data import DataFileError
from ...persistence.atomic_write import write_atomically
from ..config import SiteConfig, member_config, read_config
from ..control import LOCK_NAME, ControlError, ask, check_not_running
from ..network.keys import make_keys, read_public_key, read_secret_key
from ..network.relay import TOKEN_FILE
from ..settings import ConfigError
from ..site_folder import make_folder
from ..template import UNIT_NAME, unit_text, write_template
from ..training.local_rows import read_codes
from .desk_client import DeskClient, EnrolmentError
from .study import Member, Study, read_study
from .study_owner import private_text

__all__ = ["join_study", "leave_study", "own_addresses"]

PATIENCE = 30.0
_LOOPBACK = ("127.", "localhost", "[::1]")
_ANYWHERE = ("0.0.0.0", "*", "[::]")


def own_addresses(study: Study, listen: str | None, address: str | None) -> tuple[str, str | None]:
    """Return where a site listens, and the address that others dial; None if they cannot.

    Without ``listen``, a site listens nowhere, unless the desk is on this machine: a trial. A site
    that others cannot dial is met at the relay of the study, if there is one; otherwise it dials
    those that can be dialled.
    """
    trial = _host(study.desk.address).startswith(_LOOPBACK)
    if listen is None:
        listen = f"tcp://127.0.0.1:{_free_port()}" if trial else ""
    if address is None:
        host = _host(listen)
        dialled = bool(host) and host not in _ANYWHERE
        dialled = dialled and (trial or not host.startswith(_LOOPBACK))
        address = listen if dialled else study.relay
    return listen, address


def join_study(
    path: Path,
    folder: Path,
    *,
    name: str,
    invitation: Path | None,
    listen: str | None = None,
    address: str | None = None,
    **local: Any,
) -> SiteConfig:
    """Make the folder of a site and enrol it at the desk of a study.

    A site that is a member already, because it joined before or its owner admitted it, needs no
    invitation and no desk, unless its address is another one now.

    Parameters
    ----------
    path : Path
        The study.
    folder : Path
        Folder of the site; if it exists, its keys are used.
    name : str
        Name of the site.
    invitation : Path or None
        File with the invitation.
    listen, address : str, optional
        Where the site listens, and the address that others dial; see `own_addresses`.
    **local
        Settings of the site, such as ``data``.

    Returns
    -------
    SiteConfig
        The configuration that was written.

    Raises
    ------
    ConfigError, DataFileError
        If a setting is wrong, or the rows do not fit the schema. Nobody is told of the site then,
        and keys and folder are removed if they are new.
    EnrolmentError
        If the desk cannot be reached, or refuses.
    """
    study = read_study(path)
    new_folder = not folder.exists()
    make_folder(folder)
    check_not_running(folder)
    study = _newer_copy(folder, study)
    new_keys = not (folder / "secret.key").exists()
    if new_keys:
        make_keys(folder)
    key, secret = read_public_key(folder), read_secret_key(folder)
    known = study.member(key)
    reached = listen is not None or address is not None
    if (folder / "site.toml").exists() and listen is None:
        listen = _listens_already(folder)
    listen, address = own_addresses(study, listen, address)
    member = Member(name, key, address)
    if known is not None and not reached and known == Member(name, key):
        member = known  # admitted as a site that dials the others, wherever it may listen
    values = {"name": name, "listen": listen, **local}
    others = [each for each in study.members if each.public_key != key]
    try:
        config = member_config(folder, study.with_members([*others, member]), **values)
        read_codes(config)  # before anyone is told
    except (ConfigError, DataFileError):
        if new_keys:  # nobody knows them: leave nothing behind
            _remove_keys(folder, new_folder)
        raise
    if known is None or known != member:
        study, token = _enrolled(study, member, secret, invitation)
        write_atomically(folder / TOKEN_FILE, token.encode() + b"\n", mode=0o600)
    file = f"{study.name}.study"
    study.save(folder / file)
    write_template(folder, name, study=file, **{k: v for k, v in values.items() if k != "name"})
    write_atomically(folder / UNIT_NAME, unit_text(folder, name).encode())
    return read_config(folder)


def _enrolled(
    study: Study, member: Member, secret: str, invitation: Path | None
) -> tuple[Study, str]:
    if invitation is None:
        raise ConfigError(
            "an invitation is needed to join. Put the file beside the study, or name it with "
            "--invitation. Or have the owner of the study run `widemargin study admit` with the "
            f"public key {member.public_key!r}, and with --address if others are to dial this "
            "site; then join with the study that the owner sends back. The keys stay in the folder "
            "of the site for that."
        )
    text = private_text(invitation, "the invitation, which the owner of the study gives you.")
    # A desk that is started at the same time may need a while.
    with DeskClient(study.desk, member.public_key, secret, timeout=PATIENCE) as desk:
        newest, token = desk.join(study, member, text.strip().encode())
    if newest.member(member.public_key) is None:
        raise EnrolmentError("the desk enrolled nobody. Try again.")
    if newest.version > study.version:
        study.check_successor(newest)
    return newest, token


def leave_study(folder: Path) -> Study:
    """Leave the study of the site in a folder, and stop the site; return the study without it."""
    config = read_config(folder)
    if config.study is None or config.study_file is None:
        raise ConfigError(f"the site in {folder} is in no study.")
    key, secret = read_public_key(folder), read_secret_key(folder)
    with DeskClient(config.study.desk, key, secret, timeout=PATIENCE) as desk:
        left = desk.leave(config.study)
    left.save(config.study_file)
    with suppress(ControlError):  # it may not run
        ask(folder, "leave")
    return left


def _newer_copy(folder: Path, study: Study) -> Study:
    """Return the study, or the newer copy of a site that joined before.

    ConfigError if the folder is that of another site than a member of the study.
    """
    if not (folder / "site.toml").exists():
        return study
    try:
        there = read_study(folder / f"{study.name}.study", owner=study.owner)
    except ConfigError:
        raise ConfigError(
            f"{folder} is the folder of another site. Name another one with --folder."
        ) from None
    return there if there.version > study.version else study


def _remove_keys(folder: Path, with_folder: bool) -> None:
    for name in ("secret.key", "public.key"):
        (folder / name).unlink(missing_ok=True)
    if with_folder:
        (folder / LOCK_NAME).unlink(missing_ok=True)
        with suppress(OSError):  # something else was put there meanwhile
            folder.rmdir()


def _listens_already(folder: Path) -> str | None:
    try:
        return read_config(folder).listen
    except ConfigError:
        return None


def _host(address: str) -> str:
    return address.removeprefix("tcp://").rpartition(":")[0]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
