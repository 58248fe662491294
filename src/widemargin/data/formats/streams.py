"""Open a file for reading, and unpack gzip, bzip2 and xz."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .blocks import DataFileError


class _Packing(NamedTuple):
    name: str
    magic: bytes
    open: Callable[..., Any]


_PACKINGS = {
    ".gz": _Packing("gzip", b"\x1f\x8b", gzip.open),
    ".bz2": _Packing("bzip2", b"BZh", bz2.open),
    ".xz": _Packing("xz", b"\xfd7zXZ\x00", lzma.open),
}
COMPRESSED_SUFFIXES = frozenset(_PACKINGS)


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open `path` as a stream of unpacked bytes.

    The suffix decides about compression. Damage shows only as bytes are read, so it is reported
    from inside the ``with`` block, as a `DataFileError`.
    """
    check_regular_file(path)
    packing = _PACKINGS.get(path.suffix.lower())
    unpacked = 0
    try:
        if packing is None:
            with open(path, "rb") as stream:
                yield stream
        else:
            _check_magic(path, packing)
            with packing.open(path, "rb") as stream:
                try:
                    yield stream
                except ValueError:
                    # Damaged data may unpack to nonsense; then the damage is the fault to report.
                    while stream.read(1 << 20):
                        pass
                    raise
                finally:
                    with suppress(ValueError, OSError):
                        unpacked = stream.tell()
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if packing is None:
            raise DataFileError(path, f"cannot be read: {_reason(error)}.") from error
        raise DataFileError(
            path,
            f"the {packing.name} data is cut short or damaged after {unpacked:,} bytes unpacked "
            f"({_reason(error)}). Fetch or pack the file again.",
        ) from error


def check_regular_file(path: Path) -> None:
    """Raise a `DataFileError` unless `path` is a file that can be read more than once."""
    try:
        if path.is_file():
            with open(path, "rb"):
                return  # It can be opened; readers may take later failures for damage.
        if path.is_dir():
            raise DataFileError(path, "expected a file, found a directory. Name a file in it.")
        if path.exists():
            raise DataFileError(
                path,
                "expected a regular file, found a pipe or device. "
                "Save the data to a file first: reading may need several passes.",
            )
    except (OSError, ValueError) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(path, f"cannot be read: {_reason(error)}.") from error
    raise DataFileError(path, "no such file. Check the path and the current directory.")


def packed_suffix(start: bytes) -> str:
    """Return the suffix of packed data that begin so; nothing for others."""
    return next((suffix for suffix, p in _PACKINGS.items() if start.startswith(p.magic)), "")


def size_if_plain(path: Path) -> int | None:
    """Bytes of a file; None if it is packed, because its unpacked size is not known."""
    return None if path.suffix.lower() in COMPRESSED_SUFFIXES else path.stat().st_size


def _check_magic(path: Path, packing: _Packing) -> None:
    with open(path, "rb") as raw:
        start = raw.read(len(packing.magic))
    if not start:
        raise DataFileError(path, "the file is empty. Was it written completely?")
    if start != packing.magic:
        raise DataFileError(
            path,
            f"the name ends in {path.suffix} but the contents are not {packing.name} data. "
            f"Rename the file without {path.suffix} if it is not packed.",
        )


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
