"""The folder of a site: made for its user alone, and refused where others could change it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .settings import ConfigError

__all__ = ["check_folder", "make_folder"]


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
