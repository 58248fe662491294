r"""Variance-reduced gradients on a growing sample of the rows.

The full gradient of each stage is the expensive half of ``svrg``. Here it is taken over a weighted
sample of the rows that stands for all of them. Row i is drawn with a chance in proportion to

.. math:: s_i = \frac{L_i}{\sum_j L_j} + \frac{v_i}{\sum_j v_j} ,

its share of the smoothness and of the weight, which bound how much of the gradient it can be; its
weight is divided by that chance, so that the sample's objective is right on average.

A sample's solution is wrong by chance, and no steps on it can mend that. So a full pass certifies
it, and where that leaves too much of the gap, a larger sample is drawn, in the end as large as the
set itself. The result meets ``tol``, as every solver's does.

This is not the coreset SVRG (CSVRG) of Tan, Zhang and Wang (2019) that SODM compares with: theirs
are the centres of balls that cover the rows, chosen once, on which full gradients alone are taken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import _native
from ...core.arrays import Array
from ...core.budget import Budget
from ...core.outcome import Outcome, Solution
from ..history import LinearHistory
from ..problem import LinearProblem
from .svrg import STEPS_PER_ROW, WholeSet, descend, improved, safe_step

# Size of the first sample, as a share of the rows.
FIRST_SHARE = 1 / 8
# A sample has at least this many rows.
LEAST_ROWS = 1000
# Factor by which a sample grows.
GROWTH = 8
# A sample is solved until its gap is this share of the gap of the whole set.
INNER_SHARE = 0.1
MOST_STAGES = 20


def solve(
    problem: LinearProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
    *,
    sample_size: int | None = None,
    steps_per_row: float = STEPS_PER_ROW,
) -> Solution[Array]:
    """Minimise the objective from ``w``; the duals implied at the end go to ``dual``.

    ``sample_size`` is the number of rows drawn at first (None: a share of the rows).
    """
    share = sensitivity(problem)
    dual = np.empty(problem.n_rows) if dual is None else dual
    size = sample_size or max(LEAST_ROWS, round(FIRST_SHARE * problem.n_rows))
    at = problem.evaluate(w, dual=dual)
    outcome = Outcome.CONVERGED
    while not at.certificate.relative_gap <= budget.tol:  # nor where it is not a number
        if size >= problem.n_rows:
            stages = WholeSet(problem, dual, steps_per_row)
            return descend(stages, w, budget, history, safe_step(stages.total))
        if history.iterations >= budget.max_iter:
            outcome = Outcome.ITERATIONS
            break
        history.note(w, at.certificate, problem.evaluations)
        if budget.out_of_time:
            outcome = Outcome.TIME
            break
        inner = replace(
            budget,
            tol=INNER_SHARE * at.certificate.relative_gap,
            max_iter=MOST_STAGES,
            seed=budget.seed + history.iterations,
        )
        sample = drawn_sample(problem, share, size, inner.seed)
        stages = WholeSet(sample, np.empty(sample.n_rows), steps_per_row)
        new = descend(stages, w, inner, LinearHistory(), safe_step(stages.total)).iterate
        problem.evaluations += sample.evaluations
        there = problem.evaluate(new, dual=dual)
        if not there.certificate.gap <= 0.5 * at.certificate.gap:
            size *= GROWTH
        if improved(at, there):
            w, at = new, there
    history.note(w, at.certificate, problem.evaluations, iterations=0)
    return Solution(w, at.certificate, outcome, history.iterations)


def sensitivity(problem: LinearProblem) -> Array:
    """Return sᵢ, up to a factor."""
    by_smoothness = problem.smoothness()
    weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
    return by_smoothness / max(float(by_smoothness.sum()), 1e-300) + weight / float(weight.sum())


def drawn_sample(problem: LinearProblem, share: Array, size: int, seed: int) -> LinearProblem:
    """Draw ``size`` rows and weigh them; a row drawn twice is kept once, with twice the weight."""
    rows, times = np.unique(_native.draw_rows(share, size, seed), return_counts=True)
    weight = times * float(share.sum()) / (size * share[rows])
    if problem.weight is not None:
        weight = weight * problem.weight[rows]
    return problem.take(rows, weight)
