r"""Pegasos, and plain stochastic gradients for the smooth losses: the baseline of the others.

With :math:`\lambda = 1 / \sum_i C_i` the problem is Pegasos's, :math:`\tfrac\lambda2 \lVert w
\rVert^2` plus the weighted mean of the losses, and step :math:`t`, of length
:math:`1/(\lambda t)`, is

.. math:: w \leftarrow (1 - \eta_t) w + \eta_t \frac{n}{b} \sum_{i \in \text{batch}}
          \gamma_i(w)\, y_i x_i, \qquad \eta_t = \frac{1}{t_0 + t}

with :math:`\gamma_i(w) = -\ell_i'`. The hinge has :math:`t_0 = 0`. The slope of the smooth losses
is not bounded, and their first steps would be far too long: :math:`t_0` is their smoothness,
and the method is no longer called Pegasos but SGD.

``batch_size`` 1 gives single steps, ``None`` full (sub-)gradients. Batches are consecutive rows of
a random order of all rows, drawn again every epoch. The weights returned are a mean of the iterates
in which epoch e weighs e, so that the first ones are soon forgotten.

The same mean of the duals that rows had when they were visited is feasible; with the duals implied
at ``w`` it gives the lower bound, whichever is better. Both fall as 1/t at best: expect to end at
``max_iter`` where ``tol`` is small. Passes made for the certificate alone are not counted as
gradient evaluations.

References: Shalev-Shwartz et al. (2011); Lacoste-Julien, Schmidt and Bach (2012) for the mean.
Departures: rows are drawn without replacement; the certificate.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.outcome import Certificate, Outcome, Solution
from ..history import LinearHistory
from ..problem import LinearProblem


def solve(
    problem: LinearProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
    *,
    batch_size: int | None = 1,
    project: bool = False,
    average: bool = True,
) -> Solution[Array]:
    """Minimise the objective from ``w``; the mean duals at the end go to ``dual``.

    The hinge's first step has length 1, which leaves nothing of ``w``.

    Parameters
    ----------
    problem : LinearProblem
        Of any loss.
    w : array of shape (size,)
        The start.
    budget : Budget
        Limits; an epoch is an iteration.
    history : LinearHistory
        Record of the epochs.
    dual : array of shape (n_rows,), optional
        Filled at the end.
    batch_size : int or None
        Rows per step, b; None means all.
    project : bool
        Whether to keep ‖w‖ within the bound that the optimum obeys.
    average : bool
        Whether to return the mean of the iterates, else the last one.
    """
    n, evaluations = problem.n_rows, problem.evaluations
    batch = n if batch_size is None else min(batch_size, n)
    offset = _smoothness_of_a_step(problem, batch)
    radius = _radius(problem) if project else np.inf
    order, visited = np.arange(n), np.zeros(n)
    mean_dual = np.zeros(n) if dual is None else dual
    mean_dual[:] = 0.0
    last, mean = w.copy(), w
    steps_taken, epoch, steps = 0.0, 0, -(-n // batch)
    certificate = _certificate(problem, w, mean_dual)
    outcome = Outcome.CONVERGED
    while not certificate.relative_gap <= budget.tol:  # nor where it is not a number
        if history.iterations >= budget.max_iter:
            outcome = Outcome.ITERATIONS
            break
        history.note(mean, certificate, evaluations)
        if budget.out_of_time:
            outcome = Outcome.TIME
            break
        np.random.default_rng([budget.seed, epoch]).shuffle(order)
        total = np.zeros_like(w)
        problem.native.sgd_steps(
            order, batch, steps_taken + 1.0, offset, radius, visited, last, total
        )
        epoch, steps_taken, evaluations = epoch + 1, steps_taken + steps, evaluations + n
        share = 2.0 / (epoch + 1)
        mean_dual += share * (visited - mean_dual)
        mean = mean + share * (total / steps - mean) if average else last.copy()
        certificate = _certificate(problem, mean, mean_dual)
    problem.evaluations = evaluations
    history.note(mean, certificate, evaluations, iterations=0)
    return Solution(mean, certificate, outcome, history.iterations)


def _smoothness_of_a_step(problem: LinearProblem, batch: int) -> float:
    """Bound the curvature that a batch may show: t₀, zero for the hinge."""
    if not problem.constants.smooth:
        return 0.0
    each = problem.smoothness()
    single = problem.n_rows * float(each.max(initial=0.0))
    return single / batch + (1 - 1 / batch) * float(each.sum())


def _radius(problem: LinearProblem) -> float:
    """Bound ‖w‖ of the optimum: the objective at zero is no less than its square."""
    return float(np.sqrt(problem.evaluate(np.zeros(problem.size)).objective))


def _certificate(problem: LinearProblem, w: Array, mean_dual: Array) -> Certificate:
    implied = problem.evaluate(w).certificate
    own = problem.weights_of(mean_dual)
    return Certificate(
        implied.primal, max(implied.dual, -0.5 * float(own @ own) - problem.phi(mean_dual))
    )
