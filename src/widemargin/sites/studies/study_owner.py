"""What the owner of a study keeps: its secret keys and the invitation, and changes of members.

Beside ``NAME.study`` are ``NAME.owner``, the keys that sign it and that the desk proves to own, and
``NAME.invitation``, a secret that the operators of sites show at the desk. Both are for the owner's
eyes; the invitation goes to those who may join, too.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq

from ...persistence.atomic_write import write_atomically
from ..settings import Neighbour
from ..training.private_checks import check_private
from .schema import Schema
from .signing import make_signer, public_of
from .study import Member, Study, StudyError, checked_settings, read_study

__all__ = ["StudyOwner", "create_study", "invitation_of", "private_text"]

SECRET = 0o600


def private_text(path: Path, what: str) -> str:
    """Return the contents of a file that only its owner may read."""
    try:
        mode = path.stat().st_mode
        text = path.read_text("ascii")
    except FileNotFoundError:
        raise StudyError(f"{path} is missing: {what}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path} is damaged.") from None
    if stat.S_IMODE(mode) & 0o077:
        raise PermissionError(
            f"{path} must be readable by its owner only; its mode is {stat.S_IMODE(mode):03o}. "
            f"Run `chmod 600 {path}`."
        )
    return text


def invitation_of(study: Path) -> Path:
    """Return the path of the invitation beside a study."""
    return study.with_suffix(".invitation")


def create_study(
    path: Path,
    *,
    name: str,
    desk: str,
    topology: str,
    settings: Mapping[str, Any],
    schema: Schema,
    relay: str | None = None,
) -> Study:
    """Write a new study without members, the keys of its owner and an invitation.

    Raises
    ------
    FileExistsError
        If one of the files exists.
    StudyError
        If a setting or the address is wrong.
    """
    _check_robust(topology, settings)
    if settings.get("solver") == "private":
        check_private(settings, schema)
    keys = path.with_suffix(".owner")
    for each in (path, keys, invitation_of(path)):
        if each.exists() or each.is_symlink():
            raise FileExistsError(f"{each} exists already. Give the study another name or folder.")
    signer = make_signer()
    desk_public, desk_secret = (key.decode() for key in zmq.curve_keypair())
    study = Study(
        name,
        public_of(signer),
        1,
        Neighbour("desk", desk, desk_public),
        topology,
        checked_settings(dict(settings)),
        schema,
        relay,
    ).signed(signer)
    Study.from_bytes(study.to_bytes())  # what is written can be read, or an error says why not
    kept = {"signing_key": signer, "desk_secret_key": desk_secret}
    write_atomically(keys, json.dumps(kept, indent=1).encode() + b"\n", mode=SECRET)
    _new_invitation(path)
    study.save(path)
    return study


def _check_robust(topology: str, settings: Mapping[str, Any]) -> None:
    """Refuse more liars than the neighbours of a member could ever outvote."""
    robust, most = settings.get("robust"), {"ring": 2, "nearest": 4}.get(topology)
    if isinstance(robust, int) and most is not None and 2 * robust >= most:
        raise StudyError(
            f"`robust` = {robust} needs more than {2 * robust} neighbours, and topology "
            f"{topology!r} gives a site {most} at most. Take 'complete', or another `robust`."
        )


def _new_invitation(study: Path) -> None:
    text = secrets.token_hex(32).encode() + b"\n"
    write_atomically(invitation_of(study), text, mode=SECRET)


class StudyOwner:
    """The owner's files of a study. Several processes may change it: each change takes a lock."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._keys_file = self.path.with_suffix(".owner")
        text = private_text(self._keys_file, "only the owner of a study can change it.")
        try:
            keys = json.loads(text)
            self._signer, self.desk_secret = keys["signing_key"], keys["desk_secret_key"]
            owner = public_of(self._signer)
        except (ValueError, KeyError, TypeError):
            raise StudyError(f"{self._keys_file} is damaged. Restore it from a backup.") from None
        if self.study().owner != owner:
            raise StudyError(f"{self._keys_file} is of the owner of another study.")

    def study(self) -> Study:
        """Return the newest version."""
        return read_study(self.path)

    @property
    def relay_secret(self) -> bytes:
        """Secret of the relay that the desk runs."""
        return hmac.digest(self.desk_secret.encode(), b"widemargin relay", "sha256")

    def keys(self) -> set[str]:
        """Return the public keys of the members."""
        return {member.public_key for member in self.study().members}

    def invitation(self) -> bytes:
        """Return the secret that proves an invitation."""
        text = private_text(invitation_of(self.path), "the secret that sites show at the desk.")
        return text.strip().encode()

    def admit(self, member: Member) -> Study:
        """Add a member, or change its address; return the new version.

        StudyError if its name belongs to another key, or its key to another name.
        """

        def added(study: Study) -> Study:
            for each in study.members:
                same = each.name == member.name, each.public_key == member.public_key
                if same == (True, False):
                    raise StudyError(
                        f"there is a member {member.name!r} with another key. Take another name, "
                        "or have the owner remove it with `widemargin study remove`."
                    )
                if same == (False, True):
                    raise StudyError(
                        f"this key is that of the member {each.name!r}. Join by that name, or with "
                        "new keys."
                    )
            known = [member if each.name == member.name else each for each in study.members]
            return study.with_members(known if member in known else [*known, member])

        return self._change(added)

    def remove(self, name: str, *, public_key: str | None = None) -> Study:
        """Remove a member; return the new version.

        With a public key, only the member that has it; StudyError if there is none. Without one the
        owner throws a member out: the invitation that it knows becomes void, and the others, if
        they were complete and wait for it, go on.
        """

        def reduced(study: Study) -> Study:
            for each in study.members:
                if each.name == name and public_key in (None, each.public_key):
                    if public_key is None:
                        return study.without(each)
                    return study.with_members([m for m in study.members if m != each])
            names = ", ".join(m.name for m in study.members) or "none"
            raise StudyError(f"there is no such member {name!r}. Members: {names}.")

        study = self._change(reduced)
        if public_key is None:
            _new_invitation(self.path)
        return study

    def _change(self, change: Callable[[Study], Study]) -> Study:
        with self._locked():
            before = self.study()
            study = change(before)
            if study.members == before.members:
                return before
            study = study.signed(self._signer)
            study.save(self.path)
            return study

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with open(self._keys_file, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
