"""Measure a model on labelled rows, and lay the result out for reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .messages import aligned, plain

#: Beyond this many classes the confusion matrix is left to --json.
CONFUSION_SHOWN = 12
#: Of a class with at least so many rows, a smaller recall than this deserves a note.
TELLING_ROWS, LOW_RECALL = 10, 0.5


@dataclass(frozen=True)
class Verdict:
    """What a model says about labelled rows."""

    classes: Any
    actual: Any
    predicted: Any
    #: Probability of each class, of models that are calibrated.
    probabilities: Any = None
    #: Decision values, one column per class or one for the second of two.
    decisions: Any = None


def judge(model: Any, X: Any, y: Any) -> Verdict:
    """Predict labelled rows."""
    actual = as_classes(y, model.classes_)
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    return Verdict(
        model.classes_, actual, model.predict(X), probabilities, model.decision_function(X)
    )


def as_classes(y: Any, classes: Any) -> Any:
    """Return the labels of a file in the type of the model's classes."""
    import numpy as np

    from ..core.fit import warn

    if (y.dtype.kind in "UO") != (classes.dtype.kind in "UO"):
        # One side is text: compare as it would be written.
        known = {str(label): position for position, label in enumerate(classes.tolist())}
        y = y.astype(str)
        if set(np.unique(y).tolist()) <= set(known):
            return classes[[known[text] for text in y.tolist()]]
        classes = classes.astype(str)
    unknown = ~np.isin(y, classes)
    if unknown.all():
        raise ValueError(
            f"no label is a class of the model. Expected {_some(classes)}; found "
            f"{_some(np.unique(y))}. Check the label column."
        )
    if unknown.any():
        warn(
            f"rows with labels that the model does not know: {unknown.sum():,} "
            f"({_some(np.unique(y[unknown]))}). They count as errors."
        )
    return y


def measure(verdict: Verdict) -> dict[str, Any]:
    """Return accuracy and the like as values that JSON can hold."""
    import numpy as np
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    actual, predicted = verdict.actual, verdict.predicted
    kinds = {actual.dtype.kind, predicted.dtype.kind}
    if len(kinds) > 1 and kinds & set("UO"):
        actual, predicted = actual.astype(str), predicted.astype(str)
    labels = np.union1d(verdict.classes.astype(actual.dtype), actual)
    precision, recall, f1, support = precision_recall_fscore_support(
        actual, predicted, labels=labels, zero_division=np.nan
    )
    return {
        "rows": len(actual),
        "accuracy": float(np.mean(actual == predicted)),
        "balanced_accuracy": float(np.mean(recall[support > 0])),
        "log_loss": _log_loss(verdict),
        "roc_auc": _roc_auc(verdict),
        "classes": [
            {"label": plain(label), "precision": p, "recall": r, "f1": f, "rows": n}
            for label, p, r, f, n in zip(labels, precision, recall, f1, support, strict=True)
        ],
        "confusion": plain(confusion_matrix(actual, predicted, labels=labels)),
    }


def neglected(model: Any, measured: dict[str, Any]) -> str | None:
    """Return advice if a class that is rarer than others is seldom recognised, else None."""
    from .steps import model_of

    weighed = (getattr(each, "class_weight", None) for each in (model, model_of(model)))
    if any(weights is not None for weights in weighed):  # the user has chosen weights already
        return None
    known = {str(label) for label in plain(model.classes_)}
    evenly = measured["rows"] / len(measured["classes"])
    low = [
        entry
        for entry in measured["classes"]
        if TELLING_ROWS <= entry["rows"] < evenly
        and entry["recall"] < LOW_RECALL
        and str(entry["label"]) in known
    ]
    if not low:
        return None
    worst = min(low, key=lambda entry: entry["recall"])
    others = f" and {len(low) - 1} more" if len(low) > 1 else ""
    return (
        f"of class {worst['label']}{others}, less than half of the rows are recognised (recall "
        f"{worst['recall']:.2f}); train with --class-weight balanced to weigh classes evenly"
    )


def positions(verdict: Verdict) -> Any:
    """Return the number of each row's class; None if some label is no class of the model."""
    import numpy as np

    number = {label: i for i, label in enumerate(verdict.classes.tolist())}
    found = [number.get(label) for label in verdict.actual.tolist()]
    return None if None in found else np.array(found)


def scores_by_class(verdict: Verdict) -> Any:
    """Return a column of scores per class, larger for likelier; None if there is none."""
    import numpy as np

    values = verdict.probabilities if verdict.probabilities is not None else verdict.decisions
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    return values if values.shape[1] == len(verdict.classes) else None


def _log_loss(verdict: Verdict) -> float | None:
    import numpy as np

    codes = positions(verdict)
    if verdict.probabilities is None or codes is None:
        return None
    least = np.finfo(np.float64).eps
    own = verdict.probabilities[np.arange(len(codes)), codes]
    return float(-np.log(np.clip(own, least, 1.0)).mean())


def _roc_auc(verdict: Verdict) -> float | None:
    """Return the area under the ROC curve, or the mean of each of several against the rest."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    codes, scores = positions(verdict), scores_by_class(verdict)
    if codes is None or scores is None:
        return None
    wanted = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    areas = [
        roc_auc_score(codes == k, scores[:, k])
        for k in wanted
        if 0 < np.count_nonzero(codes == k) < len(codes)
    ]
    return float(np.mean(areas)) if areas else None


def measured_lines(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Lay out the figures of a measurement as names and values."""
    lines = [
        ("rows", f"{result['rows']:,}"),
        ("accuracy", f"{result['accuracy']:.4f}"),
        ("balanced accuracy", f"{result['balanced_accuracy']:.4f}"),
    ]
    if result["log_loss"] is not None:
        lines.append(("log loss", f"{result['log_loss']:.4f}"))
    if result["roc_auc"] is not None:
        lines.append(("ROC AUC", f"{result['roc_auc']:.4f}"))
    return lines


def measured_text(result: dict[str, Any]) -> str:
    """Lay a measurement out for reading: figures, classes, and confusion of few classes."""
    parts = [aligned(measured_lines(result))]
    names = [str(entry["label"]) for entry in result["classes"]]
    rows = [["class", "precision", "recall", "F1", "rows"]]
    for name, entry in zip(names, result["classes"], strict=True):
        scores = [_score(entry[key]) for key in ("precision", "recall", "f1")]
        rows.append([name, *scores, f"{entry['rows']:,}"])
    parts.append(grid(rows))
    if len(names) <= CONFUSION_SHOWN:
        counts = [[f"{count:,}" for count in row] for row in result["confusion"]]
        matrix = [[name, *row] for name, row in zip(names, counts, strict=True)]
        parts.append("rows: actual, columns: predicted\n" + grid([["", *names], *matrix]))
    return "\n\n".join(parts)


def grid(rows: list[list[str]]) -> str:
    """Lay cells out in columns, the first aligned left and the others right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if position == 0 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _score(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"


def _some(labels: Any, at_most: int = 6) -> str:
    shown = ", ".join(str(label) for label in labels[:at_most].tolist())
    return shown + (", …" if len(labels) > at_most else "")
