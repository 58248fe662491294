"""Greedy choice of landmark rows, thrice: as pivoted Cholesky and as two papers print it.

The papers add, one at a time, the row that makes the Gram determinant of the landmarks largest.
The determinant grows by the factor

    κ(z, z) − K_{z,S} K_{S,S}⁻¹ K_{S,z}

(the Schur complement of z after the landmarks S: what is left of φ(z) off their span), and these
factors are exactly the residual diagonal that Cholesky with diagonal pivoting keeps up to date.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def pivoted_cholesky(K: Array, rank: int, tol: float = 1e-12) -> tuple[Array, list[int]]:
    """Return F (rows, rank) with K ≈ FFᵀ, exact on the pivots' rows, and the pivots in order.

    Reads the diagonal and one column of K a step. Stops early, with fewer columns, once every
    residual is below ``tol`` times the largest diagonal entry. Ties go to the first row.
    """
    residual = np.diag(K).copy()
    smallest = tol * np.max(residual)
    factor = np.zeros((len(K), rank))
    pivots: list[int] = []
    for s in range(rank):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= smallest:
            break
        column = K[:, pivot] - factor[:, :s] @ factor[pivot, :s]
        factor[:, s] = column / np.sqrt(residual[pivot])
        residual -= factor[:, s] ** 2
        residual[pivots] = residual[pivot] = 0.0  # exactly, lest rounding choose a pivot twice
        pivots.append(pivot)
    return factor[:, : len(pivots)], pivots


def schur_complements(K: Array, landmarks: list[int]) -> Array:
    """κ(z, z) − K_{z,S} K_{S,S}⁻¹ K_{S,z} of every row z, by solving with K_{S,S}."""
    K_zs = K[:, landmarks]
    K_ss = K[np.ix_(landmarks, landmarks)]
    projections: Array = np.sum(K_zs * np.linalg.solve(K_ss, K_zs.T).T, axis=1)
    return np.diag(K) - projections


def landmarks_by_schur_complement(K: Array, n_landmarks: int) -> list[int]:
    """DiODM, Eqn. (5): start at the largest κ(z, z), then add the largest Schur complement."""
    landmarks = [int(np.argmax(np.diag(K)))]
    while len(landmarks) < n_landmarks:
        landmarks.append(int(np.argmax(schur_complements(K, landmarks))))
    return landmarks


def landmarks_by_smallest_projection(K: Array, n_landmarks: int) -> list[int]:
    """SODM, Eqn. (8): start at the first row, then add argmin of K_{z,S} K_{S,S}⁻¹ K_{S,z}.

    The same rows as above where κ(z, z) is constant, as for the RBF and the Laplacian kernel.
    """
    landmarks = [0]
    while len(landmarks) < n_landmarks:
        projections = np.diag(K) - schur_complements(K, landmarks)
        landmarks.append(int(np.argmin(projections)))
    return landmarks
