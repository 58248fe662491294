"""Copies of parts on the local disk of an executor, which all its Python workers share.

Rows that a pass needs come from the JVM through a socket, and take longer on the way than many a
pass takes. So workers write the arrays of a part to a file, and map that in later passes. A copy
only saves time: whoever lacks one asks for the rows again (:mod:`.spark_copies`).

- Files hold the bytes of arrays and nothing that is unpickled; the rest of a part is with Spark.
- The name of a file is a random one, given to the part when it is made. A part that is made again,
  by a repeated or a speculative task, has another name, so that arrays of two never mix.
- Files are complete when they get their name. They lie in a folder of Spark's block manager, which
  goes with the executor, and are for its user alone.
- All files of an executor together take no more than a limit, by a count under a lock. Folders that
  nobody has used for a while, of fits whose driver died, are removed when a fit begins, and where
  there is no room.

A mapped file takes memory that the system can reclaim, and none of the process's own.
"""

from __future__ import annotations

import mmap
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no copies are kept
    fcntl = None  # type: ignore[assignment]

FOLDER = "widemargin"
# The count of bytes, in that folder.
COUNT = "bytes"
# Share of the disk that stays free.
FREE_SHARE = 0.1
# Folders of fits are marked as used this often, and not removed by others before they are stale.
SECONDS_BETWEEN_MARKS, STALE_SECONDS = 30.0, 900.0


@dataclass(frozen=True)
class PartFiles:
    """Files of the parts that one verb of an engine made.

    Parameters
    ----------
    fit : str
        Name of the folder of a fit.
    parts : str
        Name of the folder of these parts in it.
    limit : int
        Bytes that all files of an executor may take, those of other fits included.
    released : tuple of str
        Folders of this fit whose parts are no longer needed.
    """

    fit: str
    parts: str
    limit: int
    released: tuple[str, ...] = ()

    def read(self, name: str, size: int) -> memoryview | None:
        """Map a copy; None if there is none of this size. Changes do not reach the file."""
        root = _root()
        if root is None:
            return None
        path = root / self.fit / self.parts / name
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if os.fstat(number).st_size != size:
                return None
            return memoryview(mmap.mmap(number, size, access=mmap.ACCESS_COPY))
        except (OSError, ValueError):
            return None
        finally:
            os.close(number)

    def write(self, name: str, data: memoryview) -> bool:
        """Keep a copy; return whether there is one now."""
        root = _root()
        if root is None or not data.nbytes:
            return False
        path = root / self.fit / self.parts / name
        if path.exists():
            return True
        unfinished = path.with_suffix(f".{os.getpid()}")
        try:
            number = self._begun(root, unfinished, data.nbytes)
            if number is None:
                return False
            with open(number, "wb", buffering=0) as file:
                done = 0
                while done < data.nbytes:
                    done += file.write(data[done:]) or 0
            unfinished.rename(path)
        except OSError:  # the disk is full, or somebody tidied up
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
                _recount(root)
            return False
        return True

    def has_room(self, size: int) -> bool:
        """Return whether a copy of this size could be kept now."""
        root = _root()
        with suppress(OSError):
            if root is not None:
                with _locked(root) as count:
                    return self._fits(root, count.read(), size)
        return False

    def tidy(self) -> None:
        """Remove what was released, and mark the fit as one that is alive."""
        root = _root()
        if root is None:
            return
        fit = root / self.fit
        gone = [folder for name in self.released if (folder := fit / name).exists()]
        for folder in gone:
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            if gone:
                _recount(root)
            if time.time() - fit.stat().st_mtime > SECONDS_BETWEEN_MARKS:
                os.utime(fit)

    def remove(self) -> None:
        """Remove all files of the fit."""
        root = _root()
        if root is not None and (root / self.fit).exists():
            shutil.rmtree(root / self.fit, ignore_errors=True)
            with suppress(OSError):
                _recount(root)

    def _begun(self, root: Path, path: Path, size: int) -> int | None:
        """Begin a file that counts with its whole size; None if there is no room for it."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with _locked(root) as count:
            new = not (root / self.fit).exists()
            if (new or not self._fits(root, count.read(), size)) and _remove_stale(root, self.fit):
                count.write(_total(root))
            used = count.read()
            if not self._fits(root, used, size):
                return None
            _private_folder(root / self.fit)
            _private_folder(path.parent)
            number = os.open(path, flags, 0o600)
            os.ftruncate(number, size)
            count.write(used + size)
        return number

    def _fits(self, root: Path, used: int, size: int) -> bool:
        disk = shutil.disk_usage(root)
        return used + size <= self.limit and disk.free - size >= FREE_SHARE * disk.total


def _recount(root: Path) -> None:
    with _locked(root) as count:
        count.write(_total(root))


@dataclass(frozen=True)
class _Count:
    """The number in the file that is locked."""

    number: int

    def read(self) -> int:
        text = os.pread(self.number, 32, 0).strip()
        return int(text) if text.isdigit() else 0

    def write(self, used: int) -> None:
        os.pwrite(self.number, f"{used:<32d}".encode(), 0)


@contextmanager
def _locked(root: Path) -> Iterator[_Count]:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    number = os.open(root / COUNT, flags, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)  # released when the file is closed
        yield _Count(number)
    finally:
        os.close(number)


def _root() -> Path | None:
    """Return the folder for copies; None if there is none that is safe."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    if not local or fcntl is None:
        return None
    try:
        return _private_folder(Path(local) / FOLDER)
    except OSError:
        return None


def _private_folder(path: Path) -> Path:
    """Make a folder for this user alone; raise if there is another."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{path} must be a folder of this user alone")
    return path


def _remove_stale(root: Path, own: str) -> bool:
    """Remove folders of other fits that nobody has used for a while; return whether there were."""
    removed = False
    for fit in os.scandir(root):
        with suppress(OSError):
            old = time.time() - fit.stat(follow_symlinks=False).st_mtime > STALE_SECONDS
            if old and fit.name != own and fit.is_dir(follow_symlinks=False):
                shutil.rmtree(fit.path, ignore_errors=True)
                removed = True
    return removed


def _total(root: Path) -> int:
    """Add the files of all fits up."""
    total = 0
    for folder, _, names in os.walk(root):
        for name in names if Path(folder) != root else []:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total
