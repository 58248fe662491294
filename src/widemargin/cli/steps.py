"""Pipelines, described: their steps, and the model at their end."""

from __future__ import annotations

import inspect
from typing import Any

Step = dict[str, Any]


def model_of(estimator: Any) -> Any | None:
    """Return the model of this library that decides in the end; None if there is none."""
    match type(estimator).__name__:
        case "Pipeline":
            return model_of(estimator.steps[-1][1])
        case "AutoClassifier":
            return model_of(estimator.model_)
    return estimator if hasattr(estimator, "relative_gap_") else None


def describe_steps(estimator: Any) -> dict[str, Any]:
    """Return the steps of a pipeline; nothing for a model alone."""
    if model_of(estimator) is estimator:
        return {}
    described = _step("", estimator)
    return {"steps": described.get("parts", [described])}


def _step(name: str, step: Any) -> Step:
    if step is None or isinstance(step, str):
        return {"name": name, "estimator": step or "passthrough"}
    described: Step = {
        "name": name,
        "estimator": type(step).__name__,
        "parameters": _changed_parameters(step),
    }
    parts = _parts_of(step)
    if parts:
        described["parts"] = [_step(part, inner) for part, inner in parts]
    if type(step).__name__ == "TablePreprocessor" and step.notes_:
        described["notes"] = step.notes_
    return described


def _parts_of(step: Any) -> list[tuple[str, Any]]:
    """Return the steps of a step that is made of others."""
    # By its class: a file may hold attributes of another one.
    match type(step).__name__:
        case "Pipeline":
            return list(step.steps)
        case "FeatureUnion":
            return list(step.transformer_list)
        case "ColumnTransformer":
            return [(name, inner) for name, inner, _ in step.transformers_]
        case "AutoClassifier":
            return [("preprocessor", step.preprocessor_), ("model", step.model_)]
    return []


def _changed_parameters(step: Any) -> dict[str, Any]:
    """Return the settings that are not the defaults and not steps themselves."""
    signature = inspect.signature(type(step).__init__).parameters
    changed = {}
    for name, value in step.get_params(deep=False).items():
        default = signature[name].default
        composed = name in ("steps", "transformers", "transformer_list", "remainder")
        if not composed and repr(value) != repr(default):
            plain = value is None or isinstance(value, bool | int | float | str | list | tuple)
            changed[name] = value if plain else str(getattr(value, "__name__", value))
    return changed


def step_lines(summary: dict[str, Any], *, notes: bool = True) -> list[tuple[str, str]]:
    """Lay steps out for reading, one a line, those within another below it.

    `notes` of the preparation of a table are lines of their own.
    """
    lines = [line for step in summary.get("steps", []) for line in _lines(step, "", notes)]
    return [("steps" if i == 0 else "", line) for i, line in enumerate(lines)]


def _lines(step: Step, indent: str, notes: bool) -> list[str]:
    settings = ", ".join(f"{key}={value!r}" for key, value in step.get("parameters", {}).items())
    name = f"{step['name']}: " if step["name"] else ""
    lines = [f"{indent}{name}{step['estimator']}" + (f"({settings})" if settings else "")]
    lines += [f"{indent}  {note}" for note in step.get("notes", []) if notes]
    parts = step.get("parts", [])
    return lines + [line for part in parts for line in _lines(part, indent + "  ", notes)]
