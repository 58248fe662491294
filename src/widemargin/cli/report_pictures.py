"""The pictures of a report."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..inspection.display import COLOURS, final_estimator
from .measures import Verdict, positions, scores_by_class

#: Classes beyond which a picture by class would be a tangle.
FEW_CLASSES = 10
#: Rows, repetitions and seconds that the importance of columns may take.
IMPORTANCE_ROWS, REPEATS, IMPORTANCE_SECONDS = 1000, 3, 10.0
#: Columns that the picture of importance has.
BARS = 20
#: Share of the probabilities in each point of a calibration curve.
BINS = 10


@dataclass(frozen=True)
class Picture:
    """A picture with its words; the image is PNG in base 64."""

    title: str
    caption: str
    png: str


def pictures(model: Any, verdict: Verdict, X: Any, measured: dict[str, Any]) -> Iterator[Picture]:
    """Draw what suits the model and the number of classes."""
    few = len(measured["classes"]) <= FEW_CLASSES
    codes = positions(verdict)
    if few:
        yield _drawn(
            "Confusion matrix",
            "Rows are actual classes, columns predicted ones.",
            lambda axes: _confusion(axes, measured),
        )
    if few and codes is not None and scores_by_class(verdict) is not None:
        yield _drawn(
            "ROC curve",
            "Share of a class that is recognised (true positives), against the share of the others "
            "that is taken for it (false positives).",
            lambda axes: _roc(axes, verdict, codes),
        )
    if few and codes is not None and verdict.probabilities is not None:
        yield _drawn(
            "Calibration",
            "How often rows are of a class, against the probability predicted; on the diagonal, "
            "probabilities are true.",
            lambda axes: _calibration(axes, verdict, codes),
        )
    if codes is not None:
        yield _drawn(
            "Margins",
            "Decision for the own class against the best other one; below 0 are errors.",
            lambda axes: _margins(axes, model, verdict),
        )
    if hasattr(model, "leaderboard_"):
        yield _drawn(
            "What was tried",
            "Scores on rows not trained on, as the search went on to more rows.",
            lambda axes: _trials(axes, model),
        )
    yield from _importance(model, verdict, X)


def _drawn(title: str, caption: str, draw: Callable[[Any], None]) -> Picture:
    figure = Figure(figsize=(4.6, 3.6), layout="constrained")
    axes = figure.subplots()
    draw(axes)
    axes.set_title(title)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=120)
    return Picture(title, caption, base64.b64encode(file.getvalue()).decode())


def _confusion(axes: Any, measured: dict[str, Any]) -> None:
    from sklearn.metrics import ConfusionMatrixDisplay

    names = [str(entry["label"])[:20] for entry in measured["classes"]]
    display = ConfusionMatrixDisplay(np.array(measured["confusion"]), display_labels=names)
    display.plot(ax=axes, cmap="Blues", colorbar=False, xticks_rotation=45 if len(names) > 3 else 0)


def _roc(axes: Any, verdict: Verdict, codes: Any) -> None:
    from sklearn.metrics import roc_curve

    scores = scores_by_class(verdict)
    for k in _drawn_classes(verdict):
        if 0 < np.count_nonzero(codes == k) < len(codes):
            wrong, right, _ = roc_curve(codes == k, scores[:, k])
            axes.plot(wrong, right, color=COLOURS[k % len(COLOURS)], label=_name(verdict, k))
    axes.plot([0, 1], [0, 1], ":", color="#888888")
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.legend(fontsize="small")


def _calibration(axes: Any, verdict: Verdict, codes: Any) -> None:
    from sklearn.calibration import calibration_curve

    for k in _drawn_classes(verdict):
        found, predicted = calibration_curve(
            codes == k, verdict.probabilities[:, k], n_bins=BINS, strategy="quantile"
        )
        style = {"color": COLOURS[k % len(COLOURS)], "label": _name(verdict, k)}
        axes.plot(predicted, found, marker="o", markersize=3, **style)
    axes.plot([0, 1], [0, 1], ":", color="#888888")
    axes.set(xlabel="probability predicted", ylabel="share of rows")
    axes.legend(fontsize="small")


def _drawn_classes(verdict: Verdict) -> list[int]:
    return [1] if len(verdict.classes) == 2 else list(range(len(verdict.classes)))


def _name(verdict: Verdict, k: int) -> str:
    return str(verdict.classes[k])[:20]


def _margins(axes: Any, model: Any, verdict: Verdict) -> None:
    from ..inspection import MarginDistributionDisplay
    from ..inspection.margin_distribution import wanted_margins

    last = final_estimator(model)
    MarginDistributionDisplay.from_predictions(
        verdict.actual,
        verdict.decisions,
        wanted=wanted_margins(getattr(last, "model_", last)),
        ax=axes,
    )


def _trials(axes: Any, model: Any) -> None:
    from ..inspection.leaderboard_display import LeaderboardDisplay

    LeaderboardDisplay.from_estimator(model, ax=axes)


def _importance(model: Any, verdict: Verdict, X: Any) -> Iterator[Picture]:
    """Draw the loss of accuracy when a column is shuffled, unless that would take long."""
    if not (hasattr(X, "columns") or isinstance(X, np.ndarray)):
        return
    rows = np.linspace(0, len(verdict.actual) - 1, IMPORTANCE_ROWS).astype(int)
    rows = np.unique(rows)
    X = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    actual = verdict.actual[rows]
    began = time.perf_counter()
    model.predict(X)
    if (time.perf_counter() - began) * X.shape[1] * REPEATS > IMPORTANCE_SECONDS:
        return
    names = [str(n) for n in X.columns] if hasattr(X, "columns") else _names(model, X.shape[1])
    mean, spread = _shuffled_losses(model, X, actual)
    order = np.argsort(-mean, kind="stable")[:BARS][::-1]

    def draw(axes: Any) -> None:
        axes.barh([names[i][:24] for i in order], mean[order], xerr=spread[order], color=COLOURS[0])
        axes.set(xlabel="accuracy lost")
        axes.tick_params(axis="y", labelsize="x-small" if len(order) > 8 else "small")

    yield _drawn(
        "Importance of columns",
        f"Accuracy lost when the values of a column are shuffled ({len(rows):,} rows, "
        f"{REPEATS} times). Columns that say the same hide each other.",
        draw,
    )


def _shuffled_losses(model: Any, X: Any, actual: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    right = np.mean(model.predict(X) == actual)
    losses = np.zeros((X.shape[1], REPEATS))
    for j in range(X.shape[1]):
        for k in range(REPEATS):
            order = rng.permutation(len(actual))
            shuffled = X.copy()
            if hasattr(X, "iloc"):
                shuffled[X.columns[j]] = X.iloc[order, j].to_numpy()
            else:
                shuffled[:, j] = X[order, j]
            losses[j, k] = right - np.mean(model.predict(shuffled) == actual)
    return losses.mean(axis=1), losses.std(axis=1)


def _names(model: Any, n: int) -> list[str]:
    return [str(name) for name in getattr(model, "feature_names_in_", [f"x{i}" for i in range(n)])]
