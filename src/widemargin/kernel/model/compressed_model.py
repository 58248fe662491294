"""A fitted model on fewer points: what :mod:`.compression` and :mod:`.basis_refit` make of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ...core.arrays import Array
from ...core.fit import warn
from ...core.resources import memory_bytes, thread_count
from ..kernels import Kernel, evaluate_callable, is_precomputed
from .basis_refit import Refit, RowsToFit, refit
from .compression import compress
from .prediction import decisions, fitted_kernel, labels

# Square matrices of the basis at the same time: kernel values, normal equations and their factor.
MATRICES = 3
# Warn below this share of unchanged labels among the support vectors, which lie where it is hard.
WORTH_A_WARNING = 0.9
# The same of a regressor: a tenth of the variance of its predictions.
LARGEST_ERROR = 0.3


def compressed(
    model: Any,
    n_basis: int,
    seed: int,
    *,
    decide: Callable[[NDArray[np.int64]], Array] | None = None,
    n_support: int | None = None,
    rows_to_fit: RowsToFit | None = None,
) -> Any:
    """Return a copy of a fitted model whose support vectors are a basis of the old ones.

    ``rows_to_fit``, if given, decide about the coefficients in the end.

    Where the model has some of the ``n_support`` support vectors only, ``decide`` gives the
    decisions of them all at the rows of these, as (problems, rows) and without the intercept.
    """
    if is_precomputed(model):
        raise ValueError(
            "A model of a precomputed kernel keeps no rows to compress on. Fit with a kernel by "
            "name or a function."
        )
    classifies = is_classifier(model)
    if classifies and not hasattr(model, "support_class_"):
        raise ValueError("This model was saved by an older version; fit it again to compress it.")
    here = len(model.support_)
    if not isinstance(n_basis, int | np.integer) or n_basis < 1:
        raise ValueError(f"`n_basis` must be a number of points, at least 1; got {n_basis!r}.")
    n_basis = min(int(n_basis), here)
    vectors = model.support_vectors_

    def own(rows: NDArray[np.int64]) -> Array:
        return np.ascontiguousarray((decisions(model, vectors[rows]) - model.intercept_).T)

    kernel, rows = fitted_kernel(model), vectors
    if callable(model.kernel):
        needed = 8 * here**2
        if needed > memory_bytes(model.memory_limit):
            raise ValueError(
                f"A function as kernel needs its whole matrix, {needed / 2**30:.2g} GiB for "
                f"{here} support vectors; `memory_limit` is {model.memory_limit!r}."
            )
        kernel, rows = Kernel("precomputed"), evaluate_callable(model.kernel, vectors, vectors)
    threads, memory = thread_count(model.n_jobs), memory_bytes(model.memory_limit)
    if rows_to_fit is not None and callable(model.kernel):
        raise ValueError(
            "Coefficients are fitted to rows for kernels by name only; got a function as kernel. "
            "Call compress without X and y."
        )
    check_basis_size(n_basis, memory, model.memory_limit)
    fitted: list[Refit] = []

    def refine(basis: NDArray[np.int64], coef: Array) -> Array:
        assert rows_to_fit is not None
        points = vectors[basis]
        done = refit(kernel, points, coef, model.intercept_, rows_to_fit, seed, threads, memory)
        fitted.append(done)
        return done.coef

    result = compress(
        kernel,
        rows,
        model.dual_coef_,
        decide or own,
        int(n_basis),
        seed,
        threads,
        memory=memory,
        in_space=getattr(model, "routing_", None) is None,
        at_boundary=classifies,
        refine=None if rows_to_fit is None else refine,
    )
    small = copy.copy(model)
    vars(small).pop("_kept_rows", None)  # an update would start from the model as it was
    small.support_ = model.support_[result.basis]
    small.support_vectors_ = vectors[result.basis]
    counts = np.array([len(result.basis)])
    if classifies:
        small.support_class_ = model.support_class_[result.basis]
        counts = np.bincount(small.support_class_, minlength=len(model.classes_))
    small.n_support_ = counts.astype(np.int32)
    small.dual_coef_ = result.coef
    small.support_part_ = small.routing_ = None
    # The gap was that of the model as it was.
    small.dual_gap_ = small.relative_gap_ = np.nan
    small.compression_ = {
        "n_basis": len(result.basis),
        "n_support_before": here if n_support is None else n_support,
        "error": result.error,
        "largest_error": result.largest_error,
    }
    if classifies:
        before, after = (
            labels(model, values.T + model.intercept_) for values in (result.before, result.after)
        )
        small.compression_["same_labels"] = float(np.mean(before == after))
    if rows_to_fit is not None:  # which decide, and not the model as it was
        small.compression_ |= {
            "n_rows": len(rows_to_fit.weights),
            "n_iter": fitted[0].n_iter,
            "converged": fitted[0].converged,
        }
    else:
        _warn_if_much_was_lost(small.compression_)
    return small


def _warn_if_much_was_lost(compression: dict[str, Any]) -> None:
    if "same_labels" in compression:
        same = compression["same_labels"]
        lost = same < WORTH_A_WARNING
        what = f"gives only {same:.1%} of the rows compared the same label as before"
    else:
        lost = compression["error"] > LARGEST_ERROR
        what = f"deviates by {compression['error']:.1%} of the size of its predictions"
    if lost:
        warn(
            f"The model on {compression['n_basis']} points {what}. Take more points, or pass "
            "training rows, as in compress(n_basis, X, y); a model of clusters, which jumps "
            "between them, needs either.",
        )


def check_basis_size(n_basis: int, memory: int, limit: Any) -> None:
    """Raise unless there is room for the square matrices of a basis."""
    needed = MATRICES * 8 * n_basis**2
    if needed > memory:
        most = int(np.sqrt(memory / (MATRICES * 8)))
        raise ValueError(
            f"{n_basis} points need {needed / 2**30:.2g} GiB for their normal equations; "
            f"`memory_limit` is {limit!r}, enough for {most}. Raise it with set_params, or take "
            "fewer points."
        )
