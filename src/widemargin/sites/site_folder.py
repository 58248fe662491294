"""The folder of a site: made for its user alone, and refused where others could change it."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from .settings import ConfigError

__all__ = ["check_folder", "make_folder", "socket_folder"]

# Longest path of a Unix socket that all systems take.
_LONGEST_PATH = 100


def make_folder(folder: Path) -> None:
    """Make the folder of a new site, or check one that exists; ConfigError if it is not safe."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Raise ConfigError if others could replace the files in a folder, its keys among them."""
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise ConfigError(f"{folder} must be a folder.")
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o022:
        raise ConfigError(
            f"{folder} can be written by others: its mode is {mode:03o}. They could replace the "
            f"keys of the site. Run `chmod 700 {folder}`, or name another folder."
        )
    if os.geteuid() not in (0, found.st_uid):
        raise ConfigError(
            f"{folder} belongs to another user, who could replace the keys of the site. Name a "
            "folder of your own."
        )


def socket_folder(folder: Path | None) -> Path:
    """Return a new folder for sockets, which no other user can enter.

    It is in the folder of the site, where a killed process leaves nothing behind for long, unless
    paths there are too long for sockets.
    """
    if folder is not None and len(os.fsencode(folder)) < _LONGEST_PATH - 20:
        place = folder / ".sockets"
        shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):
            place.mkdir(mode=0o700)
            return place
    parent = tempfile.gettempdir()
    short = len(os.fsencode(parent)) < _LONGEST_PATH - 40
    return Path(tempfile.mkdtemp(prefix="widemargin-", dir=parent if short else "/tmp"))
