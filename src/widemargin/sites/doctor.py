"""An examination of a site: what is wrong with it, and what to do about it."""

from __future__ import annotations

import resource
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zmq
from zmq.utils.monitor import parse_monitor_message

from .absence import absence_text
from .config import SiteConfig, read_config
from .control import ControlError, ask, check_not_running
from .network.addresses import RELAY
from .network.keys import read_public_key, read_secret_key
from .network.streams import listening_at
from .settings import Neighbour
from .site_folder import check_folder
from .studies.desk_client import DeskClient, EnrolmentError
from .training.local_rows import read_codes

__all__ = ["Finding", "examine"]

SECONDS = 5.0
MOST_DRIFT = 60.0
FEWEST_DESCRIPTORS = 1024
LEAST_DISK = 100 * 2**20


@dataclass(frozen=True)
class Finding:
    """One line of an examination; ``right`` is None if it could not be found out."""

    check: str
    right: bool | None
    said: str
    advice: str = ""


def examine(folder: str | Path) -> list[Finding]:
    """Examine the site in a folder, whether it runs or not."""
    place = Path(folder)
    findings = [_tried("folder", lambda: _folder(place)), _tried("keys", lambda: _keys(place))]
    try:
        config = read_config(place)
    except (ValueError, OSError) as error:
        return [*findings, Finding("site.toml", False, str(error))]
    findings.append(Finding("site.toml", True, f"site {config.name!r}"))
    status = _status(config)
    findings += _of_study(config)
    findings.append(_tried("rows", lambda: _rows(config)))
    findings.append(_listening(config, status))
    findings += _neighbours(config, status)
    findings += [_clock(config), _descriptors(), _disk(config)]
    return findings


def _tried(check: str, say: Callable[[], str]) -> Finding:
    try:
        return Finding(check, True, say())
    except (ValueError, OSError) as error:
        return Finding(check, False, str(error))


def _folder(place: Path) -> str:
    check_folder(place)
    return f"{place.resolve()}, written by its owner only"


def _keys(place: Path) -> str:
    public, secret = read_public_key(place), read_secret_key(place)
    if zmq.curve_public(secret.encode()).decode() != public:
        raise ValueError(
            "public.key is not that of secret.key. Restore both from a backup, or make new keys."
        )
    return f"public key {public}"


def _status(config: SiteConfig) -> dict[str, Any] | None:
    """Return the status of a site that runs, None otherwise."""
    try:
        return ask(config.folder, "status", timeout=SECONDS)
    except ControlError:
        return None


def _of_study(config: SiteConfig) -> Iterator[Finding]:
    study = config.study
    if study is None:
        return
    told = f"{study.name!r}, version {study.version}, {len(study.members)} members, signature valid"
    yield Finding("study", True, told)
    if not study.may_begin:
        yield Finding(
            "members",
            None,
            f"{len(study.members)} of {study.least_sites} have joined; the study has not begun",
            "The others have to run `widemargin site join`.",
        )
    key, secret = read_public_key(config.folder), read_secret_key(config.folder)
    try:
        with DeskClient(study.desk, key, secret, timeout=SECONDS) as desk:
            newer = desk.newest(study.version) is not None
            drift = desk.clock() - time.time()
    except EnrolmentError as error:
        yield Finding("desk", None, str(error), "Sites go on without it; nobody can join or leave.")
        return
    said = f"{study.desk.address} answers" + ("; it has a newer version" if newer else "")
    yield Finding("desk", True, said)
    yield Finding(
        "clock",
        abs(drift) <= MOST_DRIFT,
        f"{abs(drift):.1f} s from that of the desk",
        "" if abs(drift) <= MOST_DRIFT else "Set the clock, by NTP for instance.",
    )


def _rows(config: SiteConfig) -> str:
    codes = read_codes(config)
    if not len(codes):
        raise ValueError(f"{config.data} has no rows.")
    counts = np.bincount(codes, minlength=len(config.classes)).tolist()
    shown = [
        f"{count:,} of class {label!r}" for label, count in zip(config.classes, counts, strict=True)
    ]
    more = f" and {len(shown) - 5} other classes" if len(shown) > 5 else ""
    return f"{len(codes):,} rows of {config.data}: {', '.join(shown[:5])}{more}"


def _listening(config: SiteConfig, status: dict[str, Any] | None) -> Finding:
    if status is not None:
        return Finding("process", True, f"it runs, process {status['pid']}, at {config.listen}")
    try:
        check_not_running(config.folder)
    except ControlError:
        return Finding(
            "process", False, "it runs, but does not answer", "Look at its log; stop it by signal."
        )
    if not config.listen:
        return Finding("process", True, "it does not run, and listens nowhere: it dials")
    try:
        for listening in listening_at(config.listen):
            listening.close()
    except OSError as error:
        return Finding("process", False, f"it does not run, and {error}")
    return Finding("process", True, f"it does not run; {config.listen} is free")


def _neighbours(config: SiteConfig, status: dict[str, Any] | None) -> Iterator[Finding]:
    if not config.neighbours:
        yield Finding("neighbours", None, "it has none, and learns from its own rows only")
    links = {} if status is None else {each["name"]: each for each in status["links"]}
    missing = {each["name"]: each for each in (status or {}).get("missing", ())}
    for each in config.neighbours:
        found = _neighbour(each, links.get(each.name), config)
        if each.name in missing:
            absence = missing[each.name]
            found = Finding(
                found.check,
                False,
                f"{absence_text(absence)}; {found.said}",
                f"{found.advice} {absence['advice']}".strip(),
            )
        yield found


def _neighbour(each: Neighbour, link: dict[str, Any] | None, config: SiteConfig) -> Finding:
    check = f"neighbour {each.name}"
    if link is not None and link["connected"]:
        return Finding(check, True, f"heard {link['last_heard_seconds_ago']:.1f} s ago")
    if not each.address:
        return Finding(check, None, "it cannot be dialled: it must dial this site")
    if each.address.startswith(f"{RELAY}:"):
        return Finding(check, None, f"this site meets it at {each.address}, while both run")
    return _dialled(check, each, config)


def _dialled(check: str, neighbour: Neighbour, config: SiteConfig) -> Finding:
    """Shake hands with a neighbour as this site."""
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    try:
        socket.curve_serverkey = neighbour.public_key.encode()
        socket.curve_publickey = read_public_key(config.folder).encode()
        socket.curve_secretkey = read_secret_key(config.folder).encode()
        socket.ipv6 = True
        events = socket.get_monitor_socket()
        socket.connect(neighbour.address)
        return _outcome(check, neighbour, events)
    except (zmq.ZMQError, OSError, ValueError) as error:
        return Finding(check, False, f"{neighbour.address}: {error}")
    finally:
        context.destroy(0)


def _outcome(check: str, neighbour: Neighbour, events: Any) -> Finding:
    connected, deadline = False, time.monotonic() + SECONDS
    where = neighbour.address
    while (left := deadline - time.monotonic()) > 0 and events.poll(int(left * 1000)):
        event = parse_monitor_message(events.recv_multipart())["event"]
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            return Finding(check, True, f"{where} answers, with its key")
        if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            return Finding(
                check,
                False,
                f"{where} refuses the key of this site",
                "It does not know this site yet. In a study that takes seconds; by hand, its "
                "operator must add this site and reload.",
            )
        if event in (zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL):
            return Finding(
                check,
                False,
                f"{where} does not have the key that is listed for it",
                "Another program listens there, or the neighbour made new keys.",
            )
        connected |= event == zmq.EVENT_CONNECTED
    if connected:
        advice = "Another program may listen there, or the neighbour is overloaded."
        return Finding(check, False, f"{where} takes connections, but does not answer", advice)
    return Finding(
        check,
        False,
        f"{where} cannot be reached",
        "Is the site running there, does a firewall let you through, is the address right?",
    )


def _clock(config: SiteConfig) -> Finding:
    state = config.folder / "state.wms"
    if state.exists() and state.stat().st_mtime > time.time() + MOST_DRIFT:
        return Finding(
            "state", False, "state.wms was saved in the future", "Was the clock set back? Set it."
        )
    if state.exists() and stat.S_IMODE(state.stat().st_mode) & 0o077:
        return Finding("state", False, "others can read state.wms", f"Run `chmod 600 {state}`.")
    return Finding("state", True, "saved" if state.exists() else "none yet")


def _descriptors() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = soft == resource.RLIM_INFINITY or soft >= FEWEST_DESCRIPTORS
    advice = "" if enough else f"Run it with `ulimit -n {FEWEST_DESCRIPTORS}` or more."
    return Finding("descriptors", enough, f"{soft:,} of this shell", advice)


def _disk(config: SiteConfig) -> Finding:
    free = shutil.disk_usage(config.folder).free
    state = config.folder / "state.wms"
    needed = max(LEAST_DISK, 10 * state.stat().st_size if state.exists() else 0)
    advice = "" if free >= needed else f"Free {needed / 2**20:,.0f} MiB: states are saved there."
    return Finding("disk", free >= needed, f"{free / 2**30:,.1f} GiB free", advice)
