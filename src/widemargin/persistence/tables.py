"""Checks of estimators that are made of others: of preprocessing, and of automatic choice.

What they are made of was checked when it was built; these checks compare the parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import check_feature_names, demand, is_integer, required
from .step_checks import try_a_row


def check_preprocessor(estimator: Any) -> None:
    """Check the fitted attributes of a preprocessor of tables."""
    n_features = required(estimator, "n_features_in_")
    demand(is_integer(n_features) and n_features >= 1, "n_features_in_", "a positive integer")
    check_feature_names(vars(estimator).get("feature_names_in_"), n_features)
    notes = required(estimator, "notes_")
    sentences = isinstance(notes, list) and all(isinstance(note, str) for note in notes)
    demand(sentences, "notes_", "a list of sentences")
    try_a_row(estimator)


def check_automatic(estimator: Any) -> None:
    """Check that the parts of an automatically chosen classifier fit each other."""
    n_features = required(estimator, "n_features_in_")
    demand(is_integer(n_features) and n_features >= 1, "n_features_in_", "a positive integer")
    check_feature_names(vars(estimator).get("feature_names_in_"), n_features)
    preprocessor, model = required(estimator, "preprocessor_"), required(estimator, "model_")
    for name, part in (("preprocessor_", preprocessor), ("model_", model)):
        demand(hasattr(part, "n_features_in_"), name, "a fitted estimator")
    classes = required(estimator, "classes_")
    known = vars(model).get("classes_")
    arrays = isinstance(classes, np.ndarray) and isinstance(known, np.ndarray)
    demand(arrays and np.array_equal(classes, known), "classes_", "those of `model_`")
    demand(preprocessor.n_features_in_ == n_features, "n_features_in_", "that of `preprocessor_`")
    width = len(preprocessor.get_feature_names_out())
    demand(width == model.n_features_in_, "model_", f"a classifier of {width} features")
    weights = required(estimator, "feature_weights_")
    if weights is not None:
        right = isinstance(weights, np.ndarray) and weights.dtype == np.float64
        right = right and weights.shape == (width,) and bool(np.all(np.isfinite(weights)))
        demand(right, "feature_weights_", f"None or {width} finite numbers")
    _check_leaderboard(required(estimator, "leaderboard_"))


# Columns of a leaderboard that are numbers.
_NUMBERS = ("rank", "rows", "splits", "score", "std_score", "seconds", "converged")


def _check_leaderboard(board: Any) -> None:
    """Check that the columns of what was tried have a value for each trial."""
    columns = ("name", "params", *_NUMBERS)
    listed = isinstance(board, dict) and all(
        isinstance(board.get(name), np.ndarray | list) for name in columns
    )
    lengths = {len(board[name]) for name in columns} if listed else set()
    numbers = listed and all(np.asarray(board[name]).dtype.kind in "biuf" for name in _NUMBERS)
    demand(numbers and len(lengths) == 1, "leaderboard_", "columns of one length")
