"""The kernel that an estimator's parameters name, and the training rows as it sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.resources import memory_bytes
from ..core.rows import drop_unused_columns, sparse_if_faster
from ..core.uneven_scales import warn_if_few_features_dominate
from ..kernel.kernels import (
    FLOAT32_ROUNDING,
    Kernel,
    check_symmetric,
    evaluate_callable,
    is_precomputed,
    resolve_gamma,
    rounding_of_distances,
)


def resolved_kernel(estimator: Any, X: Any, weights: Array) -> tuple[Kernel, Any]:
    """Return the kernel with its width, without a constant, and the rows.

    The rows are the kernel matrix where that is given or comes from a function, and float64 where
    distances would be rounded too much.
    """
    if callable(estimator.kernel):
        needed = 8 * X.shape[0] ** 2
        if needed > memory_bytes(estimator.memory_limit):
            raise ValueError(
                f"A callable kernel needs its whole matrix, {needed / 2**30:.2g} GiB for "
                f"{X.shape[0]} rows; `memory_limit` is {estimator.memory_limit!r}. Raise it, use "
                "fewer rows, or a kernel by name."
            )
        gram = evaluate_callable(estimator.kernel, X, X)
        check_symmetric(gram)
        return Kernel("precomputed"), gram
    if is_precomputed(estimator):
        check_symmetric(X)
        return Kernel("precomputed"), X
    gamma = resolve_gamma(estimator.gamma, X, weights)
    kernel = Kernel(estimator.kernel, gamma, float(estimator.coef0), int(estimator.degree))
    names = getattr(estimator, "feature_names_in_", None)
    hidden = f"the {estimator.kernel} kernel sees almost nothing else"
    warn_if_few_features_dominate(X, hidden, names)
    return kernel, rows_seen_by(kernel, X)


def rows_seen_by(kernel: Kernel, X: Any) -> Any:
    """Return rows in the form and precision in which kernel values are evaluated."""
    precise = rounding_of_distances(kernel, X) > FLOAT32_ROUNDING
    (rows,) = drop_unused_columns(sparse_if_faster(X))
    return rows.astype(np.float64) if precise else rows
