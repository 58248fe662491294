"""Pipelines, described: their steps, and the model at their end."""

from __future__ import annotations

import inspect
from typing import Any

Step = dict[str, Any]

# Parameters that are steps themselves.
_COMPOSED = (
    *("steps", "transformers", "transformer_list", "remainder"),
    *("regressor", "transformer", "estimator"),
)


def model_of(estimator: Any) -> Any | None:
    """Return the model of this library that decides in the end; None if there is none."""
    match type(estimator).__name__:
        case "Pipeline":
            return model_of(estimator.steps[-1][1])
        case "AutoClassifier":
            return model_of(estimator.model_)
        case "TransformedTargetRegressor":
            return model_of(estimator.regressor_)
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
    notes = _notes_on(step)
    if notes:
        described["notes"] = notes
    return described


def _notes_on(step: Any) -> list[str]:
    """Return what became of the columns of a table, or of the targets of a regression."""
    match type(step).__name__:
        case "TablePreprocessor":
            return list(step.notes_)
        case "TransformedTargetRegressor" if type(step.transformer_).__name__ == "StandardScaler":
            mean, scale = step.transformer_.mean_, step.transformer_.scale_
            if mean is not None and scale is not None and len(mean) == 1:
                return [f"targets: mean {mean[0]:.6g}, standard deviation {scale[0]:.6g}"]
    return []


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
        case "TransformedTargetRegressor":
            return [("transformer", step.transformer_), ("regressor", step.regressor_)]
        case "MultiOutputRegressor":
            return [(f"target {k}", each) for k, each in enumerate(step.estimators_, start=1)]
    return []


def _changed_parameters(step: Any) -> dict[str, Any]:
    """Return the settings that are not the defaults and not steps themselves."""
    signature = inspect.signature(type(step).__init__).parameters
    changed = {}
    for name, value in step.get_params(deep=False).items():
        default = signature[name].default
        if name not in _COMPOSED and repr(value) != repr(default):
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
