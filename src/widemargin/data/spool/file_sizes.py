"""How much there is to read."""

from __future__ import annotations

from pathlib import Path

from ..formats.streams import COMPRESSED_SUFFIXES

__all__ = ["size_if_plain"]


def size_if_plain(path: Path) -> int | None:
    """Bytes of a file; None if it is packed, because its unpacked size is not known."""
    return None if path.suffix.lower() in COMPRESSED_SUFFIXES else path.stat().st_size
