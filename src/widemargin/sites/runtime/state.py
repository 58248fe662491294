"""`state.wms`: the state of a site, written so that a kill at any moment does no harm.

The state is saved *before* the messages of a round are sent. Whatever neighbours have received,
including acknowledgements, is therefore in the file, and a site that restarts from it contradicts
nothing: to its neighbours it seems to have paused and to have missed what it read since.

Layout: ``WMSITE`` and the version, two bytes; the length of the header, eight; the header, JSON;
the state of the native site; a BLAKE2b digest of all that, 16 bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import _native
from ...persistence.atomic_write import TEMPORARY_SUFFIX, write_atomically

__all__ = ["SavedState", "StateError", "StateStore", "masses_of", "read_state"]

_MAGIC = b"WMSITE"
VERSION = 1
_START = struct.Struct("<6sHQ")
_DIGEST = 16


class StateError(ValueError):
    """A state file that cannot be trusted."""


@dataclass(frozen=True)
class SavedState:
    """The contents of a state file.

    Attributes
    ----------
    header : dict
        The site's name, links, progress and masses; see :func:`masses_of`.
    native : bytes
        The state of the native site.
    """

    header: dict[str, Any]
    native: bytes

    @property
    def total_mass(self) -> float:
        """Mass that the site holds plus sent minus received mass: 1, up to rounding."""
        masses = self.header["masses"]
        return float(masses["held"] + sum(masses["sent"]) - sum(masses["received"]))


def masses_of(site: _native._GossipSite, *, models: bool = False) -> dict[str, Any] | None:
    """Return the mass that a site holds, and the mass sent and received through each link.

    The Push-Sum is that of figures, which every method has, or of models, which may be None.
    """
    sums = site.sums(models)
    if sums is None:
        return None
    held, sent, received = sums
    return {
        "held": float(held[-1]),
        "sent": sent[:, -1].tolist(),
        "received": received[:, -1].tolist(),
    }


def read_state(path: str | os.PathLike[str]) -> SavedState:
    """Read a state file, or the one in a folder.

    Raises
    ------
    StateError
        If it is damaged or of another version.
    FileNotFoundError
        If there is none.
    """
    file = Path(path)
    data = (file / "state.wms" if file.is_dir() else file).read_bytes()
    if len(data) < _START.size + _DIGEST:
        raise StateError(f"it is cut short, at {len(data)} bytes")
    magic, version, length = _START.unpack_from(data)
    if magic != _MAGIC:
        raise StateError("it is no state of a site")
    if version != VERSION:
        raise StateError(f"it is of version {version}; this one reads version {VERSION}")
    if hashlib.blake2b(data[:-_DIGEST], digest_size=_DIGEST).digest() != data[-_DIGEST:]:
        raise StateError("its checksum is wrong: it is damaged")
    begin = _START.size
    if length > len(data) - begin - _DIGEST:
        raise StateError("its header is longer than the file")
    return SavedState(
        json.loads(data[begin : begin + length]), data[begin + length : len(data) - _DIGEST]
    )


class StateStore:
    """State file in the folder of a site.

    Parameters
    ----------
    folder : path-like
        The folder.
    sync : bool
        Whether to flush every state to the disk.
    """

    def __init__(self, folder: str | os.PathLike[str], *, sync: bool) -> None:
        self.path, self._sync = Path(folder) / "state.wms", sync
        # Files that a killed process left behind.
        for left in self.path.parent.glob(f".*{TEMPORARY_SUFFIX}"):
            with suppress(OSError):
                left.unlink()

    def save(self, header: dict[str, Any], native: bytes) -> None:
        """Replace the state; messages may be sent after this returns."""
        text = json.dumps(header).encode()
        data = _START.pack(_MAGIC, VERSION, len(text)) + text + native
        digest = hashlib.blake2b(data, digest_size=_DIGEST).digest()
        write_atomically(self.path, data + digest, mode=0o600, sync=self._sync)

    def load(self) -> SavedState | None:
        """Return the state, or None if there is none; StateError if it cannot be trusted."""
        try:
            return read_state(self.path)
        except FileNotFoundError:
            return None

    def set_aside(self) -> Path:
        """Rename a state that cannot be trusted, and return its new path."""
        number = 1
        while (place := self.path.with_name(f"state.damaged-{number}.wms")).exists():
            number += 1
        os.rename(self.path, place)
        return place
