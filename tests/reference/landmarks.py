"""The partition of SODM as its paper prints it, with an explicit inverse and plain loops.

1. Landmarks: one at a time, the row with the largest κ(z, z) − K_{z,S} K_{S,S}⁻¹ K_{S,z} (DiODM,
   Eqn. 5). Where κ(z, z) is constant this is SODM's Eqn. 8, whose first landmark is the first row.
2. Strata: every row belongs to its nearest landmark in the kernel's space (SODM, Eqn. 7).
3. Parts: every stratum is cut into equal pieces at random, one for each part.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def landmarks(K: Array, n_landmarks: int) -> list[int]:
    """Choose rows; fewer where the kernel matrix has a lower rank. Ties go to the first row."""
    chosen = [int(np.argmax(np.diag(K)))]
    while len(chosen) < n_landmarks:
        inverse = np.linalg.inv(K[np.ix_(chosen, chosen)])
        left = [K[z, z] - K[z, chosen] @ inverse @ K[chosen, z] for z in range(len(K))]
        if max(left) < 1e-9 * np.diag(K).max():
            break
        chosen.append(int(np.argmax(left)))
    return chosen


def strata(K: Array, chosen: list[int]) -> Numbers:
    """Give each row the number of its nearest landmark; the first of several."""
    squared_distances = [[K[i, i] - 2 * K[i, z] + K[z, z] for z in chosen] for i in range(len(K))]
    return np.argmin(squared_distances, axis=1)


def deal(stratum: Numbers, label: Array, n_parts: int, chance: Array) -> Numbers:
    """Hand rows to parts like cards: by stratum, in it by label, in that by chance."""
    cards = sorted(range(len(stratum)), key=lambda i: (stratum[i], label[i], chance[i]))
    part = np.zeros(len(stratum), dtype=np.int64)
    for turn, row in enumerate(cards):
        part[row] = turn % n_parts
    return part


def spread(group: Numbers, part: Numbers, n_parts: int) -> int:
    """Say by how many rows of one group parts differ at most."""
    counts = [[np.sum((group == g) & (part == p)) for p in range(n_parts)] for g in set(group)]
    return int(max(max(row) - min(row) for row in counts))
