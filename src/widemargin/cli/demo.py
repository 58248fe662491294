"""A demonstration: ``python -m widemargin.cli.demo`` trains, prints a table and draws a picture.

Two data sets: handwritten digits, which come with scikit-learn, and a generated checkerboard whose
squares differ in size and whose colours overlap at the edges, so that no classifier can be perfect.
scikit-learn's SVC, with the same ``C`` and ``gamma``, is trained for comparison.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from ..core.resources import usable_cores
from ..estimators import ODMClassifier, SVMClassifier
from ..inspection import MarginDistributionDisplay, require_matplotlib
from .status_table import plain_table

# LIBSVM's time grows faster than the number of rows; a demonstration should not wait for it.
SVC_ROWS = 10_000
TEST_ROWS = 10_000
PICTURE = "svm_and_odm.png"
DESCRIPTION = "Train ODM, SVM and scikit-learn's SVC on two data sets, compare them and draw them."


@dataclass(frozen=True)
class Split:
    """A data set, split for training and testing, with its name and parameters."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]
    C: float
    gamma: float


@dataclass(frozen=True)
class Measurement:
    """One line of the table, and the model behind it."""

    data: Split
    model: Any
    fit_seconds: float
    predict_seconds: float
    accuracy: float
    relative_gap: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; return the exit code."""
    options = _parse(arguments)
    console = Console()
    try:
        require_matplotlib("The demonstration")
    except ImportError as error:
        console.print(str(error), markup=False, soft_wrap=True)
        return 1
    small = train_all(console, digits())
    hard = train_all(console, checkerboard(options.rows))
    console.print("", table([*small, *hard]))
    console.print(
        f"Seconds are of this machine, now: SVC on one core, the others on {usable_cores()}. Same "
        f"C and gamma for all. {formulations([*small, *hard])} ODM and SVM stop at a relative gap "
        "of 1e-3; SVC (scikit-learn's) stops by a rule of its own, and its gap was measured "
        "afterwards (two classes only).",
        style="dim",
    )
    path: Path = options.output / PICTURE
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(svm=hard[1], odm=hard[0], path=path)
    console.print(f"\nPicture: {path}", soft_wrap=True)
    return 0


def train_all(console: Console, data: Split) -> list[Measurement]:
    """Train ODM, SVM and SVC on a data set, SVC on its first rows only if there are many."""
    console.print(
        f"\n[bold]{data.name}[/bold]: {len(data.y):,} training rows, {len(data.y_test):,} test "
        f"rows, {data.X.shape[1]} features, {len(np.unique(data.y))} classes"
    )
    constants: dict[str, Any] = {"C": data.C, "gamma": data.gamma, "random_state": 0}
    few = replace(data, X=data.X[:SVC_ROWS], y=data.y[:SVC_ROWS])
    measured = [
        measure(console, ODMClassifier(**constants), data),
        measure(console, SVMClassifier(**constants), data),
    ]
    if len(few.y) < len(data.y):  # a like-for-like neighbour of SVC's line
        measured.append(measure(console, SVMClassifier(**constants), few))
    measured.append(measure(console, SVC(cache_size=1000, **constants), few))
    return measured


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m widemargin.cli.demo", description=DESCRIPTION)
    parser.add_argument(
        "--rows", type=int, default=20_000, help="training rows of the checkerboard (%(default)s)"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("demo"), help="folder of the picture (%(default)s)"
    )
    options = parser.parse_args(arguments)
    if options.rows < 100:
        parser.error(f"--rows must be at least 100; got {options.rows}.")
    return options


def digits() -> Split:
    """Handwritten digits, 8 × 8 pixels, a quarter of them for testing."""
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(X / 16.0, y, test_size=0.25, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    gamma = 1.0 / (X.shape[1] * float(X_train.var()))  # what gamma="scale" means
    return Split("digits", X_train, y_train, X_test, y_test, C=10.0, gamma=gamma)


def checkerboard(rows: int) -> Split:
    """6 × 6 squares that grow away from one corner, blurred and turned by 30 degrees."""
    random = np.random.default_rng(0)
    position = random.uniform(0.0, 6.0, (rows + TEST_ROWS, 2))
    y = np.floor(position).sum(axis=1).astype(np.int64) % 2
    blurred = position + random.normal(scale=0.1, size=position.shape)
    angle = np.deg2rad(30.0)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    X = 1.3**blurred @ turn
    X = (X - X[:rows].mean(axis=0)) / X[:rows].std(axis=0)
    return Split("checkerboard", X[:rows], y[:rows], X[rows:], y[rows:], C=1.0, gamma=30.0)


def measure(console: Console, model: Any, data: Split) -> Measurement:
    """Train and test one model, and print its progress."""
    console.print(f"  {short_name(model)} on {len(data.y):,} rows … ", end="")
    start = time.perf_counter()
    model.fit(data.X, data.y)
    fitted = time.perf_counter()
    accuracy = float(np.mean(model.predict(data.X_test) == data.y_test))
    predicted = time.perf_counter()
    console.print(f"{fitted - start:.2f} s")
    gap = svc_relative_gap(model, data) if isinstance(model, SVC) else model.relative_gap_
    return Measurement(data, model, fitted - start, predicted - fitted, accuracy, gap)


def short_name(model: Any) -> str:
    """Name a model as the table does."""
    return type(model).__name__.removesuffix("Classifier")


def svc_relative_gap(model: SVC, data: Split) -> float:
    """Measure the relative duality gap that scikit-learn's SVC reached; NaN for several classes."""
    if len(model.classes_) > 2:
        return np.nan
    decision = model.decision_function(data.X)
    label = np.where(data.y == model.classes_[1], 1.0, -1.0)
    coef = model.dual_coef_[0]
    half_norm = 0.5 * float(coef @ (decision[model.support_] - model.intercept_[0]))
    primal = half_norm + model.C * float(np.maximum(0.0, 1.0 - label * decision).sum())
    dual = float(np.abs(coef).sum()) - half_norm
    return float((primal - dual) / primal)


def table(measured: list[Measurement]) -> Table:
    """Return the measurements as a table."""
    figures = ("rows", "accuracy", "fit s", "test s", "gap", "support")
    result = plain_table("data", "model", right=figures)
    for before, m in zip([None, *measured], measured, strict=False):
        new = before is None or before.data.name != m.data.name
        if new and before is not None:
            result.add_section()
        result.add_row(
            m.data.name if new else "",
            short_name(m.model),
            f"{len(m.data.y):,}",
            f"{m.accuracy:.4f}",
            f"{m.fit_seconds:.2f}",
            f"{m.predict_seconds:.2f}",
            "–" if np.isnan(m.relative_gap) else f"{m.relative_gap:.1e}",
            f"{len(m.model.support_):,}",
        )
    return result


def formulations(measured: list[Measurement]) -> str:
    """Say where the models have an intercept, and how they solve several classes."""
    ours = [m for m in measured if not isinstance(m.model, SVC)]
    described = [f"{short_name(m.model)} on {len(m.data.y):,} rows of {m.data.name}" for m in ours]
    without = [d for d, m in zip(described, ours, strict=True) if not m.model.fit_intercept_]
    several = {m.model.multi_class_ for m in ours if len(m.model.classes_) > 2}
    intercept = "All have an intercept (that of SVC is not penalised)"
    if without:
        intercept += f", except {', '.join(without)}"
    if several <= {"ovo"}:
        return f"{intercept}. All solve one problem per pair of classes."
    return f"{intercept}. SVC solves one problem per pair of classes, some others one per class."


def draw(svm: Measurement, odm: Measurement, path: Path) -> None:
    """Draw both decision functions and the distributions of their margins on the test rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.4), layout="constrained")
    regions = [figure.add_subplot(1, 3, k) for k in (1, 2)]
    distributions = figure.add_subplot(1, 3, 3)
    data = svm.data
    low, high = data.X_test.min(axis=0), data.X_test.max(axis=0)
    x, y = (np.linspace(a, b, 400) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    for axes, measured in zip(regions, (svm, odm), strict=True):
        name = short_name(measured.model)
        value = measured.model.decision_function(grid).reshape(len(y), len(x))
        levels = np.linspace(-2.0, 2.0, 17)
        filled = axes.contourf(x, y, value, levels=levels, cmap="RdBu_r", extend="both")
        axes.contour(x, y, value, levels=[0.0], colors="black", linewidths=0.8)
        axes.set(aspect="equal", xlabel="feature 0", ylabel="feature 1")
        axes.set_title(f"{name}: accuracy {measured.accuracy:.3f}")
        MarginDistributionDisplay.from_estimator(
            measured.model, data.X_test, data.y_test, name=name, ax=distributions
        )
    figure.colorbar(filled, ax=regions, label="decision function", ticks=[-2, -1, 0, 1, 2])
    distributions.set_title(f"margins of {len(data.y_test):,} test rows")
    distributions.set_xlim(-2.5, 3.5)
    distributions.legend(loc="upper left", fontsize="small")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    raise SystemExit(main())
