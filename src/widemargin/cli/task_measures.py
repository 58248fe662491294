"""Measure regressors and novelty detectors, and lay the result out for reading."""

from __future__ import annotations

from typing import Any

from .messages import aligned
from .steps import model_of
from .tasks import Task, targets, usual_rows


def measure_task(task: Task, model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return how well a model predicts numbers, or tells rows apart, as values for JSON."""
    return (
        _of_numbers(model, X, y, _quantile_of(model))
        if task is Task.regression
        else _of_novelty(model, X, y)
    )


def _quantile_of(model: Any) -> float | None:
    """Return the share of targets that a model puts below its predictions, if it was told one."""
    last = model_of(model)
    return getattr(getattr(last, "best_estimator_", last), "quantile", None)


def _of_numbers(model: Any, X: Any, y: Any, quantile: float | None) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import mean_pinball_loss, r2_score

    actual = targets(y)
    predicted = model.predict(X)
    residual = predicted - actual
    of_quantile: dict[str, Any] = {}
    if quantile is not None:
        of_quantile = {
            "quantile": float(quantile),
            "pinball_loss": float(mean_pinball_loss(actual, predicted, alpha=quantile)),
            "share_at_or_below": float(np.mean(actual <= predicted)),
        }
    result: dict[str, Any] = {
        "rows": len(actual),
        **of_quantile,
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
    "quantile": "quantile",
    "pinball_loss": "pinball loss",
    "share_at_or_below": "share of targets at or below",
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
