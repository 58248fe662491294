"""A systemd unit that keeps a site running, with the fewest permissions."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

__all__ = ["UNIT_NAME", "unit_text"]

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
