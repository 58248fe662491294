r"""Block descent from a start that is close to the solution and whose margins are known.

That is the case of a problem of which a few rows have changed. Two things differ from
:mod:`.block_descent`. Blocks are smaller, because few rows have to move far: with 4,096 rows
instead of 1,024, updates of 10 rows of ijcnn1 and covtype (20,000 rows, ODM and hinge) took one to
three times as long, with 256 rows those of 200 one to two times. And the certificate
takes the margins that the descent has kept, with their rounding measured on a sample of rows
(:mod:`widemargin.kernel.certificates`), so that no margin is computed twice and the errors of many
updates cannot add up unnoticed. No rows are set aside on the way: all margins are kept up to date.

For :math:`k` rows whose margins are not known, :math:`s` support vectors and :math:`c` duals that
change, this takes about :math:`k s + c M` kernel values; the certificate alone of a solve from zero
takes :math:`s M`.

Where rounding is too large for ``tol``, all margins are computed once in float64, and later updates
start from these. A descent that is slow is left to the usual solvers, which start from where it
stopped.

Several problems on the same rows each evaluate their own kernel values here. Shared blocks
(:mod:`.shared_blocks`) took 0.6 times the processor time of 26 problems (letter, 12,000 rows, each
class against the rest, 1 % of the rows changed), and 1.5 to five times that of one (ijcnn1,
covtype).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Outcome, Solution
from ..certificates import rounding_of_margins
from ..problem import Duals, KernelProblem, KernelProducts, record_iteration
from .binary import solve_binary
from .block_descent import SAFETY, Work, descend, sizes_for
from .finished_descent import Patience

# Rows per block, and the fewest; between them, there are this many blocks in all rows.
BLOCK = 1024
FEWEST_BLOCK_ROWS = 128
BLOCKS = 16
# The descent goes on this often, each time to half the gap, where the certificate is not within
# `tol`.
ROUNDS = 3


def solve(
    problem: KernelProblem, start: Duals, solver: str, budget: Budget, history: History
) -> Solution[Duals]:
    """Solve from ``start``, whose margins are NaN where they are not known."""
    net_dual, work = problem.terms.nearest(start.net_dual), Work()
    known = start.margin is not None and np.array_equal(net_dual, start.net_dual)
    margin = np.array(start.margin) if known else np.full(problem.n_rows, np.nan)
    work.entries = _fill(problem, net_dual, margin)
    history.latest = Duals(net_dual)  # the native loop updates it in place
    sizes = sizes_for(problem, budget.memory)
    block = min(sizes.block, max(FEWEST_BLOCK_ROWS, min(BLOCK, problem.n_rows // BLOCKS)))
    sizes = replace(sizes, block=block, working_set=min(sizes.working_set, block))
    patience = Patience.of(problem).over if problem.dense_bytes <= budget.memory else None
    for number in range(ROUNDS):
        ended = descend(
            problem,
            net_dual,
            margin,
            SAFETY * budget.tol * 0.5**number,
            work,
            budget,
            history,
            sizes,
            patience,
            shrinking=False,
        )
        margin, proof = _proved(problem, net_dual, margin, budget.tol)
        passes = work.entries / problem.n_rows**2
        primal, dual = proof.primal, proof.dual
        record_iteration(history, problem, work.iterations, primal, dual, passes=passes)
        if proof.relative_gap <= budget.tol:
            outcome = Outcome.CONVERGED
        elif ended == "stopped" and not work.given_up:
            outcome = Outcome.TIME
        elif ended == "iterations":
            outcome = Outcome.ITERATIONS
        elif work.given_up or ended == "stalled":
            break
        else:
            continue
        return Solution(Duals(net_dual, margin), proof, outcome, work.iterations, "blocks")
    left = replace(budget, max_iter=budget.max_iter - work.iterations)
    found = solve_binary(problem, Duals(net_dual, margin), solver, left, history)
    return replace(found, iterations=found.iterations + work.iterations)


def _fill(problem: KernelProblem, net_dual: Array, margin: Array) -> int:
    """Compute the margins that are missing, in place; count the kernel values."""
    missing, support = np.flatnonzero(np.isnan(margin)), np.flatnonzero(net_dual)
    products = KernelProducts(problem)
    if len(missing) == problem.n_rows:
        margin[:] = products.all_rows(support, net_dual[support])
    elif len(missing):
        margin[missing] = products.some_rows(missing, support, net_dual[support])
    return products.entries


def _proved(
    problem: KernelProblem, net_dual: Array, margin: Array, tol: float
) -> tuple[Array, Certificate]:
    """Certify by the margins as they are; by exact ones, and return these, if rounding decides."""
    rounding = rounding_of_margins(problem, net_dual, margin)
    proof = problem.certificate(net_dual, margin, rounding)
    if proof.relative_gap > tol >= problem.certificate(net_dual, margin).relative_gap:
        margin = problem.margins(net_dual)
        proof = problem.certificate(net_dual, margin)
    return margin, proof
