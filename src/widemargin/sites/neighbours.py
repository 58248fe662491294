"""Add a neighbour to a site's file, all of which is checked before it replaces the old one."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .config import ConfigError, Neighbour, SiteConfig, read_config

__all__ = ["add_neighbour"]


def add_neighbour(path: Path, neighbour: Neighbour) -> SiteConfig:
    """Append a neighbour to a ``site.toml``, whose comments and order stay as they are.

    Parameters
    ----------
    path : Path
        The file.
    neighbour : Neighbour
        Who is added.

    Returns
    -------
    SiteConfig
        What the file says now.

    Raises
    ------
    ConfigError
        If the file would no longer do, or does not already; it is left as it was.
    """
    try:
        text = path.read_text("utf-8").rstrip("\n")
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing. Make one with `widemargin site init`.") from None
    # A text of JSON is one of TOML.
    lines = [f"{key} = {json.dumps(value)}" for key, value in vars(neighbour).items()]
    candidate = path.with_name(".site.toml.new")
    try:
        candidate.write_text("\n".join([text, "", "[[neighbours]]", *lines, ""]), "utf-8")
        config = read_config(candidate)
        os.replace(candidate, path)
    except ConfigError as error:
        raise ConfigError(str(error).replace(str(candidate), str(path))) from None
    finally:
        candidate.unlink(missing_ok=True)
    return config
