"""The parts of a model that is more than one estimator: preparation, classifier, search."""

from __future__ import annotations

from typing import Any

#: Candidates and notes that a description for reading has.
SHOWN_TRIALS, SHOWN_NOTES = 5, 12


def classifier_of(model: Any) -> Any:
    """Return the classifier itself: the last step of a pipeline, or the one that was chosen."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return getattr(last, "model_", last)


def preparation_notes(model: Any) -> list[str]:
    """Return the sentences of the preprocessor in a model, if it has one."""
    first = model.steps[0][1] if hasattr(model, "steps") else model
    first = getattr(first, "preprocessor_", first)
    return list(getattr(first, "notes_", []))


def describe_parts(model: Any) -> dict[str, Any]:
    """Return the steps of a model, the notes of its preparation and what was tried."""
    steps = _steps(model)
    if len(steps) < 2:
        return {}
    described: dict[str, Any] = {"steps": steps, "preparation": preparation_notes(model)}
    if hasattr(model, "leaderboard_"):
        board = model.leaderboard_
        described["leaderboard"] = {name: list(values) for name, values in board.items()}
        described["best_score"] = model.best_score_
    return described


def part_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Lay the parts of a description out for reading."""
    if "steps" not in summary:
        return []
    lines = [("steps", " → ".join(summary["steps"]))]
    notes = summary["preparation"]
    lines += [("preparation" if i == 0 else "", n) for i, n in enumerate(notes[:SHOWN_NOTES])]
    if len(notes) > SHOWN_NOTES:
        lines.append(("", f"and {len(notes) - SHOWN_NOTES} more (--json shows them)"))
    if "leaderboard" in summary:
        lines += _trial_lines(summary["leaderboard"])
    return lines


def _steps(model: Any) -> list[str]:
    """Return the steps of a model, each with what goes in and what comes out."""
    if hasattr(model, "preprocessor_"):
        return [*_described(model.preprocessor_), type(model.model_).__name__]
    if hasattr(model, "steps"):
        return [text for _, step in model.steps for text in _described(step)]
    return [type(model).__name__]


def _described(step: Any) -> list[str]:
    if not hasattr(step, "get_feature_names_out"):
        return [type(step).__name__]
    columns, features = step.n_features_in_, len(step.get_feature_names_out())
    return [f"{type(step).__name__} ({columns:,} columns, {features:,} features)"]


def _trial_lines(board: dict[str, Any]) -> list[tuple[str, str]]:
    n_trials = len(board["rank"])
    shown = []
    for i in range(min(n_trials, SHOWN_TRIALS)):
        params = ", ".join(f"{k}={_short(v)}" for k, v in board["params"][i].items())
        score = board["score"][i]
        score = "-" if score is None else f"{score:.4f}"
        shown.append(f"{score}  {board['name'][i]}({params}), {board['rows'][i]:,} rows")
    lines = [("tried" if i == 0 else "", text) for i, text in enumerate(shown)]
    if n_trials > SHOWN_TRIALS:
        lines.append(("", f"and {n_trials - SHOWN_TRIALS:,} more"))
    return lines


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
