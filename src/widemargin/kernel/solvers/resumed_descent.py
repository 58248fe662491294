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

What that does not prove (the descent is slow, or rounding is too large for ``tol``) is left to the
usual solvers, which start from where this one stopped.
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
    target = SAFETY * budget.tol
    ended = descend(
        problem,
        net_dual,
        margin,
        target,
        work,
        budget,
        history,
        sizes,
        patience,
        shrinking=False,
    )
    duals = Duals(net_dual, margin)
    proof = _proof(problem, net_dual, margin, work, history)
    if proof.relative_gap <= budget.tol:
        return Solution(duals, proof, Outcome.CONVERGED, work.iterations, "blocks")
    if ended == "stopped" and not work.given_up:
        return Solution(duals, proof, Outcome.TIME, work.iterations, "blocks")
    if ended == "iterations":
        return Solution(duals, proof, Outcome.ITERATIONS, work.iterations, "blocks")
    left = replace(budget, max_iter=budget.max_iter - work.iterations)
    found = solve_binary(problem, duals, solver, left, history)
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


def _proof(
    problem: KernelProblem, net_dual: Array, margin: Array, work: Work, history: History
) -> Certificate:
    proof = problem.certificate(net_dual, margin, rounding_of_margins(problem, net_dual, margin))
    passes = work.entries / problem.n_rows**2
    record_iteration(history, problem, work.iterations, proof.primal, proof.dual, passes=passes)
    return proof
