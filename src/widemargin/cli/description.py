"""A fitted model as names and values, for summaries and ``widemargin info``."""

from __future__ import annotations

from typing import Any

from widemargin.cli.messages import plain

__all__ = ["describe", "described_lines"]


def describe(estimator: Any) -> dict[str, Any]:
    """Describe a fitted estimator.

    Parameters
    ----------
    estimator : ODMClassifier or SVMClassifier
        A fitted one.

    Returns
    -------
    dict
        Values that JSON can hold.
    """
    names = getattr(estimator, "feature_names_in_", None)
    described = {
        "estimator": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "features": estimator.n_features_in_,
        "feature_names": names,
        "classes": estimator.classes_,
        "gamma": estimator.gamma_,
        "support_vectors": len(estimator.support_),
        "support_vectors_per_class": estimator.n_support_,
        "converged": estimator.converged_,
        "relative_gap": estimator.relative_gap_,
        "dual_gap": estimator.dual_gap_,
        "iterations": estimator.n_iter_,
        "strategy": estimator.strategy_,
        "solver": estimator.solver_,
    }
    return {key: plain(value) for key, value in described.items()}


def described_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Lay a description out for reading; keys that a command lacks are left out."""
    lines = []
    if "model" in summary:
        lines.append(("model", f"{summary['model']} ({_size(summary['file_bytes'])})"))
    classes = summary["classes"]
    counts = summary["support_vectors_per_class"]
    gap = summary["relative_gap"]
    lines.append(("estimator", summary["estimator"]))
    lines.append(("settings", _settings(summary["parameters"], len(classes))))
    if summary["gamma"] is not None:
        lines.append(("gamma", f"{summary['gamma']:.6g}"))
    if "rows" in summary:
        lines.append(("rows", f"{summary['rows']:,}"))
    lines += [
        ("features", f"{summary['features']:,}"),
        ("classes", _listed(classes)),
        ("support vectors", f"{summary['support_vectors']:,} ({_per_class(classes, counts)})"),
        ("relative gap", "not certified" if gap is None else f"{gap:.2e}"),
        ("converged", "yes" if summary["converged"] else "no"),
        ("solver", f"{summary['solver']}, {summary['iterations']:,} iterations"),
    ]
    return lines


def _settings(parameters: dict[str, Any], n_classes: int) -> str:
    """List the settings that shape the model; the JSON form has all of them."""
    kernel = parameters["kernel"]
    shown = {"kernel": kernel}
    if kernel == "poly":
        shown["degree"] = parameters["degree"]
    if kernel in ("poly", "sigmoid"):
        shown["coef0"] = parameters["coef0"]
    shown["C"] = parameters["C"]
    if parameters.get("lam") is not None:
        del shown["C"]
    for name in ("lam", "upsilon", "theta", "loss", "class_weight"):
        if parameters.get(name) is not None:
            shown[name] = parameters[name]
    if parameters["fit_intercept"]:
        shown["fit_intercept"] = True
    if n_classes > 2:
        shown["multi_class"] = parameters["multi_class"]
    shown["tol"] = parameters["tol"]
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _listed(classes: list[Any], at_most: int = 10) -> str:
    shown = ", ".join(str(label) for label in classes[:at_most])
    return f"{len(classes)}: {shown}" + (", …" if len(classes) > at_most else "")


def _per_class(classes: list[Any], counts: list[int], at_most: int = 10) -> str:
    pairs = list(zip(classes, counts, strict=True))[:at_most]
    shown = ", ".join(f"{count:,} of {label}" for label, count in pairs)
    return shown + (", …" if len(classes) > at_most else "")


def _size(n_bytes: int) -> str:
    size = float(n_bytes)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
