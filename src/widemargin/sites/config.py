"""`site.toml`: read it with errors that name the key, write a commented one."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.resources import memory_bytes
from ..persistence.atomic_write import write_atomically
from .keys import check_public_key, read_public_key
from .settings import SECTIONS, SETTINGS, Setting

if TYPE_CHECKING:
    from ..estimators.gossip import GossipClassifier

__all__ = ["ConfigError", "Neighbour", "SiteConfig", "read_config", "write_template"]

# Names of settings that are not in the tables of their section.
_IN_FILE = {"data": "path"}


class ConfigError(ValueError):
    """A configuration that cannot be used, and why."""


@dataclass(frozen=True)
class Neighbour:
    """A site that this one talks to.

    Attributes
    ----------
    name : str
        For logs and tables.
    address : str
        Where it listens, such as ``tcp://10.0.0.7:7001``.
    public_key : str
        The contents of its ``public.key``: it is known by this, not by its name or address.
    """

    name: str
    address: str
    public_key: str


@dataclass(frozen=True)
class SiteConfig:
    """What a ``site.toml`` says; `widemargin.sites.settings` explains every value."""

    name: str
    folder: Path
    data: Path
    n_sites: int
    total_rows: int
    n_features: int
    listen: str
    metrics_port: int
    format: str | None
    label: str | int | None
    zero_based: bool | None
    classes: tuple[Any, Any]
    diameter: int | None
    n_links: int | None
    row_square: float
    loss: str
    C: float
    lam: float | None
    upsilon: float
    theta: float
    fit_intercept: bool
    intercept_scaling: float
    solver: str
    penalty: float
    relaxation: float
    epochs: int
    batch_size: int
    robust: str | None
    clip: float
    trim: int
    max_norm: float | None
    tol: float
    seed: int
    round_interval: float
    heartbeat: float
    sync: bool
    rate_limit: float
    max_memory: str
    neighbours: tuple[Neighbour, ...] = field(default=())

    @cached_property
    def agreement(self) -> int:
        """Number that differs where sites do not solve the same problem in the same way."""
        agreed = {s.name: getattr(self, s.name) for s in SETTINGS if s.section in _AGREED}
        agreed |= {"diameter": self.longest_path, "n_links": self.network_links}
        text = json.dumps(agreed, sort_keys=True, default=str).encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")

    @property
    def longest_path(self) -> int:
        """Links between the sites farthest apart, at most."""
        return self.diameter or max(1, self.n_sites - 1)

    @property
    def network_links(self) -> int:
        """Links of the network, both directions counted."""
        return self.n_links or max(1, 2 * self.n_sites)

    def classifier(self) -> GossipClassifier:
        """Return the estimator whose parameters these are; ValueError if one is out of range."""
        from ..estimators.gossip import GossipClassifier
        from ..gossip.methods import METHODS

        method = METHODS[self.solver]
        options = {name: getattr(self, name, None) for name in method().get_params()}
        solver = method(**{k: v for k, v in options.items() if v is not None or k == "robust"})
        estimator = GossipClassifier(
            self.n_sites,
            loss=self.loss,
            C=self.C,
            lam=self.lam,
            upsilon=self.upsilon,
            theta=self.theta,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
            solver=solver,
            tol=self.tol,
        )
        estimator._check_parameters()
        return estimator


_AGREED = ("network", "model")


def read_config(path: str | os.PathLike[str]) -> SiteConfig:
    """Read a ``site.toml``.

    Parameters
    ----------
    path : path-like
        The file, or the folder that holds it.

    Returns
    -------
    SiteConfig
        Its values, all checked. Its folder is that of the file.

    Raises
    ------
    ConfigError
        If a key is missing, unknown or of a wrong kind; the text names it.
    """
    file = Path(path)
    file = file / "site.toml" if file.is_dir() else file
    try:
        text = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file} is missing. Make one with `widemargin site init`.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is no TOML: {error}.") from None
    try:
        return _config(text, file.parent.resolve())
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def _config(text: dict[str, Any], folder: Path) -> SiteConfig:
    _refuse_unknown(text)
    values: dict[str, Any] = {s.name: _value(s, text) for s in SETTINGS}
    values["data"] = folder / values["data"]
    values["classes"] = tuple(sorted(values["classes"]))
    neighbours = _neighbours(text.get("neighbours", []))
    if (folder / "public.key").exists():
        mine = next((e for e in neighbours if e.public_key == read_public_key(folder)), None)
        if mine is not None:
            raise ConfigError(
                f"neighbour {mine.name!r} has this site's own public key; take the neighbour's."
            )
    config = SiteConfig(folder=folder, neighbours=neighbours, **values)
    try:
        config.classifier()
        memory_bytes(config.max_memory)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if config.solver == "gadget" and config.loss != "hinge":
        raise ConfigError(
            f"`model.solver` = 'gadget' needs `model.loss` = 'hinge'; got {config.loss!r}. Take "
            "'consensus', which stands all losses."
        )
    if config.robust is not None and config.solver != "gadget":
        raise ConfigError(
            f"`model.robust` is for `model.solver` = 'gadget'; got {config.solver!r}. Leave it out."
        )
    if config.robust == "trim" and 2 * config.trim > len(neighbours):
        raise ConfigError(
            f"`model.trim` = {config.trim} leaves out {2 * config.trim} neighbours; this site has "
            f"{len(neighbours)}. Give it more, or lower `model.trim`."
        )
    return config


def _refuse_unknown(text: dict[str, Any]) -> None:
    known = {section: {_key(s) for s in SETTINGS if s.section == section} for section in SECTIONS}
    tables = {name for name in SECTIONS if name}
    for key in text:
        if key not in known[""] | tables | {"neighbours"}:
            raise ConfigError(_unknown(key, known[""] | tables | {"neighbours"}))
    for table in tables & text.keys():
        if not isinstance(text[table], dict):
            raise ConfigError(f"`{table}` must be a table, [{table}].")
        for key in text[table]:
            if key not in known[table]:
                raise ConfigError(_unknown(f"{table}.{key}", known[table]))


def _unknown(key: str, known: Iterable[str]) -> str:
    return f"there is no setting `{key}`. Those there are: {', '.join(sorted(known))}."


def _key(setting: Setting) -> str:
    return _IN_FILE.get(setting.name, setting.name)


def _value(setting: Setting, text: dict[str, Any]) -> Any:
    table = text.get(setting.section, {}) if setting.section else text
    name = f"{setting.section}.{_key(setting)}".lstrip(".")
    if _key(setting) not in table:
        if setting.name in _REQUIRED:
            raise ConfigError(f"`{name}` is missing: {setting.comment}")
        return setting.default
    return _checked(setting, table[_key(setting)])


def _checked(setting: Setting, value: Any) -> Any:
    required, fits = setting.kind
    if not fits(value):
        name = f"{setting.section}.{_key(setting)}".lstrip(".")
        raise ConfigError(f"`{name}` must be {required}; got {value!r}.")
    return value


def check_settings(values: dict[str, Any]) -> None:
    """Raise ConfigError if a setting is not of its kind."""
    for setting in SETTINGS:
        if setting.name in values:
            _checked(setting, values[setting.name])


_REQUIRED = {"name", "data", "n_sites", "total_rows", "n_features"}


def _neighbours(entries: Any) -> tuple[Neighbour, ...]:
    if not isinstance(entries, list):
        raise ConfigError("`neighbours` must be tables, each [[neighbours]].")
    found: list[Neighbour] = []
    for number, entry in enumerate(entries, 1):
        where = f"neighbour {number}"
        keys = {"name", "address", "public_key"}
        if not isinstance(entry, dict) or entry.keys() != keys:
            raise ConfigError(f"{where} must have {', '.join(sorted(keys))}, and nothing else.")
        for key in ("name", "address"):
            kind = next(s for s in SETTINGS if s.name == {"address": "listen"}.get(key, key)).kind
            if not kind[1](entry[key]):
                raise ConfigError(f"`{key}` of {where} must be {kind[0]}; got {entry[key]!r}.")
        try:
            check_public_key(entry["public_key"])
        except ValueError as error:
            raise ConfigError(f"`public_key` of {where}, {entry['name']}: {error}") from None
        found.append(Neighbour(**entry))
    for key in ("name", "public_key"):
        values = [getattr(each, key) for each in found]
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise ConfigError(f"two neighbours have the `{key}` {twice!r}; each needs its own.")
    return tuple(found)


def write_template(
    folder: str | os.PathLike[str],
    name: str,
    *,
    neighbours: Sequence[Neighbour] = (),
    **values: Any,
) -> Path:
    """Write a commented ``site.toml``.

    Parameters
    ----------
    folder : path-like
        Where to; an existing file there is replaced.
    name : str
        Name of the site.
    neighbours : sequence of Neighbour
        Those it talks to.
    **values
        Settings by name. The others stand in the file as comments, with their defaults.

    Returns
    -------
    Path
        The file.
    """
    unknown = values.keys() - {s.name for s in SETTINGS}
    if unknown:
        raise ConfigError(_unknown(min(unknown), (s.name for s in SETTINGS)))
    given = {"name": name, **{k: v for k, v in values.items() if v is not None}}
    check_settings(given)
    lines = [
        "# Configuration of a site. Lines that begin with # are comments; those that look like a",
        "# setting show its default. After a change of the neighbours: `widemargin site reload`.",
    ]
    for section, purpose in SECTIONS.items():
        lines += ["", f"# {purpose}", f"[{section}]"] if section else [""]
        lines += [_line(s, given) for s in SETTINGS if s.section == section]
    lines += ["", "# Those that this site talks to, in both directions: they must name it, too."]
    for each in neighbours:
        lines += ["[[neighbours]]"]
        lines += [f"{k} = {_toml(getattr(each, k))}" for k in ("name", "address", "public_key")]
        lines += [""]
    if not neighbours:
        lines += ["# [[neighbours]]", '# name = "plant-2"', '# address = "tcp://10.0.0.2:7001"']
        lines += ['# public_key = "the 40 characters of its public.key"']
    path = Path(folder) / "site.toml"
    write_atomically(path, ("\n".join(lines).rstrip() + "\n").encode())
    return path


def _line(setting: Setting, given: dict[str, Any]) -> str:
    key = _key(setting)
    if setting.name in given:
        return f"{key} = {_toml(given[setting.name])}  # {setting.comment}"
    if setting.name in _REQUIRED:
        return f"{key} = {_toml(setting.example)}  # TO BE SET. {setting.comment}"
    value = setting.example if setting.default is None else setting.default
    return f"# {key} = {_toml(value)}  # {setting.comment}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(int(value) if isinstance(value, int) else float(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    return json.dumps(os.fspath(value), ensure_ascii=False)
