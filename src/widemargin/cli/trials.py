"""What a search tried, and what became of the columns of its table, described."""

from __future__ import annotations

from typing import Any

#: Candidates that a description for reading has.
SHOWN = 5


def preparation_notes(model: Any) -> list[str]:
    """Return the sentences of the preprocessor in a model, if it has one."""
    first = model.steps[0][1] if hasattr(model, "steps") else model
    first = getattr(first, "preprocessor_", first)
    return list(getattr(first, "notes_", []))


def describe_trials(model: Any) -> dict[str, Any]:
    """Return all that was tried, as lists of equal length; nothing if no search was made."""
    if not hasattr(model, "leaderboard_"):
        return {}
    board = {name: list(values) for name, values in model.leaderboard_.items()}
    return {"leaderboard": board, "best_score": model.best_score_}


def trial_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Lay the best trials out for reading."""
    if "leaderboard" not in summary:
        return []
    rows = trial_rows(summary["leaderboard"], SHOWN)
    texts = [f"{score}  {name}({settings}), {n:} rows" for name, settings, n, score, _ in rows]
    more = len(summary["leaderboard"]["rank"]) - len(rows)
    texts += [f"and {more:,} more"] if more > 0 else []
    return [("tried" if i == 0 else "", text) for i, text in enumerate(texts)]


def trial_rows(board: dict[str, Any], at_most: int) -> list[list[str]]:
    """Return classifier, settings, rows, score and seconds of the best trials, as text."""
    rows = []
    for i in range(min(len(board["rank"]), at_most)):
        params = board["params"][i]  # of a damaged file, anything
        given = params.items() if isinstance(params, dict) else ()
        settings = ", ".join(f"{k}={_short(value)}" for k, value in given)
        score = board["score"][i]
        known = score is not None and score == score
        rows.append(
            [
                str(board["name"][i]),
                settings,
                f"{board['rows'][i]:,}",
                f"{score:.4f}" if known else "-",
                f"{board['seconds'][i]:.2f}",
            ]
        )
    return rows


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
