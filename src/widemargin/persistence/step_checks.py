"""Checks of fitted steps of scikit-learn, before they are written and after they are read.

Two kinds. Arrays that NumPy or SciPy would follow without a look at their bounds are compared with
the number of features. Then the step transforms one row that it must accept: whatever else is
missing or of another shape shows there, also if another version of scikit-learn keeps its state
differently. A failed check raises ValueError.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .checks import check_feature_names, demand, is_integer, required
from .example_row import example_row, inner_steps, table_of, width_of
from .target_checks import TARGET_CHECKS

# One number for every feature (None where a setting turns it off).
_PER_FEATURE = {
    "MaxAbsScaler": ("scale_", "max_abs_"),
    "MinMaxScaler": ("scale_", "min_", "data_min_", "data_max_", "data_range_"),
    "PCA": ("mean_",),
    "PowerTransformer": ("lambdas_",),
    "RobustScaler": ("center_", "scale_"),
    "SelectKBest": ("scores_",),
    "SelectPercentile": ("scores_",),
    "SimpleImputer": ("statistics_",),
    "StandardScaler": ("mean_", "var_", "scale_"),
    "TfidfTransformer": ("idf_",),
    "VarianceThreshold": ("variances_",),
}
# Rows of numbers, one for every feature.
_BY_FEATURE = {
    "Nystroem": "components_",
    "PCA": "components_",
    "QuantileTransformer": "quantiles_",
    "TruncatedSVD": "components_",
}
_RARE = "_infrequent_indices"


def check_step(step: Any) -> None:
    """Raise ValueError if a fitted step could not transform rows."""
    if type(step).__name__ in TARGET_CHECKS:
        TARGET_CHECKS[type(step).__name__](step)
        return
    state = vars(step)
    if "n_features_in_" in state:
        n_features = state["n_features_in_"]
        demand(is_integer(n_features) and n_features >= 1, "n_features_in_", "a positive integer")
        _check_widths(step, n_features)
        check_feature_names(state.get("feature_names_in_"), n_features)
    output = state.get("_sklearn_output_config", {})
    known = isinstance(output, dict) and set(output) <= {"transform"}
    demand(
        known and set(output.values()) <= {"default", "pandas", "polars", None},
        "_sklearn_output_config",
        "a kind of output",
    )
    if type(step).__name__ in ("OneHotEncoder", "OrdinalEncoder"):
        _check_encoder(step)
    try_a_row(step)


def _check_widths(step: Any, n_features: int) -> None:
    name = type(step).__name__
    for attribute in _PER_FEATURE.get(name, ()):
        value = vars(step).get(attribute)
        if value is not None:
            numeric = isinstance(value, np.ndarray) and value.dtype.kind in "fiubO"
            right = numeric and value.shape == (n_features,)
            demand(right, attribute, f"an array of {n_features}, or None")
    if name in _BY_FEATURE:
        attribute = _BY_FEATURE[name]
        value = required(step, attribute)
        if name == "Nystroem" and not isinstance(value, np.ndarray):
            demand(value.shape[1:] == (n_features,), attribute, f"rows of {n_features} numbers")
            return
        numeric = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 2
        right = numeric and value.shape[1] == n_features
        demand(right, attribute, f"rows of {n_features} numbers")


def _check_encoder(step: Any) -> None:
    """Demand categories that every code stands for, and columns for every code.

    The encoder makes a sparse matrix of them, whose indices nobody compares with its width.
    """
    categories = required(step, "categories_")
    n_features = required(step, "n_features_in_")
    listed = isinstance(categories, list) and len(categories) == n_features
    demand(listed, "categories_", f"a list of {n_features}")
    mappings = _mappings(step, n_features)
    counts = []
    for values, (mapping, rare) in zip(categories, mappings, strict=True):
        vector = isinstance(values, np.ndarray) and values.ndim == 1 and values.size > 0
        demand(vector and values.dtype.kind in "biufUO", "categories_", "arrays of categories")
        if values.dtype.kind in "biuf":
            known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
            # Codes are found by bisection; NaN comes last.
            ascending = bool(np.all(known[1:] > known[:-1])) and values.size - known.size <= 1
            last = known.size == values.size or bool(np.isnan(values[-1]))
            demand(ascending and last, "categories_", "in ascending order")
        counts.append(values.size)
        if mapping is not None or rare is not None:
            for codes, name in ((mapping, "_default_to_infrequent_mappings"), (rare, _RARE)):
                _check_codes(codes, name, values.size)
            demand(mapping.shape == values.shape, "_default_to_infrequent_mappings", "whole")
            counts[-1] = int(mapping.max()) + 1
    if type(step).__name__ == "OneHotEncoder":
        _check_columns(step, counts)


def _mappings(step: Any, n_features: int) -> list[tuple[Any, Any]]:
    """Return for every feature the codes after rare categories are joined, and these; or None."""
    if not vars(step).get("_infrequent_enabled", False):
        return [(None, None)] * n_features
    lists = []
    for name in ("_default_to_infrequent_mappings", _RARE):
        values = required(step, name)
        listed = isinstance(values, list) and len(values) == n_features
        demand(listed, name, f"a list of {n_features}")
        lists.append(values)
    return list(zip(*lists, strict=True))


def _check_codes(codes: Any, name: str, n_categories: int) -> None:
    """Demand positions of categories."""
    integers = isinstance(codes, np.ndarray) and codes.dtype.kind == "i" and codes.ndim == 1
    inside = integers and codes.size > 0 and 0 <= codes.min() <= codes.max() < n_categories
    demand(inside, name, "codes of the categories")


def _check_columns(step: Any, counts: list[int]) -> None:
    """Demand as many columns for each feature as it has codes that are not dropped."""
    dropped = vars(step).get("_drop_idx_after_grouping")
    if dropped is None:
        places: list[Any] = [None] * len(counts)
    else:
        listed = isinstance(dropped, np.ndarray) and dropped.shape == (len(counts),)
        demand(listed, "_drop_idx_after_grouping", f"an array of {len(counts)}")
        places = dropped.tolist()
    columns = required(step, "_n_features_outs")
    listed = isinstance(columns, list) and len(columns) == len(counts)
    demand(listed, "_n_features_outs", f"a list of {len(counts)}")
    for count, place, n_columns in zip(counts, places, columns, strict=True):
        inside = place is None or (is_integer(place) and 0 <= place < count)
        demand(inside, "_drop_idx_after_grouping", "codes or None")
        right = is_integer(n_columns) and n_columns == count - (place is not None)
        demand(right, "_n_features_outs", "the numbers of codes")


def try_a_row(step: Any) -> None:
    """Transform one row that a fitted step must accept, and compare widths along a pipeline."""
    name = type(step).__name__
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = table_of(step, example_row(step))
            if name == "Pipeline":
                _run_through(step, row)
            else:
                step.transform(row)
    except ValueError:
        raise
    except Exception as error:
        # What an attribute of a wrong kind leads to depends on where it is used.
        raise ValueError(f"{name} cannot transform a row ({error})") from error


def _run_through(pipeline: Any, row: Any) -> None:
    steps = inner_steps(pipeline)
    for position, step in enumerate(steps):
        if not hasattr(step, "transform") and position == len(steps) - 1:
            width = row.shape[1]
            demand(
                width == width_of(step),
                "steps",
                f"steps that fit together; the last takes {width_of(step)} features and "
                f"gets {width}",
            )
        else:
            row = step.transform(row)
