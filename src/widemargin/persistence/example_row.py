"""A row that a fitted step accepts: known categories where it knows them, ones elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

_NUMBER = 1.0  # positive, because a Box-Cox transform takes nothing else


def width_of(step: Any) -> int:
    """Return the number of features that a fitted step takes."""
    name = type(step).__name__
    if name in ("Pipeline", "FeatureUnion"):
        for inner in inner_steps(step):
            return width_of(inner)
        raise ValueError("a pipeline without steps takes no rows")
    return int(step.n_features_in_)


def inner_steps(step: Any) -> list[Any]:
    """Return the steps of a pipeline or of a union that do something."""
    pairs = step.steps if type(step).__name__ == "Pipeline" else step.transformer_list
    for _, inner in pairs:
        idle = inner is None or isinstance(inner, str)
        if idle and inner not in (None, "passthrough", "drop"):
            raise ValueError(f"{inner!r} is no step")
    return [inner for _, inner in pairs if inner is not None and not isinstance(inner, str)]


def example_row(step: Any) -> list[Any]:
    """Return a value for every feature of a fitted step."""
    name = type(step).__name__
    if name == "Pipeline":
        return _of_pipeline(step)
    if name == "FeatureUnion":
        return _merged([example_row(inner) for inner in inner_steps(step)])
    if name == "ColumnTransformer":
        return _of_columns(step)
    if name in ("OneHotEncoder", "OrdinalEncoder"):
        return [_first_known(values.tolist()) for values in step.categories_]
    if name == "SimpleImputer" and step.statistics_.dtype.kind == "O":
        return [_first_known([value]) for value in step.statistics_.tolist()]
    return [_NUMBER] * width_of(step)


def _of_pipeline(pipeline: Any) -> list[Any]:
    steps = inner_steps(pipeline)
    if not steps:
        raise ValueError("a pipeline without steps takes no rows")
    first, later = steps[0], steps[1:]
    if type(first).__name__ == "SimpleImputer" and later and not hasattr(later[0], "predict"):
        # What stands for a missing value need not be a category that was seen.
        following = example_row(later[0])
        if len(following) == width_of(first):
            return following
    return example_row(first)


def _of_columns(step: Any) -> list[Any]:
    n_features = width_of(step)
    names = getattr(step, "feature_names_in_", None)
    index = {} if names is None else {name: i for i, name in enumerate(names.tolist())}
    row: list[Any] = [_NUMBER] * n_features
    for _, inner, columns in step.transformers_:
        if isinstance(inner, str):
            continue
        if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):
            start = 0 if columns.start is None else index[columns.start]
            stop = n_features if columns.stop is None else index[columns.stop] + 1
            columns = slice(start, stop, columns.step)
        elif isinstance(columns, str):
            columns = [index[columns]]
        elif not isinstance(columns, slice):
            chosen = np.asarray(columns)
            if chosen.dtype.kind in "UO":
                columns = [index[name] for name in chosen.tolist()]
        places = np.atleast_1d(np.arange(n_features)[columns]).tolist()
        if places:
            for place, value in zip(places, example_row(inner), strict=True):
                row[place] = value
    return row


def _merged(rows: list[list[Any]]) -> list[Any]:
    """Return one row for several steps that get the same one: what is no number decides."""
    merged = list(rows[0])
    for row in rows[1:]:
        for place, value in enumerate(row[: len(merged)]):
            if merged[place] == _NUMBER:
                merged[place] = value
    return merged


def _first_known(values: list[Any]) -> Any:
    """Return the first value that is not missing, or the first one."""
    for value in values:
        if value is not None and value == value:
            return value
    return values[0]


def table_of(step: Any, row: list[Any]) -> Any:
    """Return a row as the kind of table that a step was fitted on: a frame where it has names."""
    names = _names(step)
    if names is not None:
        import pandas as pd

        return pd.DataFrame({name: [value] for name, value in zip(names, row, strict=True)})
    if getattr(step, "sparse_input_", False):
        return sparse.csr_matrix(np.array([row]))
    if getattr(step, "_precomputed", False):  # of missing values: it takes the mask of them
        return np.zeros((1, len(row)), dtype=bool)
    numeric = all(isinstance(value, int | float) for value in row)
    return np.array([row], dtype=np.float64 if numeric else object)


def _names(step: Any) -> list[str] | None:
    if type(step).__name__ in ("Pipeline", "FeatureUnion"):
        for inner in inner_steps(step):
            return _names(inner)
        return None
    names = getattr(step, "feature_names_in_", None)
    return None if names is None else names.tolist()
