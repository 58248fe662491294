r"""A mixing matrix of the user's own: the doubly stochastic B of [GADGET].

The entry :math:`b_{ij}` is the share that site i sends to site j in an exchange, the diagonal what
it keeps. Rows that sum to 1 lose nothing; with columns that do as well, the mean of all sites is
what exchanges lead to, with equal masses on the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .graph_parameter import connected
from .topology import Topology

# Sums may differ from 1 by this: matrices are written down with few digits, or in float32.
SUM_TOLERANCE = 1e-6


def mixing_matrix(given: Any) -> NDArray[np.float64]:
    """Return a matrix that was given, in float64; raise unless it is doubly stochastic."""
    matrix = np.asarray(given.toarray() if sp.issparse(given) else given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise ValueError(
            "`weights` as a matrix must be square, of numbers, with a row and a column for every "
            f"site; got an array of shape {matrix.shape} and type {matrix.dtype}."
        )
    matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix).all() or matrix.min(initial=0.0) < 0:
        raise ValueError(
            "`weights` as a matrix holds shares, which must be finite and 0 or more; got "
            f"{matrix[~(np.isfinite(matrix) & (matrix >= 0))][0]:g}."
        )
    for name, axis in (("row", 1), ("column", 0)):
        sums = matrix.sum(axis=axis)
        worst = int(np.argmax(np.abs(sums - 1.0)))
        if abs(sums[worst] - 1.0) > SUM_TOLERANCE:
            raise ValueError(
                "`weights` as a matrix must be doubly stochastic, with rows and columns that sum "
                f"to 1; got {sums[worst]:.6g} as the sum of {name} {worst}. For shares that only "
                "sum to 1 at the sender, pass the matrix as `topology` with `weights`='given'."
            )
    return matrix


def with_mixing_matrix(graph: Topology, matrix: NDArray[np.float64]) -> Topology:
    """Return a graph whose weights of kind 'given' are a doubly stochastic matrix.

    Links without a share carry no messages. Raises if sites that are no neighbours share.
    """
    n_sites = graph.n_sites
    if len(matrix) != n_sites:
        raise ValueError(
            "`weights` as a matrix must have a row and a column for every site; it has "
            f"{len(matrix)} rows, and there are {n_sites} sites. Set n_sites={len(matrix)}, or "
            "give another matrix."
        )
    if graph.period > 1:
        raise ValueError(
            "`weights` as a matrix is for one graph; `topology` is a list of "
            f"{graph.period}. Give a list of matrices as `topology` and `weights`='given'."
        )
    allowed = np.eye(n_sites, dtype=np.bool_)
    used = graph.used
    allowed[graph.site[used], graph.other[used]] = True
    strangers = np.argwhere((matrix > 0) & ~allowed)
    if len(strangers):
        names = graph.labels or range(n_sites)
        sender, receiver = (names[int(site)] for site in strangers[0])
        raise ValueError(
            "`weights` as a matrix may have shares between neighbours alone; got "
            f"{matrix[tuple(strangers[0])]:g} from site {sender!r} to {receiver!r}, between which "
            f"`topology` has no link (nor in {len(strangers) - 1} further places). Give the matrix "
            "as `topology` too, and its entries are the links."
        )
    share = matrix[graph.site, graph.other]
    active = None if np.all(share > 0) else (share > 0)[None]
    return connected(replace(graph, active=active, given=share[None]))
