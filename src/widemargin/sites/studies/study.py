"""A study: one signed description of what sites learn together, and of who they are.

It is a JSON file, ``NAME.study``: the settings that all sites share, the columns of their tables,
the members with their public keys, and where to enrol. Its owner signs every version; whoever has
the first one can check the others, however they arrive. It contains no secret.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ...persistence.atomic_write import write_atomically
from ..agreement import canonical
from ..network.addresses import is_neighbour_address
from ..network.keys import check_public_key
from ..network.wire import MOST_STUDY_BYTES
from ..settings import SETTINGS, ConfigError, Neighbour, checked_value, unknown_setting
from .schema import Schema
from .signing import SignatureError, check_signature, sign

__all__ = ["REACH", "STUDY_SETTINGS", "Member", "Study", "StudyError", "read_study"]

FORMAT = "widemargin study"
# Version 1 had a `quorum` beside the setting `least_sites`.
FORMAT_VERSION = 2
MOST_VERSION = 2**31
# Sites that begin together, at least, when others were removed.
FEWEST = 2
# Neighbours on either side of a site, with the members in a circle. Few links change when a member
# comes or goes, unlike in random graphs.
REACH = {"ring": 1, "nearest": 2, "complete": MOST_VERSION}
# Settings that follow from members and schema.
_DERIVED = {"n_sites", "diameter", "classes", "n_features", "schema"}
STUDY_SETTINGS = {
    s.name: s for s in SETTINGS if s.section in ("network", "model") and s.name not in _DERIVED
}
_KINDS = {s.name: s for s in SETTINGS}
_KEYS = {
    "name",
    "owner",
    "version",
    "desk",
    "topology",
    "settings",
    "schema",
    "relay",
    "members",
}


class StudyError(ConfigError):
    """A description of a study that cannot be used."""


@dataclass(frozen=True)
class Member:
    """A site of a study; its address is None if it cannot be dialled, only dials itself."""

    name: str
    public_key: str
    address: str | None = None


@dataclass(frozen=True)
class Study:
    """The description of a study.

    Attributes
    ----------
    name : str
        Name of the study.
    owner : str
        Public key of the owner's signatures.
    version : int
        Number that grows with every change of the members.
    desk : Neighbour
        Address and public key of the desk, where sites enrol.
    relay : str or None
        Address of a relay, ``relay://HOST:PORT``, where members meet that cannot be dialled.
    topology : {"ring", "nearest", "complete"}
        Which members are neighbours: those next to a member in the order of the list, the two
        nearest on either side, or all.
    settings : mapping
        Settings of the sections [network] and [model], by name.
    schema : Schema
        Columns and classes.
    members : tuple of Member
        The sites, in the order in which they came.
    signature : str
        The owner's signature; empty if it is not signed yet.
    """

    name: str
    owner: str
    version: int
    desk: Neighbour
    topology: str
    settings: Mapping[str, Any]
    schema: Schema
    relay: str | None = None
    members: tuple[Member, ...] = ()
    signature: str = ""

    def document(self) -> dict[str, Any]:
        """Return what is signed, as JSON values."""
        return {
            "name": self.name,
            "owner": self.owner,
            "version": self.version,
            "desk": {"address": self.desk.address, "public_key": self.desk.public_key},
            "topology": self.topology,
            "settings": {k: canonical(v) for k, v in self.settings.items()},
            "schema": self.schema.to_dict(),
            "relay": self.relay,
            "members": [vars(member) for member in self.members],
        }

    @cached_property
    def agreed(self) -> dict[str, Any]:
        """What all members share beside the settings; it outlasts changes of the members."""
        return {"study": self.name, "owner": self.owner, "schema": self.schema.to_dict()}

    @property
    def least_sites(self) -> int:
        """Sites that begin together: they wait for each other, and agree on the preparation."""
        return int(self.settings.get("least_sites", STUDY_SETTINGS["least_sites"].default))

    @property
    def may_begin(self) -> bool:
        """Whether as many sites have joined as begin together."""
        return len(self.members) >= self.least_sites

    def signed(self, secret: str) -> Study:
        """Return the study with the owner's signature; StudyError if it is too large to travel."""
        study = replace(self, signature=sign(secret, self.document()))
        if len(study.to_bytes()) > MOST_STUDY_BYTES:
            raise StudyError(
                f"a study may have {MOST_STUDY_BYTES // 1024} KiB, all members and columns "
                f"together; this one has {len(study.to_bytes()) // 1024}. Shorten their names, or "
                "divide it."
            )
        return study

    def with_members(self, members: Sequence[Member]) -> Study:
        """Return the next version, with other members and not signed yet."""
        return replace(self, members=tuple(members), version=self.version + 1, signature="")

    def without(self, member: Member) -> Study:
        """Return the next version without a member, which the others do not wait for any more.

        If the study could begin, it still can, unless a single site is left.
        """
        newer = self.with_members([each for each in self.members if each != member])
        fewest = min(self.least_sites, max(FEWEST, len(newer.members)))
        if not self.may_begin or newer.may_begin or fewest == self.least_sites:
            return newer
        return replace(newer, settings={**self.settings, "least_sites": fewest})

    @property
    def _lasting(self) -> dict[str, Any]:
        """Settings that never change."""
        settings: dict[str, Any] = self.document()["settings"]
        return {key: value for key, value in settings.items() if key != "least_sites"}

    def member(self, public_key: str) -> Member | None:
        """Return the member with a public key, None if there is none."""
        return next((each for each in self.members if each.public_key == public_key), None)

    def founders_of(self, public_key: str) -> Study | None:
        """Return the study of the first members alone if a site is one of them, else None.

        They agree on the preparation. Who comes later gets it from them.
        """
        first = replace(self, members=self.members[: self.least_sites])
        return first if first.member(public_key) is not None else None

    def neighbours_of(self, public_key: str) -> tuple[Neighbour, ...]:
        """Return the neighbours of a member; StudyError if it is none."""
        count = len(self.members)
        here = next((k for k, m in enumerate(self.members) if m.public_key == public_key), None)
        if here is None:
            raise StudyError(
                f"this site is no member of the study {self.name!r}, version {self.version}. Join "
                "it with `widemargin site join`."
            )
        reach = min(REACH[self.topology], count // 2)
        places = {(here + step) % count for k in range(1, reach + 1) for step in (k, -k)}
        found = [self.members[k] for k in sorted(places - {here})]
        return tuple(Neighbour(m.name, m.address or "", m.public_key) for m in found)

    @property
    def longest_path(self) -> int:
        """Links between any two members, at most, with room for ways around absent ones."""
        count = len(self.members)
        reach = max(1, min(REACH[self.topology], count // 2))
        return max(1, min(count - 1, 2 * -(-(count // 2) // reach)))

    def check_successor(self, newer: Study) -> None:
        """Raise StudyError unless a study with a valid signature may replace this one."""
        for what, mine, theirs in (
            ("owner", self.owner, newer.owner),
            ("name", self.name, newer.name),
            ("settings", self._lasting, newer._lasting),
            ("schema", self.schema.to_dict(), newer.schema.to_dict()),
        ):
            if mine != theirs:
                raise StudyError(
                    f"it has another {what}, which cannot change while a study runs. Its owner "
                    "must create another study."
                )
        # The owner may have the others go on without one that is gone, but no site alone.
        if not min(self.least_sites, FEWEST) <= newer.least_sites <= self.least_sites:
            raise StudyError(
                f"its `least_sites` must be from {min(self.least_sites, FEWEST)} to "
                f"{self.least_sites}; got {newer.least_sites}."
            )
        if newer.version <= self.version:
            raise StudyError(f"it is of version {newer.version}, not above {self.version}.")

    def to_bytes(self) -> bytes:
        """Return the contents of the file."""
        whole = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "study": self.document(),
            "signature": self.signature,
        }
        return json.dumps(whole, indent=1).encode("ascii") + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes, *, owner: str | None = None) -> Self:
        """Return a study whose signature holds.

        Parameters
        ----------
        data : bytes
            Contents of a file.
        owner : str, default=None
            Public key that must have signed it; None takes the one in the study itself.

        Raises
        ------
        StudyError
            If it is not signed by this owner, or a key is missing, unknown or wrong.
        """
        document, signature = _opened(data)
        try:
            check_signature(document.get("owner") if owner is None else owner, document, signature)
        except SignatureError as error:
            raise StudyError(str(error)) from None
        return cls(**_checked(document), signature=signature)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file."""
        write_atomically(path, self.to_bytes(), mode=0o644)


def read_study(path: str | os.PathLike[str], *, owner: str | None = None) -> Study:
    """Read a study and check its signature; StudyError names the file and what is wrong with it."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_STUDY_BYTES + 1)
    except FileNotFoundError:
        raise StudyError(f"{path} is missing. The owner of the study has it.") from None
    try:
        return Study.from_bytes(data, owner=owner)
    except ConfigError as error:
        raise StudyError(f"{Path(path)}: {error}") from None


def _opened(data: bytes) -> tuple[dict[str, Any], str]:
    """Return the document and its signature, neither of them checked."""
    if len(data) > MOST_STUDY_BYTES:
        raise StudyError(f"a study has at most {MOST_STUDY_BYTES} bytes.")
    try:
        whole = json.loads(data, object_pairs_hook=_unique, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"it is no study: {error}.") from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise StudyError(f"it is no study: `format` must be {FORMAT!r}.")
    if whole.get("format_version") == 1:
        raise StudyError(
            f"`format_version` must be {FORMAT_VERSION}; got 1, in which `quorum` said what the "
            "setting `least_sites` says now. Its owner must create the study again with "
            "`widemargin study create`."
        )
    if whole.get("format_version") != FORMAT_VERSION:
        raise StudyError(
            f"`format_version` must be {FORMAT_VERSION}; got {whole.get('format_version')!r}. "
            "Install the version of widemargin that the owner uses."
        )
    if whole.keys() != {"format", "format_version", "study", "signature"} or not isinstance(
        whole["study"], dict
    ):
        raise StudyError("it must have `format`, `format_version`, `study` and `signature` alone.")
    return whole["study"], whole["signature"]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a study from a signed document, or raise StudyError."""
    if document.keys() != _KEYS:
        odd = min(document.keys() ^ _KEYS)
        raise StudyError(f"`{odd}` is {'missing' if odd in _KEYS else 'no key of a study'}.")
    version = document["version"]
    _demand(type(version) is int and 1 <= version < MOST_VERSION, "version", "a number", version)
    topology = document["topology"]
    _demand(topology in list(REACH), "topology", f"one of {', '.join(REACH)}", topology)
    return {
        "name": checked_value(_KINDS["name"], document["name"]),
        "owner": document["owner"],  # its signature holds
        "version": version,
        "desk": _desk(document["desk"]),
        "topology": topology,
        "settings": checked_settings(document["settings"]),
        "schema": Schema.from_dict(document["schema"]),
        "relay": _relay(document["relay"]),
        "members": _members(document["members"]),
    }


def checked_settings(values: Any) -> dict[str, Any]:
    """Return settings of a study, or raise ConfigError that names the one that is wrong."""
    _demand(isinstance(values, dict), "settings", "an object", values)
    for name, value in values.items():
        if name not in STUDY_SETTINGS:
            raise StudyError(unknown_setting(name, STUDY_SETTINGS))
        checked_value(STUDY_SETTINGS[name], value)
    if values.get("lam") is not None:
        raise StudyError(
            "`lam` depends on the number of all rows, which changes as members come and go. Give "
            "`C`, the weight of one row's loss, instead."
        )
    return dict(values)


def _desk(values: Any) -> Neighbour:
    right = isinstance(values, dict) and values.keys() == {"address", "public_key"}
    _demand(right, "desk", "an object of `address` and `public_key`", values)
    address = values["address"]
    fits = is_neighbour_address(address) and str(address).startswith("tcp:")
    _demand(fits, "desk.address", "an address, tcp://HOST:PORT of one machine", address)
    return Neighbour(
        "desk",
        address,
        _key("desk.public_key", values["public_key"]),
    )


def _relay(value: Any) -> str | None:
    fits = value is None or (is_neighbour_address(value) and str(value).startswith("relay:"))
    _demand(fits, "relay", "relay://HOST:PORT, or null", value)
    return None if value is None else str(value)


def _members(values: Any) -> tuple[Member, ...]:
    _demand(isinstance(values, list), "members", "a list", values)
    members = [checked_member(each) for each in values]
    for key in ("name", "public_key"):
        if len({getattr(each, key) for each in members}) < len(members):
            raise StudyError(f"two members have the same `{key}`; each needs its own.")
    return tuple(members)


def checked_member(values: Any) -> Member:
    """Return a member, or raise ConfigError if its name, address or key is none."""
    right = isinstance(values, dict) and values.keys() == {"name", "public_key", "address"}
    _demand(right, "members", "objects of `name`, `public_key` and `address`", values)
    checked_value(_KINDS["name"], values["name"])
    if values["address"] is not None:
        fits = values["address"] != "" and is_neighbour_address(values["address"])
        required = "an address, tcp://HOST:PORT or relay://HOST:PORT of one machine, or null"
        _demand(fits, "members.address", required, values["address"])
    return Member(
        values["name"], _key("members.public_key", values["public_key"]), values["address"]
    )


def _key(name: str, value: Any) -> str:
    try:
        return check_public_key(value)
    except ValueError as error:
        raise StudyError(f"`{name}`: {error}") from None


def _demand(right: bool, key: str, required: str, got: Any) -> None:
    if not right:
        raise StudyError(f"`{key}` must be {required}; got {str(got)[:100]!r}.")
