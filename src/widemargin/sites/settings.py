"""The settings of a site: names, types, defaults and purposes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ..data import FORMATS
from .network.addresses import is_listen_address, is_neighbour_address

__all__ = [
    "FROM_PREPARATION",
    "NEIGHBOUR_ADDRESS",
    "REQUIRED",
    "SECTIONS",
    "SETTINGS",
    "ConfigError",
    "Neighbour",
    "Setting",
    "check_settings",
    "checked_value",
    "unknown_setting",
]

Check = Callable[[Any], bool]

REQUIRED = {"name", "data", "n_sites", "total_rows", "n_features"}
# What sites with a schema agree on instead; see `preparation`.
FROM_PREPARATION = ("total_rows", "n_features", "row_square")


class ConfigError(ValueError):
    """A configuration that cannot be used."""


@dataclass(frozen=True)
class Neighbour:
    """A site that this one exchanges messages with.

    Attributes
    ----------
    name : str
        Name for logs and tables.
    address : str
        Address that it listens at, such as ``tcp://10.0.0.7:7001`` or ``tcp://[fd00::7]:7001``;
        that of a relay, ``relay://HOST:PORT``; or empty if it can only be waited for.
    public_key : str
        The contents of its ``public.key``, which identifies it, unlike name and address.
    """

    name: str
    address: str
    public_key: str


def _whole(least: int, most: int = 2**53) -> tuple[str, Check]:
    return f"a whole number from {least}" + (f" to {most}" if most < 2**53 else ""), (
        lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most
    )


def _number(least: float, *, zero: bool = False) -> tuple[str, Check]:
    return ("a number from 0" if zero else "a positive number"), (
        lambda v: (
            isinstance(v, int | float)
            and not isinstance(v, bool)
            and isfinite(v)
            and (v >= least if zero else v > least)
        )
    )


_POSITIVE = _number(0)


def _or(text: str, kind: tuple[str, Check]) -> tuple[str, Check]:
    return f"{text!r} or {kind[0]}", lambda v: (isinstance(v, str) and v == text) or kind[1](v)


def _one_of(*names: str) -> tuple[str, Check]:
    return "one of " + ", ".join(repr(n) for n in names), lambda v: v in names


LONGEST_NAME = 64
_NAME: tuple[str, Check] = (
    f"a name of at most {LONGEST_NAME} printable characters, without spaces at its ends",
    lambda v: (
        isinstance(v, str) and 0 < len(v) <= LONGEST_NAME and v.isprintable() and v == v.strip()
    ),
)
_TEXT: tuple[str, Check] = ("a text", lambda v: isinstance(v, str) and bool(v.strip()))
_FLAG: tuple[str, Check] = ("true or false", lambda v: isinstance(v, bool))
_LISTEN: tuple[str, Check] = (
    "an address such as 'tcp://127.0.0.1:7001' or 'tcp://[::1]:7001', with a port from 1 to 65535, "
    "or empty",
    is_listen_address,
)
NEIGHBOUR_ADDRESS: tuple[str, Check] = (
    "the address of one machine, 'tcp://HOST:PORT' or 'relay://HOST:PORT', with a port from 1 to "
    "65535, or empty if the neighbour dials",
    is_neighbour_address,
)
MOST_CLASSES = 1000
_CLASSES: tuple[str, Check] = (
    f"two to {MOST_CLASSES} different labels, all numbers or all texts",
    lambda v: (
        isinstance(v, list | tuple)
        and 2 <= len(v) <= MOST_CLASSES
        and (all(isinstance(x, str) for x in v) or all(type(x) in (int, float) for x in v))
        and len(set(v)) == len(v)
        and all(isinstance(x, str) or isfinite(x) for x in v)
    ),
)
MOST_VALUES = 20
_VALUES: tuple[str, Check] = (
    f"a positive number, or a list of up to {MOST_VALUES} of them",
    lambda v: (
        all(map(_POSITIVE[1], v)) and 1 <= len(set(v)) == len(v) <= MOST_VALUES
        if isinstance(v, list | tuple)
        else _POSITIVE[1](v)
    ),
)
_SHARE: tuple[str, Check] = (
    "a number above 0 and below 1",
    lambda v: _POSITIVE[1](v) and v < 1,
)
_LABEL: tuple[str, Check] = (
    "a name or a position",
    lambda v: isinstance(v, str | int) and not isinstance(v, bool),
)


_ROBUST: tuple[str, Check] = (
    "'auto', 'none', 'clip', 'trim', or a whole number from 1",
    lambda v: _whole(1)[1](v) or (isinstance(v, str) and v in ("auto", "none", "clip", "trim")),
)


@dataclass(frozen=True)
class Setting:
    """One line of a configuration."""

    name: str
    section: str  # table of the file; empty for the top
    kind: tuple[str, Check]  # requirement, as a text and as a test
    default: Any
    comment: str
    example: Any = None  # value in a template if there is no default

    @property
    def key(self) -> str:
        """Key in its section of the file."""
        return "path" if self.name == "data" else self.name

    @property
    def full_key(self) -> str:
        """Key with its section, for messages."""
        return f"{self.section}.{self.key}".lstrip(".")


SECTIONS = {
    "": "",
    "data": "The rows of this site. They are read here and never sent.",
    "network": "What all sites must agree on; frames of a site with other values are refused.",
    "model": "The problem and how it is solved. Again the same at all sites.",
    "running": "How this site runs; sites may differ.",
}

SETTINGS = (
    Setting("name", "", _NAME, None, "Name of this site, for logs and tables.", "plant-1"),
    Setting(
        "listen",
        "",
        _LISTEN,
        "tcp://127.0.0.1:7001",
        "Where neighbours reach this site; '' for nowhere, if it dials them all.",
    ),
    Setting(
        "metrics_port", "", _whole(0, 65535), 0, "Prometheus metrics on localhost; 0 for none."
    ),
    Setting(
        "study",
        "",
        _TEXT,
        None,
        "The study that this site is a member of: it has the settings and the neighbours.",
        "risk.study",
    ),
    Setting("data", "data", _TEXT, None, "The file; relative to this one.", "rows.csv"),
    Setting(
        "format",
        "data",
        _one_of(*FORMATS),
        None,
        "Left out: found from the file's name.",
        "csv",
    ),
    Setting("label", "data", _LABEL, None, "Label column, by name or position.", "label"),
    Setting("zero_based", "data", _FLAG, None, "LIBSVM: feature indices count from 0.", False),
    Setting("n_sites", "network", _whole(1), None, "Sites in the whole network.", 4),
    Setting("total_rows", "network", _whole(1), None, "Rows of all sites together.", 10000),
    Setting("n_features", "network", _whole(1, 2**24), None, "Features of a row.", 20),
    Setting(
        "schema",
        "network",
        _TEXT,
        None,
        "Columns, by which sites agree on scales. Left out: by position, unscaled.",
        "schema.json",
    ),
    Setting(
        "least_sites",
        "network",
        _whole(1),
        1,
        "Study: sites that begin together; they wait until so many have joined.",
    ),
    Setting("classes", "network", _CLASSES, (-1, 1), "All labels, two or more."),
    Setting(
        "diameter",
        "network",
        _whole(1),
        None,
        "Links between the sites farthest apart, at most. Left out: n_sites - 1.",
        3,
    ),
    Setting(
        "n_links",
        "network",
        _whole(1),
        None,
        "Links, both directions counted. Left out: as in a ring, 2 n_sites.",
        8,
    ),
    Setting(
        "row_square",
        "network",
        _number(0),
        1.0,
        "linear, poly: mean squared length of a row, roughly. Sets the pace of consensus only.",
    ),
    Setting(
        "min_rows",
        "network",
        _whole(0),
        50,
        "Fewest rows of a site: what a few rows add up to gives each of them away.",
    ),
    Setting(
        "loss", "model", _one_of("hinge", "squared_hinge", "odm"), "hinge", "Loss of a margin."
    ),
    Setting(
        "C",
        "model",
        _VALUES,
        1.0,
        "Weight of a row's loss. Of a list, sites choose the best value together.",
    ),
    Setting(
        "holdout",
        "model",
        _SHARE,
        None,
        "Share of rows for the choice of C. Left out: 0.2 if C is a list, else none.",
        0.2,
    ),
    Setting("lam", "model", _number(0), None, "Replaces C: λ on the papers' scale.", 1e-4),
    Setting("upsilon", "model", _number(0), 0.5, "odm: weight of margins that are too large."),
    Setting("theta", "model", _number(0, zero=True), 0.2, "odm: deviation that costs nothing."),
    Setting(
        "kernel",
        "model",
        _one_of("linear", "rbf", "laplacian", "poly"),
        "linear",
        "Other than linear: approximated by random features.",
    ),
    Setting("gamma", "model", _number(0), None, "Width. Left out: 1 / n_features.", 0.1),
    Setting("degree", "model", _whole(1, 20), 3, "poly: degree."),
    Setting("coef0", "model", _number(0, zero=True), 0.0, "poly: constant term."),
    Setting("n_components", "model", _whole(2, 2**20), 1000, "Number of random features."),
    Setting("feature_seed", "model", _whole(0, 2**32 - 1), 0, "Draws the random features."),
    Setting("fit_intercept", "model", _FLAG, True, "Penalised intercept."),
    Setting("intercept_scaling", "model", _number(0), 1.0, "Value of the constant feature."),
    Setting(
        "solver",
        "model",
        _one_of("consensus", "gadget", "tracking", "private"),
        "consensus",
        "How sites learn; private has differential privacy, else consensus is the one to take.",
    ),
    Setting("epsilon", "model", _number(0), 3.0, "private: ε of all that a site lets out."),
    Setting("delta", "model", _number(0), 1e-6, "private: δ, well below 1 / total_rows."),
    Setting("row_norm", "model", _number(0), 1.0, "private: longer rows are shortened to this."),
    Setting("releases", "model", _whole(1), 100, "private: number of noisy gradients of a site."),
    Setting(
        "penalty",
        "model",
        _or("auto", _number(0)),
        "auto",
        "consensus: weight of disagreement; 'auto' tunes itself.",
    ),
    Setting("relaxation", "model", _number(0), 0.7, "consensus: how far a site follows at once."),
    Setting("epochs", "model", _whole(1), 1, "consensus: passes over the rows in a round."),
    Setting("batch_size", "model", _whole(1), 32, "gadget: rows of a step."),
    Setting(
        "robust",
        "model",
        _ROBUST,
        "auto",
        "Limit what neighbours can do to the model. consensus: how many may lie, 'auto' is one "
        "from three neighbours on, where honest sites are alike; gadget: 'clip' or 'trim', "
        "'auto' is 'none'.",
    ),
    Setting("clip", "model", _number(0), 1.0, "robust = 'clip': longest difference followed."),
    Setting("trim", "model", _whole(0), 1, "robust = 'trim': left out at either end."),
    Setting(
        "max_norm",
        "model",
        _number(0),
        None,
        "Longest vector that is believed. Left out: ten times what the problem allows.",
        1e6,
    ),
    Setting(
        "max_travel",
        "model",
        _number(0),
        None,
        "consensus: how far a neighbour's vectors may move decisions here in an hour. Left out: "
        "100 max(1, C)^(1/4).",
        100.0,
    ),
    Setting("tol", "model", _number(0), 1e-3, "Relative gap at which sites are content."),
    Setting("seed", "running", _whole(0), 0, "Decides the order in which rows are visited."),
    Setting(
        "round_interval", "running", _number(0, zero=True), 0.02, "Seconds from round to round."
    ),
    Setting("heartbeat", "running", _number(0), 1.0, "The same once all sites are content."),
    Setting(
        "sync",
        "running",
        _FLAG,
        True,
        "Flush the state to the disk every round: needed to outlast a power cut, not a kill.",
    ),
    Setting(
        "after_lost_state",
        "running",
        _one_of("refuse", "go_on"),
        "refuse",
        "private: whether to start with what is left of the budget after the state was lost.",
    ),
    Setting(
        "study_interval",
        "running",
        _number(0),
        10.0,
        "Seconds between questions to the desk of the study for new members.",
    ),
    Setting(
        "rate_limit", "running", _number(0), 200.0, "Frames a second that are read of a neighbour."
    ),
    Setting(
        "max_memory",
        "running",
        _TEXT,
        "1GiB",
        "For what is kept for all neighbours, and for mapped rows.",
    ),
)


def unknown_setting(key: str, known: Iterable[str]) -> str:
    """Return the message for a setting that does not exist."""
    return f"there is no setting `{key}`. Those there are: {', '.join(sorted(known))}."


def checked_value(setting: Setting, value: Any) -> Any:
    """Return a value, or raise ConfigError if it is not of the setting's kind."""
    required, fits = setting.kind
    if not fits(value):
        raise ConfigError(f"`{setting.full_key}` must be {required}; got {value!r}.")
    return value


def check_settings(values: dict[str, Any]) -> None:
    """Raise ConfigError if a setting is not of its kind."""
    for setting in SETTINGS:
        if setting.name in values:
            checked_value(setting, values[setting.name])
