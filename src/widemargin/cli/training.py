"""What commands that fit a model share."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from widemargin.cli.files import check_output, is_model
from widemargin.cli.messages import usage_error

__all__ = ["begun", "check_model_output", "option", "timed"]


def option(*names: str, help: str) -> Any:
    """Return an option that is left to the estimator's own default."""
    return typer.Option(*names, help=help, show_default=False)


def check_model_output(model: Path, data: Path, *, force: bool) -> None:
    """End with a usage error unless the model can be saved, over another model at the most."""
    check_output(model, "--model", (data,))
    if model.is_file() and not force and not is_model(model):
        raise usage_error(
            f"--model {model}: this file exists and is not a model. "
            "Name another one, or give --force to replace it."
        )


def timed(fit: Callable[[], Any]) -> tuple[float, bool]:
    """Fit; return the seconds it took, and whether the user interrupted it."""
    began = time.perf_counter()
    try:
        fit()
    except KeyboardInterrupt:
        return time.perf_counter() - began, True
    return time.perf_counter() - began, False


def begun(estimator: Any) -> list[bool]:
    """Tell which binary problems have a solution, if an unfinished one."""
    for name in ("coef_", "dual_coef_"):
        if hasattr(estimator, name):
            return [bool(abs(weights).sum() > 0) for weights in getattr(estimator, name)]
    return [False]
