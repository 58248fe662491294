"""The training table of :class:`AutoClassifier`: checked, preprocessed, equal rows merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, validate_data

from ..core.arrays import Array
from ..core.blocks import CANONICAL_VALUES
from ..core.budget import seed_of
from ..core.fit import warn
from ..core.labels_like_targets import described, resemble_targets
from ..core.rows import canonical, copies_in_own_order
from ..core.training_set import COLUMNS, training_set
from ..kernel.kernels import resolve_gamma
from .auto_splits import Indices

# Features are standardised: single precision is enough for distances between them.
PRECISION = np.float32


@dataclass(frozen=True)
class AutoTable:
    """Preprocessed rows of positive weight.

    Attributes
    ----------
    X : array or CSR matrix
        Features.
    classes, codes : array
        Sorted labels, and the position of each row's label among them.
    weight : array
        Sample weights; those of merged rows are added.
    given : array
        Labels as they were given.
    row_of : array
        The row that each row given has become; -1 for rows of weight zero.
    scale : float
        What gamma="scale" stands for.
    seed : int
        Decides what is drawn.
    preprocessor : TablePreprocessor
        The fitted preprocessor.
    columns : dict
        Fitted attributes that describe the columns.
    """

    X: Any
    classes: NDArray[Any]
    codes: Indices
    weight: Array
    given: NDArray[Any]
    row_of: Indices
    scale: float
    seed: int
    preprocessor: Any
    columns: dict[str, Any]


def table_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> AutoTable:
    """Check the training data of an estimator, and preprocess them.

    Equal rows with equal labels count as one row of their joint weight, so that none is both
    trained on and scored on, and the result is the same whether a row is given twice or with
    twice the weight.
    """
    from ..tables import TablePreprocessor

    name = type(estimator).__name__
    X, y = _checked(estimator, X, y)
    # The rows may be a data frame: what is weighed are their numbers.
    numbers = np.arange(_num_samples(X))[:, np.newaxis]
    training = training_set(numbers, y, sample_weight, pairwise=False, estimator=name)
    codes, weight = training.codes, training.weights
    if resemble_targets(training.classes, len(codes)):
        warn(
            f"{described(training.classes, len(codes))}, not like classes. A regressor, such as "
            "ODMRegressor, learns numbers."
        )
    if training.kept is not None:
        X = _safe_indexing(X, training.kept)
    steps = []
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and X.size <= CANONICAL_VALUES:
        # Before the preprocessor counts and measures rows.
        X, codes, weight, group = _merged(X.astype(np.float64, copy=False), codes, weight)
        steps.append(group)
    elif sp.issparse(X) and X.nnz <= CANONICAL_VALUES:
        X, codes, weight, group = _merged(canonical(X.tocsr()), codes, weight)
        steps.append(group)
    preprocessor = TablePreprocessor()
    features = single(preprocessor.fit_transform(X))
    features, codes, weight, group = _merged(features, codes, weight)
    for earlier in steps:
        group = group[earlier]
    row_of = np.full(len(y), -1, dtype=np.int64)
    row_of[slice(None) if training.kept is None else training.kept] = group
    seed = 0 if estimator.random_state is None else seed_of(estimator.random_state)
    return AutoTable(
        features,
        training.classes,
        codes,
        weight,
        y,
        row_of,
        resolve_gamma("scale", features, weight),
        seed,
        preprocessor,
        {key: getattr(preprocessor, key) for key in COLUMNS if hasattr(preprocessor, key)},
    )


def single(X: Any) -> Any:
    """Return features in the precision that models are trained in."""
    return canonical(X).astype(PRECISION, copy=False)


def _checked(estimator: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Check form and length; what cells hold is the preprocessor's business."""
    if hasattr(X, "columns") and hasattr(X, "shape") and y is not None:
        check_consistent_length(X, y)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "O" and any(each is None or each != each for each in y.tolist()):
            raise ValueError("Input y contains NaN: every row needs a label.")
    else:
        X, y = validate_data(
            estimator, X, y, accept_sparse="csr", dtype=None, ensure_all_finite=False
        )
    check_classification_targets(y)
    return X, np.asarray(y)


def _merged(X: Any, codes: Indices, weight: Array) -> tuple[Any, Indices, Array, Indices]:
    """Merge equal rows of a class; return also the row that each has become."""
    group, first = copies_in_own_order(X, codes)
    return X[first], codes[first], np.bincount(group, weight).astype(np.float64), group
