r"""Block descent after rounds over clusters, for large problems with a local kernel.

Rows far apart in the kernel's space hardly affect each other. So the rows are divided into
clusters, and all clusters are descended at the same time as blocks of the one problem: margins
hold what the other rows contribute, which stays as it is for the round. The changes of all clusters
together, :math:`\Delta`, then are taken as far as the dual falls,

.. math:: \min_{0 \le t \le 1}\; \tfrac12 (\gamma + t\Delta)^\top Q (\gamma + t\Delta)
          + \sum_i \varphi_i(\gamma_i + t\Delta_i),

for one product :math:`Q\Delta`. The first round has clusters of ``CLUSTER_ROWS`` rows, each further
one larger and other clusters, ``GROWTH`` times as many rows up to ``LARGEST_CLUSTER``, until the
gap is closed or a round no longer pays. :mod:`block_descent` does the rest and certifies.

That saves most of the work where the kernel is local, and little where it is not; so it is
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
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.losses import Hinge, LossTerms
from ...core.outcome import Solution, certify
from ...engines import LocalEngine
from ..partition import Clusters, Divided
from ..partition.division import Drawn
from ..partition.kernel_kmeans import cluster_rows, clustering_kernel
from ..problem import Duals, KernelProblem, KernelProducts, record_iteration
from ..samples import Part, Samples, whole_set
from . import block_descent
from .block_descent import Work

# With fewer rows, block descent is as fast from zero.
FEWEST_ROWS = 10_000
# Mean number of rows in a cluster of the first round. The largest has at most twice as many, which
# is one block.
CLUSTER_ROWS = 2_048
MOST_CLUSTERS = 512
# Factor of the rows in a cluster from round to round, and where it ends: there are at least
GROWTH = 4
LARGEST_CLUSTER = 32_768
# this many clusters.
FEWEST_CLUSTERS = 3
# Rounds of the largest clusters go on while each leaves at most this share of the gap,
PAYS = 0.7
# this many times at most.
ROUNDS_OF_LARGEST = 10
# Clusters are descended to this share of the gap that the round began with,
REDUCTION = 0.1
# but to a relative gap of at most
LOOSEST = 1e-2
# and no further than to this share of `tol`.
TIGHTEST = 0.3
# A kernel is local if this share of its mass lies within clusters.
LOCAL = 0.8
# Rows on which that share is estimated.
SAMPLED_ROWS = 500
# Steps of the search for the best multiple of a round's changes.
SEARCH_STEPS = 12


def solve(
    problem: KernelProblem,
    start: Duals,
    budget: Budget,
    history: History,
    too_slow: block_descent.TooSlow | None = None,
) -> Solution[Duals]:
    """Solve from ``start``, by way of clusters where the problem is large and its kernel local.

    ``too_slow`` may end the descent, see :func:`.block_descent.solve`.
    """
    spent = Work()
    if problem.n_rows >= FEWEST_ROWS:
        engine = LocalEngine(problem.threads)
        first = _clusters(problem, 0, CLUSTER_ROWS, engine, budget.seed)
        if first is not None:
            start, spent = _rounds(problem, start, engine, budget, history)
    return block_descent.solve(problem, start, budget, history, spent, too_slow)


def _rounds(
    problem: KernelProblem, start: Duals, engine: LocalEngine, budget: Budget, history: History
) -> tuple[Duals, Work]:
    """Descend in clusters, round by round; return where that ends, and what it took.

    Clusters of a round work side by side: the working sets of the one with most are counted.
    """
    products, spent = KernelProducts(problem), Work()
    net_dual, margin = np.array(start.net_dual, dtype=np.float64), start.margin
    if margin is None:
        support = np.flatnonzero(net_dual)
        margin = products.all_rows(support, net_dual[support])
    spent.entries += products.entries
    gap = certify(problem.terms, net_dual, margin).relative_gap
    sizes = _sizes(problem.n_rows, started=bool(np.any(net_dual)))
    for number, rows_each in enumerate(sizes + sizes[-1:] * ROUNDS_OF_LARGEST):
        left = budget.max_iter - spent.iterations
        if gap <= block_descent.SAFETY * budget.tol or budget.out_of_time or left <= 0:
            break
        clusters = _clusters(problem, number, rows_each, engine, budget.seed)
        assert clusters is not None
        target = max(min(REDUCTION * gap, LOOSEST), TIGHTEST * budget.tol)
        at, own = Duals(net_dual, margin), replace(budget, max_iter=left)
        found, work = _descended(problem, at, clusters, target, engine, own, history)
        change = found - net_dual
        moved = np.flatnonzero(change)
        products.entries = 0
        image = products.all_rows(moved, change[moved])
        t = _best_step(problem.terms, net_dual, margin, change, image)
        net_dual, margin = net_dual + t * change, margin + t * image
        history.latest = Duals(net_dual)
        spent.iterations += work.iterations
        spent.entries += work.entries + products.entries + problem.n_rows * Clusters().n_sample
        before, certificate = gap, certify(problem.terms, net_dual, margin)
        gap = certificate.relative_gap
        passes = spent.entries / problem.n_rows**2
        primal, dual = certificate.primal, certificate.dual
        record_iteration(history, problem, spent.iterations, primal, dual, passes=passes)
        if rows_each == sizes[-1] and gap > PAYS * before:
            break
    return Duals(net_dual, margin), spent


def _sizes(n_rows: int, started: bool) -> list[int]:
    """Return the mean number of rows of the clusters, up to the largest: those of any start."""
    sizes = [CLUSTER_ROWS]
    while sizes[-1] * GROWTH <= min(LARGEST_CLUSTER, n_rows // FEWEST_CLUSTERS):
        sizes.append(sizes[-1] * GROWTH)
    return sizes[-1:] if started else sizes


def _clusters(
    problem: KernelProblem, number: int, rows_each: int, engine: LocalEngine, seed: int
) -> Divided | None:
    """Divide the rows for a round, once for all problems of a fit; None if it is not local."""
    if not problem.clusters or problem.clusters[0][0] is not problem.X:
        problem.clusters[:] = [(problem.X, {})]
    known: dict[tuple[int, int], Divided | None] = problem.clusters[0][1]
    if (number, rows_each) in known:
        return known[number, rows_each]
    n, random = problem.n_rows, np.random.default_rng([seed, number])
    n_clusters = min(-(-n // rows_each), MOST_CLUSTERS)
    divided = None
    if number > 0 or mass_within_clusters(problem, n_clusters, random) >= LOCAL:
        # The division uses rows and labels only: the loss is in the problem.
        samples = Samples(problem.X, problem.kernel, problem.label, np.ones(n), Hinge())
        whole = engine.scatter([whole_set(samples)])
        divided = Clusters()(engine, whole, 1, n_clusters, random)
    known[number, rows_each] = divided
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


def _descended(
    problem: KernelProblem,
    at: Duals,
    clusters: Divided,
    target: float,
    engine: LocalEngine,
    budget: Budget,
    history: History,
) -> tuple[Array, Work]:
    """Return the duals of all clusters, and what they took."""
    share = engine.share(clusters.n_parts)
    own = budget.share(sharers=share.sharers, threads=share.threads, stopping=engine.stopping)
    one = partial(_descend_cluster, problem=problem, at=at, target=target, budget=own)

    def report(done: int, of: int) -> None:
        history.report(counted="clusters", done=done, of=of)

    net_dual, all_work = at.net_dual.copy(), Work()
    for rows, found, work in engine.map(clusters.parts, one, report):
        net_dual[rows] = found
        all_work.entries += work.entries
        all_work.iterations = max(all_work.iterations, work.iterations)
    return net_dual, all_work


def _descend_cluster(
    part: Part, problem: KernelProblem, at: Duals, target: float, budget: Budget
) -> tuple[NDArray[np.int64], Array, Work]:
    """Descend a cluster while the other rows stay; return its rows, their duals and the work."""
    found, work = block_descent.descend_some(problem, part.rows, at, target, budget)
    return part.rows, found, work


def _best_step(
    terms: LossTerms, net_dual: Array, margin: Array, change: Array, image: Array
) -> float:
    """Return the multiple of a change, at most 1, with the best dual; ``image`` is Q ``change``."""
    bend, slope = float(change @ image), float(change @ margin)

    def objective(t: float) -> float:
        return 0.5 * t * t * bend + t * slope + float(np.sum(terms.phi(net_dual + t * change)))

    low, high = 0.0, 1.0
    if objective(1.0) <= objective(0.99):
        return 1.0
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    for _ in range(SEARCH_STEPS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if objective(left) <= objective(right):
            high = right
        else:
            low = left
    return 0.5 * (low + high)
