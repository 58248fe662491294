"""The table that an estimator is given, checked against the one that it was fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from .columns import Column, array_columns, frame_columns, is_frame
from .notes import listed


def table_columns(estimator: Any, X: Any, *, reset: bool) -> tuple[list[Column], Any]:
    """Return the columns of a table, and the precision in which its features are wanted.

    With `reset`, the estimator takes names and number of the columns down; otherwise they must be
    those of its ``columns_``, and a data frame is matched by their names.
    """
    if is_frame(X):
        columns = _of_frame(estimator, X, reset=reset)
        single = all(column.values.dtype == np.float32 for column in columns)
    else:
        X = X.toarray() if sp.issparse(X) else X
        X = validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=reset)
        names = [f"x{i}" for i in range(X.shape[1])] if reset else list(estimator.columns_)
        columns = array_columns(X, names)
        single = X.dtype == np.float32
    return columns, np.float32 if single else np.float64


def _of_frame(estimator: Any, X: Any, *, reset: bool) -> list[Column]:
    if 0 in X.shape:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(
            f"Found a table with 0 {what} (shape={X.shape}) while a minimum of 1 is required "
            f"by {type(estimator).__name__}."
        )
    named = all(isinstance(name, str) for name in X.columns)
    if reset or not named or not hasattr(estimator, "feature_names_in_"):
        columns = frame_columns(X)
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
        if reset:
            return columns
        known = zip(estimator.columns_, columns, strict=True)
        return [Column(name, column.values) for name, column in known]
    wanted = list(estimator.columns_)
    found = set(X.columns)
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(
            f"The table lacks columns that {type(estimator).__name__} was fitted on: "
            f"{listed(missing)}. It needs all of {len(wanted):,}, in any order."
        )
    return frame_columns(X[wanted])
