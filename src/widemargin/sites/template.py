"""The files of a new site: a commented `site.toml`, and a systemd unit that keeps it running."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..persistence.atomic_write import write_atomically
from .settings import (
    FROM_PREPARATION,
    REQUIRED,
    SECTIONS,
    SETTINGS,
    ConfigError,
    Neighbour,
    Setting,
    check_settings,
    unknown_setting,
)

__all__ = ["UNIT_NAME", "toml_text", "unit_text", "write_template"]

UNIT_NAME = "widemargin-site.service"

_UNIT = """\
# Runs the site {name}. Install and start it as root:
#   cp {shown_folder}/{unit} /etc/systemd/system/widemargin-{name}.service
#   systemctl daemon-reload && systemctl enable --now widemargin-{name}
# Its log, as JSON lines: journalctl -u widemargin-{name} -o cat
# The site may write in its folder alone, and read what User= may read; /tmp is its own.

[Unit]
Description=widemargin site {name}
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User={user}
WorkingDirectory={folder}
ExecStart={run}
ExecReload={reload}
# A graceful stop saves the state; a kill loses nothing but the work since the last save.
KillSignal=SIGTERM
TimeoutStopSec=30
Restart=on-failure
RestartSec=5
UMask=0077

NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={quoted_folder}
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
# Above max_memory of site.toml, the rows and 300 MB, this is a second bound:
# MemoryMax=4G
# A core dump would hold the secret key and rows.
LimitCORE=0

[Install]
WantedBy=multi-user.target
"""


def write_template(
    folder: str | os.PathLike[str],
    name: str,
    *,
    neighbours: Sequence[Neighbour] = (),
    **values: Any,
) -> Path:
    """Write a ``site.toml`` with comments.

    Parameters
    ----------
    folder : path-like
        Folder of the site; an existing file is replaced.
    name : str
        Name of the site.
    neighbours : sequence of Neighbour
        Its neighbours.
    **values
        Settings by name. The others are written as comments, with their defaults.

    Returns
    -------
    Path
        The file.
    """
    unknown = values.keys() - {s.name for s in SETTINGS}
    if unknown:
        raise ConfigError(unknown_setting(min(unknown), (s.name for s in SETTINGS)))
    given = {"name": name, **{k: v for k, v in values.items() if v is not None}}
    check_settings(given)
    lines = [
        "# Configuration of a site. Lines that begin with # are comments; those that look like a",
        "# setting show its default. After a change of the neighbours: `widemargin site reload`.",
    ]
    in_study = "study" in given
    for section, purpose in SECTIONS.items():
        if in_study and section in ("network", "model"):
            continue
        lines += ["", f"# {purpose}", f"[{section}]"] if section else [""]
        lines += [_line(s, given) for s in SETTINGS if s.section == section]
    if in_study:
        lines += ["", "# Settings and neighbours are those of the study."]
        return _written(folder, lines)
    lines += ["", "# Those that this site talks to, in both directions: they must name it, too."]
    for each in neighbours:
        lines += ["[[neighbours]]"]
        lines += [f"{k} = {toml_text(getattr(each, k))}" for k in ("name", "address", "public_key")]
        lines += [""]
    if not neighbours:
        lines += ["# [[neighbours]]", '# name = "plant-2"', '# address = "tcp://10.0.0.2:7001"']
        lines += ['# public_key = "the 40 characters of its public.key"']
    return _written(folder, lines)


def _written(folder: str | os.PathLike[str], lines: list[str]) -> Path:
    path = Path(folder) / "site.toml"
    write_atomically(path, ("\n".join(lines).rstrip() + "\n").encode())
    return path


def _line(setting: Setting, given: dict[str, Any]) -> str:
    key = setting.key
    if setting.name in given:
        return f"{key} = {toml_text(given[setting.name])}  # {setting.comment}"
    agreed = setting.name in FROM_PREPARATION and "schema" in given
    if setting.name in REQUIRED and not agreed:
        return f"{key} = {toml_text(setting.example)}  # TO BE SET. {setting.comment}"
    value = setting.example if setting.default is None else setting.default
    return f"# {key} = {toml_text(value)}  # {setting.comment}"


def toml_text(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(int(value) if isinstance(value, int) else float(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_text(each) for each in value)}]"
    return json.dumps(os.fspath(value), ensure_ascii=False)


def unit_text(folder: Path, name: str) -> str:
    """Return the unit of the site in a folder, run by this user with this Python."""
    folder = folder.resolve()
    command = [sys.executable, "-m", "widemargin", "site"]
    return _UNIT.format(
        name=name,
        unit=UNIT_NAME,
        user=getpass.getuser(),
        folder=_escaped(folder),
        shown_folder=folder,
        quoted_folder=_quoted(folder),
        run=" ".join(map(_quoted, [*command, "run", "--config", folder / "site.toml"])),
        reload=" ".join(map(_quoted, [*command, "reload", "--folder", folder])),
    )


def _escaped(text: object) -> str:
    """Escape percent signs, which systemd would expand."""
    return str(text).replace("%", "%%")


def _quoted(text: object) -> str:
    plain = _escaped(text)
    if not set(plain) & set(" \"'\\$;"):
        return plain
    plain = plain.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{plain}"'
