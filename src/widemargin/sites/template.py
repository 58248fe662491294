"""Write a commented `site.toml`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..persistence.atomic_write import write_atomically
from . import settings
from .settings import ConfigError, Neighbour, Setting

__all__ = ["write_template"]


def write_template(
    folder: str | os.PathLike[str],
    name: str,
    *,
    neighbours: Sequence[Neighbour] = (),
    **values: Any,
) -> Path:
    """Write a ``site.toml`` with comments.

    Parameters
    ----------
    folder : path-like
        Folder of the site; an existing file is replaced.
    name : str
        Name of the site.
    neighbours : sequence of Neighbour
        Its neighbours.
    **values
        Settings by name. The others are written as comments, with their defaults.

    Returns
    -------
    Path
        The file.
    """
    unknown = values.keys() - {s.name for s in settings.SETTINGS}
    if unknown:
        raise ConfigError(
            settings.unknown_setting(min(unknown), (s.name for s in settings.SETTINGS))
        )
    given = {"name": name, **{k: v for k, v in values.items() if v is not None}}
    settings.check_settings(given)
    lines = [
        "# Configuration of a site. Lines that begin with # are comments; those that look like a",
        "# setting show its default. After a change of the neighbours: `widemargin site reload`.",
    ]
    for section, purpose in settings.SECTIONS.items():
        lines += ["", f"# {purpose}", f"[{section}]"] if section else [""]
        lines += [_line(s, given) for s in settings.SETTINGS if s.section == section]
    lines += ["", "# Those that this site talks to, in both directions: they must name it, too."]
    for each in neighbours:
        lines += ["[[neighbours]]"]
        lines += [f"{k} = {toml_text(getattr(each, k))}" for k in ("name", "address", "public_key")]
        lines += [""]
    if not neighbours:
        lines += ["# [[neighbours]]", '# name = "plant-2"', '# address = "tcp://10.0.0.2:7001"']
        lines += ['# public_key = "the 40 characters of its public.key"']
    path = Path(folder) / "site.toml"
    write_atomically(path, ("\n".join(lines).rstrip() + "\n").encode())
    return path


def _line(setting: Setting, given: dict[str, Any]) -> str:
    key = settings.key_in_file(setting)
    if setting.name in given:
        return f"{key} = {toml_text(given[setting.name])}  # {setting.comment}"
    if setting.name in settings.REQUIRED:
        return f"{key} = {toml_text(setting.example)}  # TO BE SET. {setting.comment}"
    value = setting.example if setting.default is None else setting.default
    return f"# {key} = {toml_text(value)}  # {setting.comment}"


def toml_text(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(int(value) if isinstance(value, int) else float(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_text(each) for each in value)}]"
    return json.dumps(os.fspath(value), ensure_ascii=False)
