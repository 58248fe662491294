"""A network of sites: from command-line options to the estimator, and its description."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .messages import usage_error
from .options import settings_in

# Settings whose options have other names. `loss` is the loss of messages; messages about the
# estimator's own loss, whose option is --loss, call it the 'loss' parameter.
OPTIONS = {
    "n_sites": "--sites",
    "n_components": "--components",
    "holdout": "--holdout",
    "C": "-C",
    "max_iter": "--rounds",
    "max_time": "--max-time",
    "tol": "--tol",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "loss": "--drop",
    "duplication": "--duplicate",
    "schedule": "--event",
    "speeds": "--slow",
}
# Settings that have an effect with some values of another setting only.
_MAPPED = ("rbf", "laplacian", "poly")
NEEDED: dict[str, tuple[str, tuple[str, ...]]] = {
    "upsilon": ("loss", ("odm",)),
    "theta": ("loss", ("odm",)),
    "epsilon": ("stopping", ("norm",)),
    "quiet": ("stopping", ("norm",)),
    "n_components": ("kernel", _MAPPED),
    "gamma": ("kernel", _MAPPED),
    "degree": ("kernel", ("poly",)),
    "coef0": ("kernel", ("poly",)),
}


def spelled(message: str) -> str:
    """Replace the names of settings in a message by those of the options."""
    for name, option in OPTIONS.items():
        message = message.replace(f"`{name}`", option)
        if name != "loss":
            message = message.replace(f"The '{name}' parameter of GossipClassifier", option)
    return message


def topology_with(name: str | None, options: list[str]) -> Any:
    """Return what the estimator takes as ``topology``."""
    if not options:
        return name
    if name is None:
        raise usage_error("--topology-option is for a --topology that has options; give one.")
    return name, _values(options, "--topology-option")


def solver_with(name: str | None, options: list[str]) -> Any:
    """Return what the estimator takes as ``solver``: an object where options were given."""
    from ..gossip.methods import METHODS

    if not options or (name is not None and name not in METHODS):
        return name  # which the estimator checks
    name = "consensus" if name is None else name
    known = METHODS[name]().get_params()
    given = _values(options, "--solver-option")
    if foreign := sorted(set(given) - set(known)):
        raise usage_error(
            f"--solver-option {foreign[0]}: solver {name} has the options {', '.join(known)}."
        )
    return METHODS[name](**given)


def faults_with(
    drop: float | None,
    delay: int | None,
    duplicate: float | None,
    events: list[str],
    slow: list[str],
) -> Any:
    """Return what the estimator takes as ``faults``."""
    if drop is None and delay is None and duplicate is None and not events and not slow:
        return None
    from ..gossip import NetworkFaults

    schedule = []
    for text in events:
        when, _, rest = text.partition(":")
        event, _, site = rest.partition(":")
        if not (when.isdecimal() and site.isdecimal()):
            raise usage_error(
                f"--event must be ROUND:EVENT:SITE, such as 100:crash:3; got {text!r}."
            )
        schedule.append((int(when), event, int(site)))
    return NetworkFaults(
        loss=drop or 0.0,
        duplication=duplicate or 0.0,
        delay=delay or 0,
        schedule=schedule,
        speeds=_speeds(slow),
    )


def _speeds(slow: list[str]) -> dict[int, float]:
    speeds = {}
    for text in slow:
        site, _, speed = text.partition(":")
        try:
            speeds[int(site)] = float(speed)
        except ValueError:
            raise usage_error(f"--slow must be SITE:SPEED, such as 3:0.25; got {text!r}.") from None
    return speeds


def network_estimator(given: dict[str, Any]) -> Any:
    """Build the estimator from its settings among the options, before data are read."""
    from .. import GossipClassifier
    from ..core.resources import memory_bytes, thread_count
    from ..estimators.gossip_sites import USUAL_SITES
    from ..gossip import graph_of

    given = settings_in(given, GossipClassifier)
    if "lam" in given and "C" in given:
        raise usage_error("-C and --lam set the same weight on two scales; give one of them.")
    estimator = GossipClassifier(**given)
    n_sites = USUAL_SITES if estimator.n_sites is None else estimator.n_sites
    try:
        estimator._check_parameters()
        memory_bytes(estimator.memory_limit)
        thread_count(estimator.n_jobs)
        graph_of(estimator.topology, n_sites, estimator.random_state or 0)
        if estimator.faults is not None:
            estimator.faults.check(n_sites)
    except (ValueError, ImportError) as error:
        raise usage_error(spelled(str(error))) from None
    for name, (setting, values) in NEEDED.items():
        if name in given and (got := getattr(estimator, setting)) not in values:
            raise usage_error(
                f"{OPTIONS.get(name, f'--{name}')} is no setting of --{setting} {got}. Add "
                f"--{setting} {' or '.join(values)} to use it."
            )
    if "holdout" in given and isinstance(estimator.C, float):
        raise usage_error("--holdout is for several values of -C; repeat -C to have one chosen.")
    return estimator


def _values(given: list[str], option: str) -> dict[str, Any]:
    """Read texts NAME=VALUE; values are numbers, true, false, none, or text."""
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise usage_error(f"{option} must be NAME=VALUE; got {text!r}.")
        values[name.replace("-", "_")] = _value(value)
    return values


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def network_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the settings, those that are objects by name and values."""
    shown = dict(parameters)
    if not isinstance(shown["solver"], str):
        solver = shown["solver"]
        shown["solver"] = {"name": type(solver).__name__, **solver.get_params()}
    if shown["faults"] is not None:
        shown["faults"] = asdict(shown["faults"])
    if not isinstance(shown["topology"], str | tuple):
        shown["topology"] = "graph"
    if shown["loss"] != "odm":
        del shown["upsilon"], shown["theta"]
    if shown["kernel"] == "linear":
        del shown["n_components"], shown["gamma"]
    if shown["kernel"] != "poly":
        del shown["degree"], shown["coef0"]
    if isinstance(shown["C"], int | float):
        del shown["holdout"]
    return shown


def describe_network(estimator: Any) -> dict[str, Any]:
    """Return the attributes that other models do not have."""
    if not hasattr(estimator, "topology"):
        return {}
    scores = getattr(estimator, "C_scores_", None)
    chosen = {} if scores is None else {"chosen_C": estimator.C_, "C_scores": scores.tolist()}
    return {
        **chosen,
        "sites": len(estimator.sites_),
        "links": estimator.topology_.n_links // 2,
        "mixing_time": estimator.mixing_time_,
        "label_skew": estimator.label_skew_,
        "estimated_gap": estimator.estimated_gap_,
        "messages": estimator.n_messages_,
        "message_bytes": estimator.n_bytes_,
    }


def network_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Lay the description of a network out for reading."""
    if "sites" not in summary:
        return []
    topology, mixing = summary["parameters"]["topology"], summary["mixing_time"]
    name = topology[0] if isinstance(topology, list) and topology else topology
    rounds = "endless" if mixing is None else f"{mixing:.3g} rounds"
    sent = summary["message_bytes"] / 1e6
    chosen = []
    if "chosen_C" in summary:
        best = max(summary["C_scores"])
        chosen = [("C chosen", f"{summary['chosen_C']:g}, {best:.4f} of rows held out right")]
    return [
        *chosen,
        ("sites", f"{summary['sites']:,}, label skew {summary['label_skew']:.2f}"),
        ("topology", f"{name}, {summary['links']:,} links, mixing time {rounds}"),
        ("messages", f"{summary['messages']:,}, {sent:,.3g} MB"),
    ]
