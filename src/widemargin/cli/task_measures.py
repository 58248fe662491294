"""Measure regressors and novelty detectors, and lay the result out for reading."""

from __future__ import annotations

from typing import Any

from .messages import aligned
from .tasks import Task, targets, usual_rows


def measure_task(task: Task, model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return how well a model predicts numbers, or tells rows apart, as values for JSON."""
    return _of_numbers(model, X, y) if task is Task.regression else _of_novelty(model, X, y)


def _of_numbers(model: Any, X: Any, y: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import r2_score

    actual = targets(y)
    residual = model.predict(X) - actual
    result: dict[str, Any] = {
        "rows": len(actual),
        "r2": float(r2_score(actual, actual + residual)) if len(actual) > 1 else None,
        "mean_absolute_error": float(np.abs(residual).mean()),
        "median_absolute_error": float(np.median(np.abs(residual))),
        "root_mean_squared_error": float(np.sqrt(np.mean(residual**2))),
        "share_below": float(np.mean(residual > 0)),
    }
    return result


def _of_novelty(model: Any, X: Any, y: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import roc_auc_score

    usual = usual_rows(y)
    found = model.predict(X) > 0
    both = 0 < np.count_nonzero(usual) < len(usual)
    return {
        "rows": len(usual),
        "novel": int(np.count_nonzero(~usual)),
        "found_novel": int(np.count_nonzero(~found)),
        "accuracy": float(np.mean(usual == found)),
        "roc_auc": float(roc_auc_score(usual, model.decision_function(X))) if both else None,
    }


_TITLES = {
    "rows": "rows",
    "r2": "R²",
    "mean_absolute_error": "mean absolute error",
    "median_absolute_error": "median absolute error",
    "root_mean_squared_error": "root mean squared error",
    "share_below": "share of targets below",
    "novel": "novel rows",
    "found_novel": "found novel",
    "accuracy": "accuracy",
    "roc_auc": "ROC AUC",
}


def task_text(result: dict[str, Any]) -> str:
    """Lay a measurement out for reading."""
    lines = []
    for key, title in _TITLES.items():
        value = result.get(key)
        if value is not None:
            lines.append((title, f"{value:,}" if isinstance(value, int) else f"{value:.4g}"))
    return aligned(lines)
