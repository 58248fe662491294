"""Averaging weights of neighbours, and how fast sites agree with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

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


class Weights(NamedTuple):
    """Weights of a graph: ``link`` of shape (n_links,) and ``own`` of shape (n_sites,)."""

    link: Floats
    own: Floats


def weights(topology: Topology, kind: str) -> Weights:
    """Return the weights of a kind; see :meth:`.Topology.weights`."""
    shares: Floats = 1.0 / (1.0 + topology.degree.astype(np.float64))
    if kind == "random_walk":
        return Weights(shares[topology.site], shares)
    if kind == "metropolis":
        link = np.minimum(shares[topology.site], shares[topology.other])
        sent = np.bincount(topology.site, link, minlength=topology.n_sites).astype(np.float64)
        return Weights(link, 1.0 - sent)
    raise ValueError(f"`kind` must be 'metropolis' or 'random_walk'; got {kind!r}.")


def mixing_time(topology: Topology, kind: str) -> float:
    """Return the number of rounds in which disagreement shrinks by a factor of e."""
    with single_threaded_blas():  # threads cost more than they save on short products
        modulus = second_modulus(topology, kind)
    # Rounding makes eigenvalues of 0 slightly positive.
    return 0.0 if modulus < 1e-12 else -1.0 / math.log(modulus)


def second_modulus(topology: Topology, kind: str) -> float:
    """Return the second largest modulus of an eigenvalue of the weight matrix."""
    n, (link, own) = topology.n_sites, weights(topology, kind)
    if n == 1:
        return 0.0
    # A random walk crosses a link equally often in both directions. Scaled by the square roots of
    # these frequencies, its matrix is symmetric and has the same eigenvalues.
    link = np.sqrt(link * link[topology.reverse])
    matrix = sp.csr_array((link, topology.other, topology.start), shape=(n, n))
    matrix = matrix + sp.diags_array(own)
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
