"""Arrays on disk that grow block by block and are then mapped."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Linux reads at most 2 GiB at once.
_LARGEST_READ = 1 << 26


class SpoolFullError(OSError):
    """The disk of the spool is full."""


class DiskArray:
    """An array in a plain binary file.

    The file is written with ordinary writes: writing through a mapping would end the process
    instead of raising an error when the disk is full. An existing file is overwritten.
    """

    def __init__(self, path: Path, dtype: Any) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self.length = 0  #: Values written.
        self._file = open(path, "wb+", buffering=0)  # noqa: SIM115 (closed by `close`)

    @property
    def nbytes(self) -> int:
        """Bytes written."""
        return int(self.length * self.dtype.itemsize)

    def append(self, values: NDArray[Any]) -> None:
        """Write values at the end."""
        values = np.ascontiguousarray(values, dtype=self.dtype)
        self._write(values)
        self.length += values.size

    def rewrite(self, change: Callable[[NDArray[Any]], NDArray[Any]], block_bytes: int) -> None:
        """Replace the values by ``change(values)``, a block at a time."""
        step = max(min(block_bytes, _LARGEST_READ) // self.dtype.itemsize, 1) * self.dtype.itemsize
        for start in range(0, self.nbytes, step):
            self._file.seek(start)
            values = np.frombuffer(self._file.read(min(step, self.nbytes - start)), self.dtype)
            self._file.seek(start)
            self._write(change(values).astype(self.dtype, copy=False))
        self._file.seek(self.nbytes)

    def mapped(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the array, whose pages are read from the file as they are needed."""
        self.close()
        if not self.length:
            return np.empty(shape, dtype=self.dtype)  # An empty file cannot be mapped.
        return np.memmap(self.path, dtype=self.dtype, mode="r", shape=shape)

    def close(self) -> None:
        """Close the file for writing."""
        self._file.close()

    def _write(self, values: NDArray[Any]) -> None:
        rest = values.reshape(-1).view(np.uint8).data
        try:
            while len(rest):
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise SpoolFullError(
                error.errno,
                f"No room for the spool in {self.path.parent.parent}: {self.nbytes:,} bytes of "
                f"{self.path.name} are written, {values.nbytes:,} more do not fit. Free some room, "
                "or give `spool_dir` on a larger disk",
            ) from error
