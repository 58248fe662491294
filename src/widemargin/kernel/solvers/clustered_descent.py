r"""Block descent, started from clusters that were solved on their own.

Rows far apart in the kernel's space hardly affect each other, so a large problem is divided into
clusters of about ``CLUSTER_ROWS`` rows, the clusters are solved in parallel as blocks of the one
problem, and :mod:`block_descent` starts from their duals put together (or the best multiple of
them). That saves most of the work where the kernel is local, and little where it is not; so it is
done only if the kernel's mass lies within clusters,

.. math:: \sum_{i \ne j \text{ in one cluster}} |\kappa(x_i, x_j)| \;\ge\;
          \mathrm{LOCAL} \sum_{i \ne j} |\kappa(x_i, x_j)|

on a sample. Processor time with and without such a start, hinge at C = 32: covtype, 20,000 rows
(1.00 of the mass within clusters) 2.9 and 11.6 s; ijcnn1 (.6) 1.5 and 1.3 s; cod-rna (.2) 1.7 and
2.0 s.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ...core.budget import Budget
from ...core.history import History
from ...core.losses import Hinge
from ...core.outcome import Solution
from ...engines import LocalEngine
from ..divide.starts import best_on_ray
from ..partition import Clusters, Divided
from ..partition.division import Drawn
from ..partition.kernel_kmeans import cluster_rows, clustering_kernel
from ..problem import COLUMNS, Duals, KernelProblem, KernelProducts
from ..samples import Part, Samples, whole_set
from . import block_descent

# With fewer rows, block descent is as fast from zero.
FEWEST_ROWS = 10_000
# Mean number of rows in a cluster. The largest has at most twice as many, which is one block.
CLUSTER_ROWS = 2_048
MOST_CLUSTERS = 512
# A kernel is local if this share of its mass lies within clusters.
LOCAL = 0.8
# Rows on which that share is estimated.
SAMPLED_ROWS = 500


def solve(
    problem: KernelProblem,
    start: Duals,
    budget: Budget,
    history: History,
    too_slow: block_descent.TooSlow | None = None,
) -> Solution[Duals]:
    """Solve from ``start``, or from clusters where it is zero and the problem is large.

    ``too_slow`` may end the descent, see :func:`.block_descent.solve`.
    """
    entries = 0
    if problem.n_rows >= FEWEST_ROWS and not np.any(start.net_dual):
        engine = LocalEngine(problem.threads)
        clusters = _clusters(problem, engine, budget.seed)
        if clusters is not None:
            start, entries = _joined_duals(problem, clusters, engine, budget, history)
    return block_descent.solve(problem, start, budget, history, entries, too_slow)


def _clusters(problem: KernelProblem, engine: LocalEngine, seed: int) -> Divided | None:
    """Divide the rows, once for all problems of a fit; None if the kernel is not local."""
    for rows, found in problem.clusters:
        if rows is problem.X:
            known: Divided | None = found
            return known
    n, random = problem.n_rows, np.random.default_rng(seed)
    n_clusters = min(-(-n // CLUSTER_ROWS), MOST_CLUSTERS)
    divided = None
    if mass_within_clusters(problem, n_clusters, random) >= LOCAL:
        # The division uses rows and labels only: the loss is in the problem.
        samples = Samples(problem.X, problem.kernel, problem.label, np.ones(n), Hinge())
        whole = engine.scatter([whole_set(samples)])
        divided = Clusters()(engine, whole, 1, n_clusters, random)
    problem.clusters[:] = [(problem.X, divided)]
    return divided


def mass_within_clusters(
    problem: KernelProblem, n_clusters: int, random: np.random.Generator
) -> float:
    """Estimate how much of the kernel's mass, off the diagonal, lies within clusters."""
    size = min(max(SAMPLED_ROWS, 2 * n_clusters), problem.n_rows)
    rows = np.sort(random.choice(problem.n_rows, size, replace=False))
    # The constant that makes an intercept couples all rows, but by a single number.
    kernel = replace(problem.kernel, constant=0.0)
    sample = replace(problem.only(rows), kernel=kernel)
    drawn = Drawn(rows, sample.X)
    values = np.abs(sample.dense_q())
    np.fill_diagonal(values, 0.0)
    router = cluster_rows(clustering_kernel(kernel, drawn), drawn, n_clusters, random)
    group = np.empty(problem.n_rows, dtype=np.int64)
    group[router.basis_rows] = np.repeat(np.arange(router.n_groups), np.diff(router.group_start))
    within = group[rows][:, None] == group[rows]
    return float(values[within].sum() / max(values.sum(), 1e-300))


def _joined_duals(
    problem: KernelProblem,
    clusters: Divided,
    engine: LocalEngine,
    budget: Budget,
    history: History,
) -> tuple[Duals, int]:
    """Return the duals of all clusters, and the kernel values that they took."""
    n, share = problem.n_rows, engine.share(clusters.n_parts)
    own = budget.share(sharers=share.sharers, threads=share.threads, stopping=engine.stopping)
    one = partial(_solve_cluster, problem=problem, budget=own)

    def report(done: int, of: int) -> None:
        history.report(counted="clusters", done=done, of=of)

    net_dual, entries = np.zeros(n), n * Clusters().n_sample
    for part, spent in engine.map(clusters.parts, one, report):
        net_dual[part.rows] = part.net_dual
        entries += spent
    products, support = KernelProducts(problem), np.flatnonzero(net_dual)
    margin = products.all_rows(support, net_dual[support])
    return best_on_ray(problem.terms, net_dual, margin), entries + products.entries


def _solve_cluster(part: Part, problem: KernelProblem, budget: Budget) -> tuple[Part, int]:
    """Solve a cluster as if there were no other; return it with the kernel values it took."""
    alone = replace(problem.only(part.rows), threads=budget.threads)
    history = History(COLUMNS)
    solution = block_descent.solve(alone, Duals(part.net_dual), budget, history)
    spent = float(history.rows[-1]["passes"]) * part.n_rows**2
    return replace(part, net_dual=solution.iterate.net_dual), int(spent)
