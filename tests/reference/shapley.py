"""Shapley values by their definition: every coalition of the features, hence few of them."""

from collections.abc import Callable
from itertools import combinations
from math import factorial

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Coalition = tuple[int, ...]


def shapley(game: Callable[[Coalition], float], players: int) -> Array:
    """Average what each player adds to the coalitions of the others."""
    values = np.zeros(players)
    for j in range(players):
        others = [player for player in range(players) if player != j]
        for size in range(players):
            weight = factorial(size) * factorial(players - size - 1) / factorial(players)
            for S in combinations(others, size):
                values[j] += weight * (game((*S, j)) - game(S))
    return values


def game_without_background(
    factors: Callable[[Array, Array], Array], x: Array, vectors: Array, coef: Array
) -> Callable[[Coalition], float]:
    """v(S) = Σᵢ coefᵢ Π_{j in S} kⱼ(xⱼ, sᵢⱼ); ``factors`` gives all kⱼ of two rows."""
    table = np.array([factors(x, s) for s in vectors])
    return lambda S: float(coef @ np.prod(table[:, list(S)], axis=1))


def game_with_background(
    decide: Callable[[Array], Array], x: Array, background: Array
) -> Callable[[Coalition], float]:
    """v(S) = mean decision about background rows whose features in S are those of x."""

    def value(S: Coalition) -> float:
        mixed = background.copy()
        mixed[:, list(S)] = x[list(S)]
        return float(np.mean(decide(mixed)))

    return value
