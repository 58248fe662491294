"""Gossip, written the plain way: every site of a network where nothing goes wrong.

Weights are matrices here: ``B[i, j]`` is the share that site i sends to j, and every message
arrives. One round is a step of every site and one exchange.
"""

import numpy as np


def weight_matrix(topology, kind="metropolis"):
    """Return B, what a site keeps on the diagonal."""
    link, own = topology.weights(kind)
    matrix = np.diag(own)
    matrix[topology.site, topology.other] = link
    return matrix


def slope(X, y, w, loss):
    """Return Σ gᵢ yᵢ xᵢ with gᵢ = −ℓ′(margin)."""
    return (loss(y * (X @ w)) * y) @ X


def gadget(parts, loss, matrix, rounds, offset=0.0):
    """GADGET with full sub-gradients: value / mass of every site after so many rounds."""
    m, size = len(parts), parts[0][0].shape[1]
    value, mass = np.zeros((m, size)), np.ones(m)
    for t in range(1, rounds + 1):
        step = 1.0 / (offset + t)
        models = value / mass[:, None]
        for i, (X, y) in enumerate(parts):
            value[i] = (1 - step) * value[i] + step * m * slope(X, y, models[i], loss)
        value, mass = matrix.T @ value, matrix.T @ mass
    return value / mass[:, None]


def push_diging(parts, loss, matrix, rounds, step):
    """Gradient tracking with steps of constant length."""
    m, size = len(parts), parts[0][0].shape[1]
    n = sum(len(y) for _, y in parts)
    value, mass = np.zeros((m, size)), np.ones(m)
    tracked, earlier = np.zeros((m, size)), np.zeros((m, size))
    for _ in range(rounds):
        models = value / mass[:, None]
        for i, (X, y) in enumerate(parts):
            now = m * (len(y) / n * models[i] - slope(X, y, models[i], loss))
            tracked[i] += now - earlier[i]
            earlier[i] = now
        value = matrix.T @ (value - step * tracked)
        tracked, mass = matrix.T @ tracked, matrix.T @ mass
    return value / mass[:, None]


def consensus(parts, minimise, topology, rounds, rho, relaxation):
    """Decentralised ADMM; ``minimise(part, curvature, pull)`` solves a site's problem.

    A link counts once a message was read through it, and a site without rows has none to send
    before it has read one; where a link does not count yet, both ends seem to agree.
    """
    m = topology.n_sites
    size = parts[0][0].shape[1]
    n = sum(len(y) for _, y in parts)
    z = np.zeros((topology.n_links, size))
    counts = np.zeros(topology.n_links, dtype=bool)
    informed = np.zeros(m, dtype=bool)
    models = np.zeros((m, size))
    for _ in range(rounds):
        for i, part in enumerate(parts):
            links = np.arange(topology.start[i], topology.start[i + 1])
            heard = links[counts[links]]
            curvature = len(part[1]) / n + rho * len(heard)
            if curvature > 0:
                models[i] = minimise(part, curvature, z[heard].sum(axis=0))
                informed[i] = True
            z[links[~counts[links]]] = rho * models[i]
        told = 2 * rho * models[topology.site] - z
        read = informed[topology.other]
        z[read] = (1 - relaxation) * z[read] + relaxation * told[topology.reverse][read]
        counts |= read
    return models
