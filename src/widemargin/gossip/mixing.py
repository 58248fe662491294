r"""How fast the sites of a graph agree, from the eigenvalues of what an exchange does.

**Averaging** (Push-Sum with weights B, where :math:`b_{ij}` is the share that i sends to j):
disagreement falls in a round by the second largest modulus of an eigenvalue of B, over a period of
graphs by that of the product of their matrices.

**Consensus** (decentralised ADMM with relaxation α) has no weights. Where the pulls of the links
outweigh a site's own rows, the model of a site is the mean of its links' vectors, and a round does

.. math:: z_{ij} \leftarrow (1 - \alpha)\, z_{ij} + \alpha\,(2 w_j - z_{ji}), \qquad
          w_j = \frac1{d_j} \sum_k z_{jk}.

The second term is the quantum walk of Grover on the graph: for every eigenvalue λ = cos φ of the
simple random walk on the neighbours it has the eigenvalues :math:`e^{\pm i\varphi}`. A round
therefore shrinks a disagreement by :math:`\sqrt{(1-\alpha)^2 + \alpha^2 + 2\alpha(1-\alpha)
\lambda}`, and the second largest λ, not the modulus, decides: -1 of graphs in two halves does no
harm. A star, whose walk has λ = 0, agrees as fast as a complete graph, while Metropolis weights,
which give its centre no more than any other site, need as many rounds as there are sites.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigs, eigsh

from ..core.resources import single_threaded_blas

if TYPE_CHECKING:
    from .topology import Topology

Floats: TypeAlias = NDArray[np.float64]

# Number of sites up to which all eigenvalues are computed.
DENSE_SITES = 1000
# The Lanczos method is used on well connected graphs, whose second eigenvalue is below this. It is
# slow on the others, whose matrices have sparse factors instead.
WELL_CONNECTED = 0.999
# Distance from the end of the spectrum at which the matrix is factorised without being singular.
BEYOND = 1e-8
# Rounds after which the masses of Push-Sum count as settled, at most.
SETTLING = 1000


def averaging_time(graph: Topology, kind: str) -> float:
    """Return the rounds of Push-Sum in which disagreement shrinks by a factor of e."""
    with single_threaded_blas():  # threads cost more than they save on short products
        modulus = (
            _second_of_symmetric(graph, kind)
            if graph.active is None and kind != "given"
            else _second_of_period(graph, kind)
        )
    return _rounds(modulus) * graph.period


def consensus_time(graph: Topology, relaxation: float) -> float:
    """Return the rounds of consensus in which disagreement shrinks by a factor of e.

    Parameters
    ----------
    graph : Topology
        An undirected graph. Of several, the links of all count as if they were there in every
        round, and the time is that of as many periods.
    relaxation : float
        The step towards the neighbours' values, α.
    """
    with single_threaded_blas():
        second = _second_of_walk(graph)
    kept = 1.0 - relaxation
    square = kept**2 + relaxation**2 + 2 * kept * relaxation * second
    return _rounds(math.sqrt(max(square, 0.0))) * graph.period


def settled_mass(graph: Topology, kind: str, one: bool) -> Floats:
    """Return the mass that each site has once Push-Sum has settled, 1 on average.

    With ``one``, every site sends half of what it has to one neighbour of a round.
    """
    rounds = []
    for number in range(graph.period):
        link, own = graph.weights(kind, number)
        if one:
            partners = np.bincount(graph.site[link > 0], minlength=graph.n_sites)
            link = np.where(link > 0, 0.5 / np.maximum(partners, 1)[graph.site], 0.0)
            own = np.where(partners > 0, 0.5, 1.0)
        rounds.append(_matrix_of(graph, link, own).T.tocsr())
    mass = np.ones(graph.n_sites)
    for _ in range(SETTLING):
        before = mass
        for matrix in rounds:
            mass = matrix @ mass
        if np.abs(mass - before).max() < 1e-6:
            break
    return mass


def _rounds(modulus: float) -> float:
    # Rounding makes eigenvalues of 0 slightly positive.
    return 0.0 if modulus < 1e-12 else -1.0 / math.log(min(modulus, 1.0 - 1e-16))


def _matrix_of(graph: Topology, link: Floats, own: Floats) -> sp.csr_array:
    """Return B."""
    n = graph.n_sites
    links = sp.csr_array((link, graph.other, graph.start), shape=(n, n))
    return (links + sp.diags_array(own)).tocsr()


def _second_of_symmetric(graph: Topology, kind: str) -> float:
    """Return the second largest modulus of an eigenvalue of B, of a graph of undirected links."""
    n, (link, own) = graph.n_sites, graph.weights(kind)
    if n == 1:
        return 0.0
    # A random walk crosses a link equally often in both directions. Scaled by the square roots
    # of these frequencies, its matrix is symmetric and has the same eigenvalues.
    matrix = _matrix_of(graph, np.sqrt(link * link[graph.reverse]), own)
    if n <= DENSE_SITES:
        values = scipy.linalg.eigvalsh(matrix.toarray())
        return float(max(values[-2], -values[0]))
    # The eigenvector of eigenvalue 1.
    stationary = 1.0 / np.sqrt(own) if kind == "random_walk" else np.ones(n)
    second = _largest(matrix, stationary / np.linalg.norm(stationary))
    # Gershgorin: no eigenvalue is below 2 min(own) − 1, and few graphs come near it.
    if 1.0 - 2.0 * own.min() <= second:
        return second
    return max(second, _largest(-matrix, None))


def _second_of_period(graph: Topology, kind: str) -> float:
    """Return the second largest modulus of an eigenvalue of the product of a period."""
    n = graph.n_sites
    if n == 1:
        return 0.0
    rounds = [_matrix_of(graph, *graph.weights(kind, k)) for k in range(graph.period)]
    if n <= DENSE_SITES:
        product = rounds[0].toarray()
        for matrix in rounds[1:]:
            product = product @ matrix
        return float(np.sort(np.abs(scipy.linalg.eigvals(product)))[-2])

    def after_period(vector: Floats) -> Floats:
        for matrix in reversed(rounds):
            vector = matrix @ vector
        return vector

    operator = LinearOperator((n, n), matvec=after_period, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    values = eigs(operator, k=2, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)
    return float(np.sort(np.abs(values))[-2])


def _second_of_walk(graph: Topology) -> float:
    """Return the second largest eigenvalue of the simple random walk, which never stays."""
    n, degree = graph.n_sites, np.maximum(graph.degree, 1).astype(np.float64)
    if n < 3:
        return -1.0
    link = 1.0 / np.sqrt(degree[graph.site] * degree[graph.other])
    matrix = _matrix_of(graph, link, np.zeros(n))
    if n <= DENSE_SITES:
        return float(scipy.linalg.eigvalsh(matrix.toarray())[-2])
    stationary = np.sqrt(degree)
    return _largest(matrix, stationary / np.linalg.norm(stationary))


def _largest(matrix: sp.csr_array, known: Floats | None) -> float:
    """Return the largest eigenvalue, leaving out that of a known eigenvector, which is 1."""
    n = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(n)

    def product(vector: Floats) -> Floats:
        image: Floats = matrix @ vector
        return image if known is None else image - known * (known @ vector)

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    find = {"v0": start, "return_eigenvectors": False}
    # A rough value is found quickly, and is never above the true one.
    if eigsh(operator, k=1, which="LA", tol=1e-3, **find)[0] < WELL_CONNECTED:
        return float(eigsh(operator, k=1, which="LA", tol=1e-7, **find)[0])
    count = 1 if known is None else 2
    return float(eigsh(matrix.tocsc(), k=count, sigma=1.0 + BEYOND, **find).min())
