"""`site.toml`: its values, read with errors that name the key."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.resources import memory_bytes
from .agreement import Agreement
from .network.keys import check_public_key, read_public_key
from .settings import (
    FROM_PREPARATION,
    NEIGHBOUR_ADDRESS,
    REQUIRED,
    SECTIONS,
    SETTINGS,
    ConfigError,
    Neighbour,
    Setting,
    check_settings,
    checked_value,
    unknown_setting,
)
from .studies.study import Study, read_study
from .template import toml_text, write_template
from .training.private_checks import check_private

if TYPE_CHECKING:
    from ..estimators.gossip import GossipClassifier
    from .preparation.preparation import Preparation
    from .studies.schema import Schema

__all__ = [
    "ConfigError",
    "Neighbour",
    "SiteConfig",
    "add_neighbour",
    "check_settings",
    "member_config",
    "read_config",
    "write_template",
]


@dataclass(frozen=True)
class SiteConfig:
    """Contents of a ``site.toml``; `widemargin.sites.settings` explains every value."""

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
    classes: tuple[Any, ...]
    diameter: int | None
    n_links: int | None
    least_sites: int
    min_rows: int
    row_square: float
    loss: str
    C: float | tuple[float, ...]
    holdout: float | None
    kernel: str
    gamma: float | None
    degree: int
    coef0: float
    n_components: int
    feature_seed: int
    lam: float | None
    upsilon: float
    theta: float
    fit_intercept: bool
    intercept_scaling: float
    solver: str
    epsilon: float
    delta: float
    row_norm: float
    releases: int
    penalty: str | float
    relaxation: float
    epochs: int
    batch_size: int
    robust: str | int
    clip: float
    trim: int
    max_norm: float | None
    max_travel: float | None
    tol: float
    seed: int
    round_interval: float
    heartbeat: float
    sync: bool
    after_lost_state: str
    rate_limit: float
    max_memory: str
    study: Study | None
    study_file: Path | None
    study_interval: float
    neighbours: tuple[Neighbour, ...] = field(default=())
    schema: Schema | None = None
    preparation: Preparation | None = None  # agreed by the sites; see `prepared`

    @cached_property
    def agreed(self) -> Agreement:
        """Settings that all sites must share; those that follow from a study's members are not."""
        values = {s.name: getattr(self, s.name) for s in SETTINGS if s.section in _AGREED}
        values |= {
            name: None if each is None else each.digest
            for name, each in (("schema", self.schema), ("preparation", self.preparation))
        }
        if self.study is not None:
            of_members = ("n_sites", "diameter", "least_sites")
            values = {k: v for k, v in values.items() if k not in of_members}
            return Agreement(values | self.study.agreed)
        return Agreement(values | {"diameter": self.longest_path, "n_links": self.network_links})

    @property
    def agreement(self) -> int:
        """Digest of the settings that all sites must share."""
        return self.agreed.digest

    @cached_property
    def preparing_agreement(self) -> int:
        """The same before the sites have agreed on a preparation."""
        found = {"preparation", *FROM_PREPARATION}
        values = self.agreed.values
        return Agreement({k: v for k, v in values.items() if k not in found}).digest

    def prepared(self, preparation: Preparation) -> SiteConfig:
        """Return the configuration with a preparation that the sites have agreed on."""
        square = preparation.row_square
        constant = self.intercept_scaling**2 if self.fit_intercept else 0.0
        return replace(
            self,
            preparation=preparation,
            n_features=preparation.n_features,
            total_rows=preparation.total_rows,
            row_square=self.row_square if square is None else square + constant,
        )

    @property
    def longest_path(self) -> int:
        """Upper bound on the number of links between two sites."""
        return self.diameter or max(1, self.n_sites - 1)

    @property
    def network_links(self) -> int:
        """Number of links of the network, counting both directions."""
        return self.n_links or max(1, 2 * self.n_sites)

    @property
    def values_of_C(self) -> tuple[float, ...]:
        """The values of C, in ascending order."""
        return self.C if isinstance(self.C, tuple) else (self.C,)

    @property
    def held_out_share(self) -> float:
        """Share of the rows that scores are for; 0 if there is nothing to score."""
        return self.holdout or (0.2 if isinstance(self.C, tuple) else 0.0)

    def classifier(self, C: float | None = None) -> GossipClassifier:
        """Return the estimator with these parameters; ValueError if one is out of range.

        ``C`` is the value to take, the smallest if None.
        """
        from ..estimators.gossip import GossipClassifier
        from ..gossip.methods import METHODS

        method = METHODS[self.solver]
        options = {name: getattr(self, name, None) for name in method().get_params()}
        if "robust" in options:
            off = "none" if self.solver == "consensus" else "auto"
            options["robust"] = None if self.robust in ("none", off) else self.robust
        solver = method(**{k: v for k, v in options.items() if v is not None or k == "robust"})
        same = "loss", "lam", "upsilon", "theta", "fit_intercept", "intercept_scaling", "tol"
        parameters: dict[str, Any] = {name: getattr(self, name) for name in same}
        parameters["C"] = self.values_of_C[0] if C is None else C
        estimator = GossipClassifier(self.n_sites, solver=solver, **parameters)
        estimator._check_parameters()
        return estimator


_AGREED = ("network", "model")


def read_config(path: str | os.PathLike[str]) -> SiteConfig:
    """Read a ``site.toml``.

    Parameters
    ----------
    path : path-like
        The file, or its folder.

    Returns
    -------
    SiteConfig
        The checked values; ``folder`` is that of the file.

    Raises
    ------
    ConfigError
        If a key is missing, unknown or of a wrong kind; the message names it.
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


def member_config(folder: Path, study: Study, **values: Any) -> SiteConfig:
    """Return the configuration of a member of a study, before there is a file of it."""
    text: dict[str, Any] = {"study": f"{study.name}.study"}
    for setting in SETTINGS:
        if values.get(setting.name) is not None:
            table = text.setdefault(setting.section, {}) if setting.section else text
            table[setting.key] = values[setting.name]
    return _config(text, folder, study)


def _config(text: dict[str, Any], folder: Path, study: Study | None = None) -> SiteConfig:
    _refuse_unknown(text)
    study = _study(text, folder) if study is None else study
    if study is not None:
        text = {**text, **_of_study(study)}
    network = text.get("network", {})
    agreed_on = _agreed_on(text) if "schema" in network else ()
    found = REQUIRED & set(agreed_on)
    values: dict[str, Any] = {s.name: 0 if s.name in found else _value(s, text) for s in SETTINGS}
    if study is not None:
        values["schema"] = study.schema
    elif values["schema"] is not None:
        _take_schema(values, folder / values["schema"], network, agreed_on)
    values["data"] = folder / values["data"]
    values["classes"] = tuple(sorted(values["classes"]))
    if isinstance(values["C"], list):
        values["C"] = tuple(sorted(map(float, values["C"])))
    values["study"] = study
    values["study_file"] = None if study is None else folder / text["study"]
    if study is not None and values["label"] is None:
        values["label"] = study.schema.label
    if study is None:
        neighbours = _neighbours(text.get("neighbours", []))
    else:
        neighbours = study.neighbours_of(read_public_key(folder))
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
    if isinstance(config.C, tuple) and config.lam is not None:
        raise ConfigError("`model.lam` replaces `model.C`, which is a list. Leave one of them out.")
    if config.solver == "gadget" and config.loss != "hinge":
        raise ConfigError(
            f"`model.solver` = 'gadget' needs `model.loss` = 'hinge'; got {config.loss!r}. Take "
            "'consensus', which supports all losses."
        )
    fitting = {"gadget": ("clip", "trim")}.get(config.solver, ())
    counted = isinstance(config.robust, int)
    if config.robust not in ("auto", "none", *fitting) and not (
        counted and config.solver == "consensus"
    ):
        raise ConfigError(
            f"`model.robust` = {config.robust!r} is not for `model.solver` = {config.solver!r}: "
            "numbers are for 'consensus', 'clip' and 'trim' for 'gadget'. Take 'auto' or leave it "
            "out."
        )
    # The neighbours of a member come and go: it trusts all of them while they are too few.
    if study is None and counted and 2 * int(config.robust) >= len(neighbours):
        raise ConfigError(
            f"`model.robust` = {config.robust} needs more than {2 * int(config.robust)} "
            f"neighbours; this site has {len(neighbours)}. Give it more, lower it, or take 'auto'."
        )
    if config.solver == "private":
        check_private(vars(config), config.schema)
    # The neighbours of a member come and go.
    if study is None and config.robust == "trim" and 2 * config.trim > len(neighbours):
        raise ConfigError(
            f"`model.trim` = {config.trim} leaves out {2 * config.trim} neighbours; this site has "
            f"{len(neighbours)}. Give it more, or lower `model.trim`."
        )
    return _declared(config) if config.solver == "private" else config


def _declared(config: SiteConfig) -> SiteConfig:
    """Return the configuration of a private site with the preparation that its schema declares."""
    from .preparation.agreed_preparation import declared_preparation

    if config.schema is None:
        return config
    return config.prepared(declared_preparation(config.schema, config.total_rows))


def _agreed_on(text: dict[str, Any]) -> tuple[str, ...]:
    """Return the settings that sites with a schema find out together."""
    private = text.get("model", {}).get("solver") == "private"
    # The number of rows is one of the things that private sites do not tell.
    return tuple(name for name in FROM_PREPARATION if not (private and name == "total_rows"))


def _take_schema(
    values: dict[str, Any], path: Path, network: dict[str, Any], agreed_on: tuple[str, ...]
) -> None:
    """Read the schema, and take the classes from it; ConfigError if the file says otherwise."""
    from .studies.schema import read_schema

    for name in agreed_on:
        if name in network:
            raise ConfigError(
                f"`network.{name}` must be left out where there is a `network.schema`: the sites "
                "agree on it."
            )
    schema = values["schema"] = read_schema(path)
    if "classes" in network and tuple(sorted(values["classes"])) != schema.classes:
        raise ConfigError(
            f"`network.classes` must be those of the schema, {schema.classes}, or left out; got "
            f"{values['classes']}."
        )
    values["classes"] = schema.classes


def _study(text: dict[str, Any], folder: Path) -> Study | None:
    """Return the study that a site names, or None; it must not have settings of its own then."""
    if "study" not in text:
        return None
    for key in ("network", "model", "neighbours"):
        if key in text:
            raise ConfigError(
                f"`{key}` and `study` exclude each other: the study has the settings and the "
                f"members. Remove `{key}`, or `study`."
            )
    name = checked_value(next(s for s in SETTINGS if s.name == "study"), text["study"])
    return read_study(folder / name)


def _of_study(study: Study) -> dict[str, Any]:
    """Return the sections of a configuration that a study decides."""
    sections: dict[str, dict[str, Any]] = {"network": {}, "model": {}}
    for setting in SETTINGS:
        if setting.name in study.settings:
            sections[setting.section][setting.key] = study.settings[setting.name]
    schema = study.schema
    sections["network"] |= {
        "n_sites": len(study.members),
        "diameter": study.longest_path,
        "classes": list(schema.classes),
        "n_features": schema.n_features or len(schema.columns),
    }
    return sections


def _refuse_unknown(text: dict[str, Any]) -> None:
    known = {section: {s.key for s in SETTINGS if s.section == section} for section in SECTIONS}
    tables = {name for name in SECTIONS if name}
    for key in text:
        if key not in known[""] | tables | {"neighbours"}:
            raise ConfigError(unknown_setting(key, known[""] | tables | {"neighbours"}))
    for table in tables & text.keys():
        if not isinstance(text[table], dict):
            raise ConfigError(f"`{table}` must be a table, [{table}].")
        for key in text[table]:
            if key not in known[table]:
                raise ConfigError(unknown_setting(f"{table}.{key}", known[table]))


def _value(setting: Setting, text: dict[str, Any]) -> Any:
    table = text.get(setting.section, {}) if setting.section else text
    if setting.key not in table:
        if setting.name in REQUIRED:
            raise ConfigError(f"`{setting.full_key}` is missing: {setting.comment}")
        return setting.default
    return checked_value(setting, table[setting.key])


def _neighbours(entries: Any) -> tuple[Neighbour, ...]:
    if not isinstance(entries, list):
        raise ConfigError("`neighbours` must be tables, each [[neighbours]].")
    found: list[Neighbour] = []
    for number, entry in enumerate(entries, 1):
        where = f"neighbour {number}"
        keys = {"name", "address", "public_key"}
        if not isinstance(entry, dict) or {"address": "", **entry}.keys() != keys:
            raise ConfigError(
                f"{where} must have {', '.join(sorted(keys))}, and nothing else; `address` may be "
                "left out for one that dials this site."
            )
        entry = {"address": "", **entry}
        for key in ("name", "address"):
            named = next(s for s in SETTINGS if s.name == "name").kind
            kind = NEIGHBOUR_ADDRESS if key == "address" else named
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


def add_neighbour(path: Path, neighbour: Neighbour) -> SiteConfig:
    """Append a neighbour to a ``site.toml``, keeping its comments and order.

    Raises
    ------
    ConfigError
        If the file is invalid, before or after the change; it is then not changed.
    """
    try:
        text = path.read_text("utf-8").rstrip("\n")
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing. Make one with `widemargin site init`.") from None
    lines = [f"{key} = {toml_text(value)}" for key, value in vars(neighbour).items()]
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
