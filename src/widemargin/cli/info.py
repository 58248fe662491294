"""``widemargin info``: describe a model, as names and values for JSON or for reading."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from . import options
from .messages import faults_reported, plain, print_summary, warnings_shown
from .network import describe_network, network_lines, network_parameters
from .privacy_text import account_of, budget_text
from .steps import describe_steps, model_of, step_lines
from .trials import describe_trials, trial_lines


def info(
    model: options.ModelPath,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Describe a model.

    Prints its settings, classes, support vectors and certified gap; of a model that prepares a
    table, also its steps, what became of the columns, and what was tried.
    """
    with faults_reported(), warnings_shown():
        from ..persistence import load_model

        estimator = load_model(model)
        summary = {
            "command": "info",
            "model": str(model),
            "file_bytes": model.stat().st_size,
            **describe(estimator),
        }
    print_summary(summary, described_lines(summary), as_json)


def describe(estimator: Any) -> dict[str, Any]:
    """Describe a fitted estimator or pipeline by values that JSON can hold."""
    model = model_of(estimator)
    described = {"estimator": type(estimator).__name__, **describe_steps(estimator)}
    if model is not None:
        described = {**_of_model(model), **described}
    described.update(describe_trials(estimator))
    described["features"] = getattr(estimator, "n_features_in_", None)
    described["feature_names"] = getattr(estimator, "feature_names_in_", None)
    return {key: plain(value) for key, value in described.items()}


def _of_model(estimator: Any) -> dict[str, Any]:
    return {
        "estimator": type(estimator).__name__,
        "parameters": _parameters(getattr(estimator, "best_estimator_", estimator)),
        "features": None,  # of the whole, not of the model at its end
        "feature_names": None,
        "classes": getattr(estimator, "classes_", None),
        **_of_kernel_machines(estimator),
        # Decided by a parameter of the class: a file may hold attributes of another class.
        **({"density": estimator.density_} if hasattr(estimator, "formulation") else {}),
        **describe_network(estimator),
        "converged": estimator.converged_,
        "relative_gap": estimator.relative_gap_,
        "dual_gap": estimator.dual_gap_,
        "iterations": estimator.n_iter_,
        "solver": estimator.solver_,
        "privacy": account_of(estimator),
        "compression": getattr(estimator, "compression_", None),
        "search": _search(estimator),
    }


def _of_kernel_machines(estimator: Any) -> dict[str, Any]:
    """Return the attributes that linear models do not have."""
    from sklearn.base import is_classifier

    from ..estimators.kernel_expansion import KernelExpansion

    # By its class: a file may hold attributes of another one.
    if not isinstance(estimator, KernelExpansion):
        return {}
    return {
        "gamma": estimator.gamma_,
        "support_vectors": len(estimator.support_),
        "multi_class": getattr(estimator, "multi_class_", None),
        "fit_intercept": getattr(estimator, "fit_intercept_", None),
        "support_vectors_per_class": estimator.n_support_ if is_classifier(estimator) else None,
        "strategy": estimator.strategy_,
        **_level(estimator),
    }


def _search(estimator: Any) -> dict[str, Any] | None:
    """Return the size and the best score of a search; None for other models."""
    if not hasattr(estimator, "scores_"):
        return None
    n_settings, n_Cs, n_folds = estimator.scores_.shape
    return {"pairs": n_settings * n_Cs, "folds": n_folds, "best_score": estimator.best_score_}


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the settings; those of a strategy object as values, with its name."""
    parameters = estimator.get_params(deep=False)
    strategy = parameters.get("strategy", "")
    if not isinstance(strategy, str):
        parameters["strategy"] = {"name": type(strategy).__name__, **strategy.get_params()}
    return network_parameters(parameters) if "topology" in parameters else dict(parameters)


def _level(estimator: Any) -> dict[str, Any]:
    """Return the model's level, that of the leaves, and its parts in every binary problem."""
    history = estimator.history_
    if not {"level", "parts"} <= set(history):  # of an exact fit: one row per iteration
        return {"level": 0, "levels": 0, "parts": [1] * len(estimator.dual_coef_)}
    parts = history["parts"][history["level"] == estimator.level_]
    levels = history["level"].max(initial=0)
    return {"level": estimator.level_, "levels": levels, "parts": parts}


def described_lines(summary: dict[str, Any], *, history: bool = True) -> list[tuple[str, str]]:
    """Lay a description out for reading; keys that it lacks are left out.

    `history` is what became of the columns of a table, and what was tried.
    """
    lines = []
    if "model" in summary:
        lines.append(("model", f"{summary['model']} ({size(summary['file_bytes'])})"))
    lines.append(("estimator", summary["estimator"]))
    lines += step_lines(summary, notes=history)
    lines += trial_lines(summary) if history else []
    if "classes" not in summary:  # steps without a model
        return lines
    classes = summary["classes"]
    gap = summary["relative_gap"]
    lines.append(("settings", _settings(summary)))
    if summary.get("gamma") is not None:
        lines.append(("gamma", f"{summary['gamma']:.6g}"))
    if "rows" in summary:
        lines.append(("rows", f"{summary['rows']:,}"))
    if summary["features"] is not None:  # unknown to a pipeline that begins with "passthrough"
        lines.append(("features", f"{summary['features']:,}"))
    if classes is not None:
        lines.append(("classes", _listed(classes)))
    if "support_vectors" in summary:
        counts = summary["support_vectors_per_class"]
        of_each = "" if counts is None else f" ({_per_class(classes, counts)})"
        lines.append(("support vectors", f"{summary['support_vectors']:,}{of_each}"))
    if "density" in summary:
        lines.append(("density", f"{100 * summary['density']:.3g} % of the weights are not zero"))
    lines += network_lines(summary)
    lines += [
        ("relative gap", "not certified" if gap is None else f"{gap:.2e}"),
        ("converged", "yes" if summary["converged"] else "no"),
    ]
    if "strategy" in summary:
        lines.append(("strategy", _progress_of_levels(summary)))
    unit = "round" if "sites" in summary else "iteration"
    steps = f"{summary['iterations']:,} {unit}{'' if summary['iterations'] == 1 else 's'}"
    lines.append(("solver", f"{summary['solver']}, {steps}"))
    if summary.get("privacy") is not None:
        lines.append(("privacy", budget_text(summary["privacy"])))
    for key in ("compression", "search"):
        if summary[key] is not None:
            lines.append((key, _numbers(summary[key])))
    return lines


def _progress_of_levels(summary: dict[str, Any]) -> str:
    if summary["levels"] == 0:
        return str(summary["strategy"])
    fewest, most = min(summary["parts"], default=0), max(summary["parts"], default=0)
    parts = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    noun = "part" if most == 1 else "parts"
    level = f"level {summary['level']} of {summary['levels']}"
    return f"{summary['strategy']}, {level}, {parts} {noun}"


def _settings(summary: dict[str, Any]) -> str:
    """List the settings that shape the model; the JSON form has all of them."""
    parameters = summary["parameters"]
    kernel = parameters.get("kernel", "linear")
    shown = {"kernel": kernel} if "kernel" in parameters else {}
    if kernel == "poly":
        shown["degree"] = parameters["degree"]
    if kernel in ("poly", "sigmoid"):
        shown["coef0"] = parameters["coef0"]
    if parameters.get("lam") is None and "C" in parameters:
        shown["C"] = parameters["C"]
    of_loss = ("formulation", "lam", "nu", "quantile", "epsilon", "upsilon", "theta", "loss")
    for name in (*of_loss, "class_weight"):
        if parameters.get(name) is not None:
            shown[name] = parameters[name]
    # What a kernel machine chose, where that was left to it.
    if summary.get("fit_intercept", parameters.get("fit_intercept")):
        shown["fit_intercept"] = True
    if len(summary["classes"] or ()) > 2 and "multi_class" in summary:
        shown["multi_class"] = summary["multi_class"]
    shown["tol"] = parameters["tol"]
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _numbers(named: dict[str, Any]) -> str:
    shown = {k: f"{v:.3g}" if isinstance(v, float) else v for k, v in named.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _listed(classes: list[Any], at_most: int = 10) -> str:
    shown = ", ".join(str(label) for label in classes[:at_most])
    return f"{len(classes)}: {shown}" + (", …" if len(classes) > at_most else "")


def _per_class(classes: list[Any], counts: list[int], at_most: int = 10) -> str:
    pairs = list(zip(classes, counts, strict=True))[:at_most]
    shown = ", ".join(f"{count:,} of {label}" for label, count in pairs)
    return shown + (", …" if len(classes) > at_most else "")


def size(n_bytes: float) -> str:
    """Write a number of bytes in the unit that suits it."""
    value = float(n_bytes)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
