"""A fitted model as an ONNX graph: inputs, preprocessing, decisions, labels and what is known."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..core.regression_set import TargetUnits
from ..estimators.prediction import Predictor
from ..estimators.regression import Regressor
from ..persistence.atomic_write import write_atomically
from .columns import Columns, add_inputs
from .decisions import by_pairs, decide, exported_labels, votes, winner
from .graph import Graph
from .preprocessing import column_kinds, is_identity, preprocess
from .probabilities import agreeing, class_probabilities
from .scaling import SingleFeatures

OUTPUTS = ("label", "decision", "probabilities", "prediction")
DTYPES = {"float32": np.float32, "float64": np.float64}


def to_onnx(model: Any, path: str | PathLike[str] | None = None, *, dtype: str = "float32") -> Any:
    """Turn a fitted model into an ONNX graph of standard operators.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted classifier or regressor of this library, alone, as the last step of a
        :class:`sklearn.pipeline.Pipeline`, as the ``best_estimator_`` of a search, or with a
        ``preprocessor_`` (AutoClassifier), or as the ``regressor_`` of a
        TransformedTargetRegressor with a StandardScaler. Steps before it may be TablePreprocessor,
        StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, SimpleImputer, OneHotEncoder,
        ColumnTransformer and Pipeline.
    path : str or path-like, default=None
        File to write. An existing one is replaced only once the new one is complete.
    dtype : {'float32', 'float64'}, default='float32'
        Type of numbers in inputs and outputs. Inside the graph, 'float32' allows kernel values in
        float32, which are faster and smaller, if that changes no decision on a sample of the
        support vectors by more than 3e-6; sums are float64 always.

    Returns
    -------
    onnx.ModelProto
        The graph. Its input is ``X`` of shape (rows, features); or, where some columns hold text or
        dates, one input of shape (rows, 1) per column that is used, named like the column. Outputs
        are ``label``, of shape (rows,); ``decision``, as ``decision_function`` returns it; and, if
        ``calibrate`` is set, ``probabilities``, as ``predict_proba`` returns them. Of a regressor,
        the one output is ``prediction``, of shape (rows,). Properties of the model name the class
        (``estimator``), the labels (``classes``) and the columns (``feature_names``), as JSON.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        If a step is not known, the kernel is precomputed or a function, or the file would be larger
        than 2 GiB.

    See Also
    --------
    widemargin.ODMClassifier.compress : Fewer support vectors: a smaller, faster graph.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import ODMClassifier, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ODMClassifier()).fit(X, y)
    >>> graph = to_onnx(model).graph                                        # doctest: +SKIP
    >>> [output.name for output in graph.output]                            # doctest: +SKIP
    ['label', 'decision']
    """
    if dtype not in DTYPES:
        raise ValueError(f"`dtype` must be 'float32' or 'float64'; got {dtype!r}.")
    steps, final, unit = _taken_apart(model)
    graph = Graph(set(OUTPUTS))
    first = steps[0] if steps else final
    names = getattr(first, "feature_names_in_", None)
    columns = None if names is None else [str(name) for name in names]
    kinds = column_kinds(first, first.n_features_in_)
    table, inputs = add_inputs(graph, kinds, columns, DTYPES[dtype])
    for step in steps:
        table = preprocess(graph, step, table)
    rows = table.whole()
    _check_width(final, rows)
    if isinstance(final, Regressor):
        _regress(graph, final, rows, unit, DTYPES[dtype])
    else:
        _classify(graph, final, rows, DTYPES[dtype])
    proto = _finished(graph, final, columns if inputs == ["X"] else inputs)
    if path is not None:
        write_atomically(path, proto.SerializeToString(deterministic=True))
    return proto


def _taken_apart(model: Any) -> tuple[list[Any], Any, TargetUnits]:
    """Return the preprocessing steps, the classifier or regressor, and its unit of targets."""
    check_is_fitted(model)
    if isinstance(model, Predictor | Regressor):
        return [], model, TargetUnits()
    if type(model) is Pipeline:
        steps, final, unit = _taken_apart(model.steps[-1][1])
        before = [step for _, step in model.steps[:-1] if not is_identity(step)]
        return before + steps, final, unit
    if hasattr(model, "preprocessor_") and hasattr(model, "model_"):  # AutoClassifier
        steps, final, unit = _taken_apart(model.model_)
        features = SingleFeatures(model.feature_weights_)
        return [model.preprocessor_, features, *steps], final, unit
    if hasattr(model, "best_estimator_"):
        return _taken_apart(model.best_estimator_)
    if type(model) is TransformedTargetRegressor:
        steps, final, unit = _taken_apart(model.regressor_)
        return steps, final, _outer_unit(model.transformer_, unit)
    if is_outlier_detector(model):
        raise ValueError(
            f"A novelty detector, such as this {type(model).__name__}, cannot be exported yet: the "
            "outputs of a graph are classes or numbers. Judge rows with widemargin: by "
            "`decision_function`, or `widemargin predict --decision`."
        )
    raise ValueError(
        "A fitted classifier or regressor of widemargin, or a Pipeline that ends with one, can be "
        f"exported; got {type(model).__name__}."
    )


def _outer_unit(transformer: Any, inner: TargetUnits) -> TargetUnits:
    """Return the unit of targets in that of a fitted transformer of them."""
    if type(transformer) is not StandardScaler:
        raise ValueError(
            "A TransformedTargetRegressor can be exported if its transformer is a StandardScaler; "
            f"got {type(transformer).__name__}. Export its `regressor_`, and transform the "
            "predictions of the graph back yourself."
        )
    mean = float(transformer.mean_[0]) if transformer.with_mean else 0.0
    scale = float(transformer.scale_[0]) if transformer.with_std else 1.0
    return TargetUnits(mean + scale * inner.origin, scale * inner.unit)


def _check_width(model: Any, rows: Columns) -> None:
    if rows.text or rows.width != model.n_features_in_:
        kind = "regressor" if isinstance(model, Regressor) else "classifier"
        raise ValueError(
            f"The {kind} takes {model.n_features_in_} numbers per row; the steps before it "
            f"give {rows.width} {'texts' if rows.text else 'numbers'}. Encode text first."
        )


def _regress(graph: Graph, model: Any, rows: Columns, unit: TargetUnits, dtype: Any) -> None:
    """Add the output of a regressor."""
    predicted = decide(graph, model, rows.name, single=dtype == np.float32)
    if unit != TargetUnits():
        predicted = graph.affine(predicted, np.array([[unit.unit]]), np.array([unit.origin]))
    flat = graph.op("Squeeze", predicted, graph.constant(np.array([1])))
    graph.output("prediction", flat, dtype, None)


def _classify(graph: Graph, model: Any, rows: Columns, dtype: Any) -> None:
    """Add the outputs of a classifier."""
    n_classes = len(model.classes_)
    calibration = _calibration(model)
    # Steps of an isotonic calibration may be steep, and would multiply the rounding of float32.
    steep = calibration is not None and calibration["method"] == "isotonic"
    scores = decide(graph, model, rows.name, single=dtype == np.float32 and not steep)
    width = len(model.intercept_)
    best = voted = scores
    if by_pairs(model, width):
        best = voted = votes(graph, scores, n_classes)
        if model.decision_function_shape == "ovo":
            voted = scores
    labels = exported_labels(model.classes_)
    position = winner(graph, best, 1 if width == 1 else n_classes)
    label = graph.op("Gather", graph.constant(labels), position, axis=0)
    graph.output("label", label, str if labels.dtype == object else labels.dtype, None)
    if width == 1:
        flat = graph.op("Squeeze", scores, graph.constant(np.array([1])))
        graph.output("decision", flat, dtype, None)
    else:
        graph.output("decision", voted, dtype, width if voted == scores else n_classes)
    if calibration is not None:
        found = class_probabilities(graph, calibration, scores, n_classes)
        agreed = agreeing(graph, found, position, n_classes, dtype)
        graph.output("probabilities", agreed, dtype, n_classes)


def _calibration(model: Any) -> dict[str, Any] | None:
    """Return what turns decisions into probabilities, if the model has such."""
    if getattr(model, "calibrate", None) is None:
        return None
    if not hasattr(model, "calibration_"):
        raise ValueError(
            "`calibrate` is set, but the model was fitted without it, or its fit was interrupted. "
            "Fit it again, or set `calibrate=None` to export it without probabilities."
        )
    calibration: dict[str, Any] = model.calibration_
    return calibration


def _finished(graph: Graph, model: Any, columns: list[str] | None) -> Any:
    from .. import __version__

    name = type(model).__name__
    about = f"{name} of widemargin {__version__}"
    known: dict[str, Any] = {"estimator": name}
    if not isinstance(model, Regressor):
        labels = ", ".join(str(label) for label in model.classes_[:20])
        about += f", {len(model.classes_)} classes: {labels}"
        known["classes"] = exported_labels(model.classes_).tolist()
    if columns is not None:
        known["feature_names"] = columns
    properties = {key: json.dumps(value, ensure_ascii=False) for key, value in known.items()}
    return graph.model(name, __version__, about, properties)
