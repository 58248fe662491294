r"""Shapley values of kernel expansions whose kernel is a product over the features.

The games and the integral are in ``native/kernel/shapley.hpp``; here are the rule of integration,
and the machine that a model decides about a row with.

The integrand of a pair is a product of at most d - 1 factors :math:`(1 - t)\,b + t\,k` with
:math:`0 \le b, k \le 1`. A Gauss–Legendre rule of m nodes is exact up to degree 2m - 1, so that
:math:`\lceil d / 2 \rceil` nodes are enough. Fewer do for many features: the error is affine in
every b and k, hence largest where all of them are 0 or 1, that is for :math:`t^p (1 - t)^q` with
:math:`p + q = n < d`. With :math:`t = \cos^2(\theta / 2)`, its Chebyshev coefficients of degree k
are at most :math:`2 \binom{2n}{n + k} 4^{-n}`. Those from degree 2m on, which alone contribute to
the error, sum to at most :math:`2 e^{-4 m^2 / n}` by Hoeffding's inequality, and the rule is wrong
by at most 2 about a Chebyshev polynomial. Hence the error is below ε / d, a rounding of the
smallest integral where b = 1, for

.. math:: m \ge \tfrac12 \sqrt{(d - 1) \log(4 d / \varepsilon)},

23 nodes instead of 25 for 50 features, 94 instead of 392 for 784.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from ... import _native
from ...core.arrays import Array
from ...core.resources import thread_count
from ...core.rows import as_rows
from ..kernels import Kernel
from .level_model import LevelModel
from .prediction import fitted_kernel, level_model

PRODUCT_KERNELS = ("rbf", "laplacian")
ROUNDING = 2.0**-53
NEWTON_STEPS = 4  # from a start that is right to a hundredth of the distance between roots


def shapley_of_model(model: Any, X: Any, background: Any = None) -> tuple[Array, Array]:
    """Divide the decisions of a fitted kernel machine among the features.

    Parameters
    ----------
    model : estimator
        Fitted machine with a kernel of ``PRODUCT_KERNELS``.
    X : array or CSR matrix of shape (n_rows, n_features)
        Checked rows to explain.
    background : array or CSR matrix of shape (n_background, n_features), optional
        Checked rows that features outside a coalition are taken from, instead of the factor 1.

    Returns
    -------
    values : array of shape (n_rows, n_features, n_problems)
        The feature's share in the decision of every binary problem.
    base : array of shape (n_rows, n_problems)
        Decision that no feature takes part in: values sum to the decision minus this one.
    """
    threads = thread_count(model.n_jobs)
    problems = len(model.dual_coef_)
    if getattr(model, "routing_", None) is None:
        kernel = fitted_kernel(model)
        values, base = _explain(
            kernel, X, model.support_vectors_, model.dual_coef_, background, threads
        )
        return values, np.tile(base + model.intercept_, (X.shape[0], 1))
    values = np.zeros((*X.shape, problems))
    base = np.tile(np.asarray(model.intercept_, dtype=np.float64), (X.shape[0], 1))
    for k in range(problems):
        for rows, part in _machines(level_model(model, k), X, threads):
            here, offset = _explain(
                part.kernel, X[rows], part.basis, part.coef[None], background, threads
            )
            values[rows, :, k] = here[:, :, 0]
            base[rows, k] += offset
    return values, base


def _machines(model: LevelModel, X: Any, threads: int) -> list[tuple[Any, LevelModel]]:
    """Return the machines that decide about rows, with the numbers of these rows."""
    if model.router is None:
        return [(np.arange(X.shape[0]), model)]
    group = model.router.assign(X, threads)
    return [(np.flatnonzero(group == g), model.alone(int(g))) for g in np.unique(group)]


def _explain(
    kernel: Kernel, X: Any, basis: Any, coef: Array, background: Any, threads: int
) -> tuple[Array, Array]:
    """Return the values of an expansion, and its value without any feature, a number per output."""
    if basis.shape[0] == 0:
        return np.zeros((*X.shape, len(coef))), np.zeros(len(coef))
    sets = [each for each in (X, basis, background) if each is not None]
    if not all(sp.issparse(each) for each in sets):
        width = X.shape[1]
    else:  # features that none of two rows store have the factor 1
        first, second = sets[0], sets[-1]
        width = min(X.shape[1], _most_stored(first) + _most_stored(second))
    node, weight = integration_rule(width)
    rows, points = _in_double(X), _in_double(basis)
    others = None if background is None else _in_double(background)
    columns = np.ascontiguousarray(coef.T, dtype=np.float64)
    values = _native.shapley_values(
        rows, points, kernel.spec, columns, node, weight, others, threads
    )
    if others is None:
        return values, np.asarray(coef.sum(axis=1) * (1.0 + kernel.constant))
    return values, np.asarray(kernel.product(others, points, coef, threads=threads).mean(axis=1))


def _in_double(X: Any) -> _native.Rows64:
    rows = as_rows(X, np.float64)
    assert isinstance(rows, _native.Rows64)
    return rows


def _most_stored(X: Any) -> int:
    return int(np.diff(X.indptr).max(initial=0))


def integration_rule(features: int) -> tuple[Array, Array]:
    """Return nodes and weights on [0, 1] that integrate products of all features but one.

    Parameters
    ----------
    features : int
        Number of features d that may differ in a pair of rows.

    Returns
    -------
    node, weight : arrays of shape (n_nodes,)
        Gauss–Legendre rule, exact or within a rounding of the result.
    """
    exact = max(1, ceil(features / 2))
    within = ceil(sqrt((features - 1) * log(4 * features / ROUNDING)) / 2) if features > 1 else 1
    return gauss_legendre(min(exact, within))


def gauss_legendre(n_nodes: int) -> tuple[Array, Array]:
    """Return the Gauss–Legendre rule on [0, 1], with small nodes and all weights to rounding.

    Powers of hundreds of factors would show the rounding of a rule that is right to 1e-15 of the
    interval. So roots are angles: Newton's method on P(cos θ), evaluated by differences of
    consecutive polynomials, in which 1 - cos θ does not cancel.
    """
    half = (n_nodes + 1) // 2
    angle = np.linspace(0.75, half - 0.25, half, dtype=np.float64) * (np.pi / (n_nodes + 0.5))
    for _ in range(NEWTON_STEPS):
        value, slope = _legendre(n_nodes, angle)
        angle -= value / slope
    _, slope = _legendre(n_nodes, angle)
    node, weight = np.sin(angle / 2.0) ** 2, slope**-2.0
    mirrored = np.arange(n_nodes - half)[::-1]
    return np.append(node, 1.0 - node[mirrored]), np.append(weight, weight[mirrored])


def _legendre(degree: int, angle: Array) -> tuple[Array, Array]:
    """Evaluate P(cos θ) and its derivative with respect to θ."""
    below = 2.0 * np.sin(angle / 2.0) ** 2  # 1 - cos θ
    value, difference = 1.0 - below, -below  # of degree 1, and minus that of degree 0
    for k in range(1, degree):
        difference = (k * difference - (2 * k + 1) * below * value) / (k + 1)
        value = value + difference
    return value, degree * (difference - below * value) / np.sin(angle)
