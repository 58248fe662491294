r"""What ``"auto"`` stands for in kernel classifiers: their intercept, and the scheme of classes.

An intercept :math:`b` is a constant :math:`c` added to every kernel value, and costs
:math:`b^2 / 2c`. With c = 1, that of a linear kernel on rows far from the origin costs more than
the weights, and the classifier fails where SVC, whose intercept is free, does not: two groups of
200 rows at (100, 100) and (103, 103) give .60 instead of .97. Here c is the mean kernel value of a
row with itself, at least 1, so that an intercept costs about as much as the weights do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..core.arrays import Array
from .kernels import SYMMETRY, Kernel

AUTO = "auto"
# Kernels of products: the function that they give is zero, or nearly so, at the origin.
# With sigmoid and none, 8 % of hypothyroid's test rows are classified right instead of 96 %.
OF_PRODUCTS = ("linear", "poly", "sigmoid")
# Other kernels get an intercept up to this many rows of a binary problem. On 93 sets of up to 1,500
# rows an SVM with it loses at most .3 points to SVC, one without it up to 2.5 (3.1 with several
# classes), at the same mean accuracy. More rows hardly need it, and for large C it makes them slow
# to train on.
MOST_ROWS_WITH_INTERCEPT = 1_000
# Pairs of more classes are too many: 1,225 binary problems, each with coefficients of its own.
MOST_CLASSES_IN_PAIRS = 50


def resolve_scheme(multi_class: str, n_classes: int) -> str:
    """Return how several classes become problems: ``"ovr"`` or ``"ovo"`` where it is open."""
    if multi_class != AUTO:
        return multi_class
    return "ovo" if n_classes <= MOST_CLASSES_IN_PAIRS else "ovr"


def rows_of_a_problem(total_weight: float, n_classes: int, scheme: str) -> float:
    """Return the mean number of rows of a binary problem, counted as often as weights say."""
    return total_weight * (2.0 / n_classes if scheme == "ovo" else 1.0)


def with_intercept(
    kernel: Kernel,
    fit_intercept: bool | str,
    rows_per_problem: float,
    diagonal: Callable[[], tuple[float, bool]],
) -> Kernel:
    """Return a kernel with the constant that gives the intercept asked for, if any.

    Parameters
    ----------
    kernel : Kernel
        Without constant.
    fit_intercept : bool or "auto"
        The parameter. "auto" is yes for few rows and for kernels of products. Kernel values of
        unknown origin are taken for those of products unless all rows have the same value with
        themselves, as with ``rbf``.
    rows_per_problem : float
        Training rows of a binary problem, see :func:`rows_of_a_problem`.
    diagonal : callable
        Returns the mean kernel value of a row with itself, and whether all are the same.
    """
    if fit_intercept == AUTO:
        fit_intercept = rows_per_problem <= MOST_ROWS_WITH_INTERCEPT or (
            not diagonal()[1] if kernel.name == "precomputed" else kernel.name in OF_PRODUCTS
        )
    if not fit_intercept:
        return kernel
    return replace(kernel, constant=max(1.0, diagonal()[0]))


def mean_and_sameness(values: Array, weights: Array) -> tuple[float, bool]:
    """Return the weighted mean of kernel values, and whether all are the same but for rounding."""
    spread = float(values.max() - values.min())
    same = spread <= SYMMETRY * max(abs(float(values.max())), abs(float(values.min())))
    return float(weights @ values / weights.sum()), same
