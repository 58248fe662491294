r"""Margins for a certificate, from single-precision kernel values where these prove enough.

Kernel values in float32 cost half as much as in float64, and their errors hardly add up: each has
a sign of its own. How far the margins are off is measured rather than bounded in the worst case,
which would be far larger: on a sample of rows they are computed in float64 as well. All rows are
taken to be off by :math:`\delta`, ``SAFETY`` times the root mean square of the differences, each in
the direction that is worse for it. A row's share of the duality gap is convex in its margin, so
that

.. math:: P - D \;\le\; \sum_i \max_{m = m_i \pm \delta} \bigl(\gamma_i m + \ell_i(m)\bigr)
          + \varphi_i(\gamma_i),

and this is the gap that is certified (:func:`~widemargin.core.outcome.certify`). Where it is too
large for ``tol`` because of :math:`\delta`, all margins are computed in float64.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.outcome import Certificate
from .exact_sums import exact_sums
from .problem import KernelProblem

# Rows whose margins are computed in both precisions.
SAMPLE = 256
# Margins are taken to be off by this multiple of the errors' root mean square. Single errors may be
# larger; the sum over thousands of rows, each on its worse side, covers the true sum several times.
SAFETY = 3.0
# Below this many rows float64 costs little.
FEWEST_ROWS = 8 * SAMPLE


def certified_margins(
    problem: KernelProblem, net_dual: Array, tol: float
) -> tuple[Array, Certificate]:
    """Return the margins of all rows, and a certificate; in float64 only where that decides."""
    single = problem.X.dtype == np.float32 and problem.kernel.name != "precomputed"
    if single and problem.n_rows >= FEWEST_ROWS:
        margin = problem.margins(net_dual, single=True)
        rounding = rounding_of_margins(problem, net_dual, margin)
        certificate = problem.certificate(net_dual, margin, rounding)
        decided = problem.certificate(net_dual, margin).relative_gap > tol
        if decided or certificate.relative_gap <= tol:
            return margin, certificate
    margin = problem.margins(net_dual)
    return margin, problem.certificate(net_dual, margin)


def rounding_of_margins(problem: KernelProblem, net_dual: Array, margin: Array) -> float:
    """Estimate how far ``margin`` is from Q ``net_dual``, by a sample of rows in float64."""
    random = np.random.default_rng(0)
    rows = np.sort(random.choice(problem.n_rows, min(SAMPLE, problem.n_rows), replace=False))
    support = np.flatnonzero(net_dual)
    coef = (net_dual * problem.label)[support]
    decision = exact_sums(problem.kernel, problem.X, coef, support, problem.threads, rows)[0]
    exact = problem.label[rows] * decision + problem.shift * net_dual[rows]
    return rounding_of_sample(exact - margin[rows])


def rounding_of_sample(errors: Array) -> float:
    """Return what margins are taken to be off by, given the errors of some."""
    return SAFETY * float(np.sqrt(np.mean(errors * errors)))
