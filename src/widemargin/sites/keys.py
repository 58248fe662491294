"""The keys that identify sites: one pair of CURVE keys per site."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import zmq
from zmq.utils import z85

__all__ = ["SECRET_MODE", "check_public_key", "make_keys", "read_public_key", "read_secret_key"]

SECRET_MODE = 0o600
_LENGTH = 40  # of a key in Z85, which stands for 32 bytes


def make_keys(folder: str | os.PathLike[str]) -> str:
    """Create a pair of keys in a folder: ``secret.key``, for its owner only, and ``public.key``.

    Parameters
    ----------
    folder : path-like
        An existing folder.

    Returns
    -------
    str
        The public key: 40 characters, which neighbours put into their configuration.

    Raises
    ------
    FileExistsError
        If there is a secret key: neighbours would not recognise the site by a new one.
    """
    public, secret = zmq.curve_keypair()
    place = Path(folder)
    path = place / "secret.key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET_MODE)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists already, and neighbours know the site by it. Remove it to make new "
            "keys, and give the new public key to all neighbours."
        ) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret + b"\n")
    (place / "public.key").write_bytes(public + b"\n")
    return str(public.decode())


def read_public_key(folder: str | os.PathLike[str]) -> str:
    """Return the public key in a folder."""
    return _read(Path(folder) / "public.key")


def read_secret_key(folder: str | os.PathLike[str]) -> str:
    """Return the secret key in a folder, which must be readable by its owner only."""
    path = Path(folder) / "secret.key"
    key = _read(path)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise PermissionError(
            f"{path} must be readable by its owner only; its mode is {mode:03o}. Run "
            f"`chmod 600 {path}`, and make new keys if others may have read it."
        )
    return key


def check_public_key(key: object) -> str:
    """Return a public key, or raise ValueError if it is not one."""
    if not isinstance(key, str) or len(key) != _LENGTH:
        found = f"{len(key)} characters" if isinstance(key, str) else type(key).__name__
        raise ValueError(
            f"a public key must be a text of {_LENGTH} characters, the contents of the neighbour's "
            f"`public.key`; got {found}."
        )
    try:
        decoded = z85.decode(key.encode("ascii"))
    except (KeyError, ValueError, struct.error):  # the last if five characters are too much
        decoded = b""
    if len(decoded) != 32:
        raise ValueError(
            "a public key must be in Z85, as in the neighbour's `public.key`; this one has other "
            "characters. Copy it again, and mind the quotes."
        )
    return key


def _read(path: Path) -> str:
    try:
        text = path.read_text("ascii").strip()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing. Make keys with `widemargin site init`."
        ) from None
    except UnicodeDecodeError:
        text = ""
    try:
        return check_public_key(text)  # secret ones look alike
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
