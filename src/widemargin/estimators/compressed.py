"""A fitted kernel machine on fewer points."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.resources import memory_bytes, thread_count
from ..kernel.kernels import Kernel
from ..kernel.matrices import evaluate_callable
from ..kernel.model.compression import compress

# Below this share of unchanged labels among support vectors, which lie where it is hard.
WORTH_A_WARNING = 0.9


def compressed(
    model: Any,
    n_basis: int,
    seed: int,
    *,
    decide: Callable[[NDArray[np.int64]], Array] | None = None,
    n_support: int | None = None,
) -> Any:
    """Return a copy of a fitted model whose support vectors are a basis of the old ones.

    Where the model has some of the ``n_support`` support vectors only, ``decide`` gives the
    decisions of them all at the rows of these, as (problems, rows) and without the intercept.
    """
    if model._pairwise:
        raise ValueError(
            "A model of a precomputed kernel keeps no rows to compress on. Fit with a kernel by "
            "name or a function."
        )
    if not hasattr(model, "support_class_"):
        raise ValueError("This model was saved by an older version; fit it again to compress it.")
    here = len(model.support_)
    if not isinstance(n_basis, int | np.integer) or n_basis < 1:
        raise ValueError(f"`n_basis` must be a number of points, at least 1; got {n_basis!r}.")
    n_basis = min(int(n_basis), here)
    vectors = model.support_vectors_

    def own(rows: NDArray[np.int64]) -> Array:
        return np.ascontiguousarray((model._decisions(vectors[rows]) - model.intercept_).T)

    kernel, rows = model._fitted_kernel(), vectors
    if callable(model.kernel):
        needed = 8 * here**2
        if needed > memory_bytes(model.memory_limit):
            raise ValueError(
                f"A function as kernel needs its whole matrix, {needed / 2**30:.2g} GiB for "
                f"{here} support vectors; `memory_limit` is {model.memory_limit!r}."
            )
        kernel, rows = Kernel("precomputed"), evaluate_callable(model.kernel, vectors, vectors)
    threads = thread_count(model.n_jobs)
    result = compress(
        kernel,
        rows,
        model.dual_coef_,
        decide or own,
        int(n_basis),
        seed,
        threads,
        in_space=getattr(model, "routing_", None) is None,
    )
    small = copy.copy(model)
    small.support_ = model.support_[result.basis]
    small.support_vectors_ = vectors[result.basis]
    small.support_class_ = model.support_class_[result.basis]
    small.n_support_ = np.bincount(small.support_class_, minlength=len(model.classes_)).astype(
        np.int32
    )
    small.dual_coef_ = result.coef
    small.support_part_ = small.routing_ = None
    # The gap was that of the model as it was.
    small.dual_gap_ = small.relative_gap_ = np.nan
    before, after = (
        model._labels(values.T + model.intercept_) for values in (result.before, result.after)
    )
    small.compression_ = {
        "n_basis": len(result.basis),
        "n_support_before": here if n_support is None else n_support,
        "error": result.error,
        "largest_error": result.largest_error,
        "same_labels": float(np.mean(before == after)),
    }
    if small.compression_["same_labels"] < WORTH_A_WARNING:
        warnings.warn(
            f"The model on {len(result.basis)} points gives only "
            f"{small.compression_['same_labels']:.1%} of the rows compared the same label as "
            "before. Take more points; a model of clusters, which jumps between them, needs many.",
            stacklevel=3,
        )
    return small
