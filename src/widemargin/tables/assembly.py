"""Features put together: numbers, marks of missing ones, and levels of categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import StandardScaler

from ..core.rows import SPARSE_FEATURES, SPARSE_SHARE
from .cleaning import Cleaned

#: Rows that medians are taken of where nothing is missing.
MEDIAN_ROWS = 10_000


def fit_to_numbers(
    numbers: NDArray[np.float64],
) -> tuple[SimpleImputer | None, MissingIndicator | None, StandardScaler | None]:
    """Return imputer, indicator and scaler of a matrix; None where there is nothing to do."""
    if not numbers.shape[1]:
        return None, None, None
    missing = bool(np.isnan(numbers).any())
    # Where nothing is missing, medians serve later tables only: those of a sample do.
    step = 1 if missing else -(-len(numbers) // MEDIAN_ROWS)
    imputer = SimpleImputer(strategy="median").fit(numbers[::step])
    indicator = MissingIndicator(error_on_new=False).fit(numbers) if missing else None
    return imputer, indicator, StandardScaler().fit(imputer.transform(numbers))


def mostly_zero(cleaned: Cleaned, n_features: int) -> bool:
    """Return whether kernels are evaluated faster on the features as a CSR matrix."""
    numbers = cleaned.number_matrix
    marks = np.count_nonzero(np.isnan(numbers)) / cleaned.n_rows
    stored = numbers.shape[1] + marks + len(cleaned.categories)
    return n_features >= SPARSE_FEATURES and bool(stored <= SPARSE_SHARE * n_features)


def assembled(
    cleaned: Cleaned, parts: tuple[Any, Any, Any, Any], dtype: Any, *, sparse: bool
) -> Any:
    """Return the features that imputer, indicator, scaler and encoder make of the columns."""
    imputer, indicator, scaler, encoder = parts
    blocks: list[Any] = []
    if imputer is not None:
        numbers = cleaned.number_matrix
        blocks.append(scaler.transform(imputer.transform(numbers)))
        if indicator is not None:
            blocks.append(indicator.transform(numbers))
    if encoder is not None:
        blocks.append(encoder.transform(cleaned.category_matrix))
    if sparse:
        return sp.hstack([sp.csr_matrix(block) for block in blocks], format="csr", dtype=dtype)
    dense = [block.toarray() if sp.issparse(block) else block for block in blocks]
    return np.hstack(dense).astype(dtype, copy=False)
