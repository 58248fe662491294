"""Who plays whom: rounds in which every class meets every other once.

A step for a row of class y against class c touches the weights of these two classes only, so
matches between different pairs can be played at the same time. Arranging all matches in as few
rounds as possible is the 1-factorisation of the complete graph: one player stays in the middle, the
others stand around it in a circle, and the line that joins the middle to the circle turns by one
place per round; all others meet across that line.

With thousands of classes, bundles of classes are the players: a match lets every class of the one
meet every class of the other, and the classes of one bundle meet among themselves in a round of
their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Match = tuple[int, int]


def rounds(players: int) -> list[list[Match]]:
    """Arrange matches so that every two players meet exactly once.

    Parameters
    ----------
    players : int
        How many there are.

    Returns
    -------
    list of lists of pairs
        Rounds; nobody plays twice in one. An even number of players needs ``players - 1`` rounds,
        an odd one ``players``, with one player sitting out in each.
    """
    if players < 2:
        return []
    circle = players - 1 if players % 2 == 0 else players
    schedule = []
    for turn in range(circle):
        middle = [(turn, players - 1)] if players % 2 == 0 else []
        across = [
            ((turn + step) % circle, (turn - step) % circle)
            for step in range(1, (circle - 1) // 2 + 1)
        ]
        schedule.append([(min(pair), max(pair)) for pair in middle + across])
    return schedule


def bundle_count(n_classes: int) -> int:
    """Tell how many bundles to make: a matter of the problem, never of the threads.

    Half as many matches as bundles are played at a time, so four keep two threads busy; wider
    bundles compute faster.
    """
    if n_classes < 256:
        return min(n_classes, 4)
    return 8 if n_classes < 2048 else 16


def bundles_of(class_rows: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Deal classes out into bundles of nearly as many classes, and of about as many rows.

    Parameters
    ----------
    class_rows : array of shape (n_classes,)
        Rows of each class.
    count : int
        Number of bundles.

    Returns
    -------
    list of arrays
        Classes of each bundle. They differ by one class at most; classes are dealt out from the
        largest to the smallest, there and back.
    """
    by_size = np.argsort(-class_rows, kind="stable")
    hands: list[list[int]] = [[] for _ in range(count)]
    for place, number in enumerate(by_size):
        turn, hand = divmod(place, count)
        hands[hand if turn % 2 == 0 else count - 1 - hand].append(int(number))
    return [np.array(hand, dtype=np.int64) for hand in hands]
