"""Write a file so that at any moment either the old or the whole new one is there."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# Of files that are being written; a killed process may leave one behind.
TEMPORARY_SUFFIX = ".wm.tmp"
# What file systems without durable directories answer; nothing can be done about it.
_NO_DIRECTORY_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


def write_atomically(
    path: str | os.PathLike[str], data: bytes, *, mode: int | None = None, sync: bool = True
) -> None:
    """Replace the file at `path` by one with the contents `data`, or leave it as it was.

    The new file is written beside the old one, flushed to the disk and renamed over it. It keeps
    the old one's permissions, or has those of `mode` from the start; a symbolic link stays a link,
    and its target is replaced. Without `sync`, the file outlasts the process, but a power cut may
    leave the old one, the new one or a damaged one.

    An OSError is raised as the operating system reports it: no such directory, no permission, no
    space. The old file is then untouched, and nothing else is left behind.
    """
    target = Path(os.path.realpath(path))
    kept = _mode_of_replaceable(target)
    temporary = target.with_name(f".{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "xb", opener=None if mode is None else _opener(mode)) as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        if mode is None and kept is not None:
            os.chmod(temporary, kept)
        os.replace(temporary, target)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, str(target)) from None
    except BaseException:
        # Also on KeyboardInterrupt: an interrupted save leaves no temporary file.
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if sync:
        _sync_directory(target.parent)


def _opener(mode: int) -> Callable[[str, int], int]:
    return lambda path, flags: os.open(path, flags, mode)


def _mode_of_replaceable(target: Path) -> int | None:
    """Return the permissions of the file to replace, or None if there is none."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(mode):
        # Renaming over a device or a pipe would remove it.
        raise OSError(errno.EINVAL, "a model can only be saved to a regular file", str(target))
    if not os.access(target, os.W_OK):
        # Renaming needs no permission on the file itself, but a read-only file is read-only.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return stat.S_IMODE(mode)


def _sync_directory(directory: Path) -> None:
    """Make the renaming itself durable, where the system can."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
