"""Sparse matrices: features already, not to be centred, and scaled only where they differ much."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.validation import validate_data

#: Columns are scaled if the largest value of one exceeds the median one so many times.
COMPARABLE = 100.0


def sparse_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return checked CSR rows."""
    checked = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        reset=reset,
    )
    return checked if sp.issparse(checked) else sp.csr_matrix(checked)


def scaler_of_sparse(X: Any) -> tuple[MaxAbsScaler | None, list[str]]:
    """Return the scaler of CSR rows, None if they need none, and notes about it.

    Counts, indicators and tf-idf values are comparable as they are: to divide each by its
    deviation would give rare words the weight of frequent ones.
    """
    notes = []
    missing = int(np.count_nonzero(~np.isfinite(X.data)))
    if missing:
        notes.append(f"{missing:,} missing or infinite values are replaced by 0.")
    scaler = MaxAbsScaler().fit(finite(X))
    largest = scaler.max_abs_[scaler.max_abs_ > 0.0]
    if not largest.size or largest.max() <= COMPARABLE * np.median(largest):
        return None, notes
    notes.append("Columns are divided by their largest value, which differed much.")
    return scaler, notes


def finite(X: Any) -> Any:
    """Return CSR rows with 0 in place of what is missing or infinite."""
    if np.isfinite(X.data).all():
        return X
    X = X.copy()
    X.data = np.nan_to_num(X.data, nan=0.0, posinf=0.0, neginf=0.0)
    return X
