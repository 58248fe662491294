"""Write a file so that at any moment either the old or the whole new one is there."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

# What file systems without durable directories answer; nothing can be done about it.
_NO_DIRECTORY_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at `path` by one with the contents `data`, or leave it as it was.

    The new file is written beside the old one, flushed to the disk and renamed over it. It keeps
    the old one's permissions; a symbolic link stays a link, and its target is replaced.

    Raises
    ------
    OSError
        As the operating system reports it: no such directory, no permission, no space. The old
        file is then untouched, and nothing else is left behind.
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of_replaceable(target)
    temporary = target.with_name(f".{secrets.token_hex(8)}.wm.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, str(target)) from None
    except BaseException:
        # Also on KeyboardInterrupt: an interrupted save leaves no debris.
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(target.parent)


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
