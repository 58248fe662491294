"""Sums over all sites by Push-Sum, over links that lose, repeat, delay and reorder messages.

As in the native core (`native/gossip/push_sum.hpp`), a message carries all that a link was ever
given, so that nothing is lost and nothing counts twice. Shares are *masked*: before a link carries
anything, a random vector far larger than what the site holds goes through it, and the site keeps
the rest. The masks cancel in the sum. A neighbour that knows one mask cannot remove the others
from what it reads: it learns the orders of magnitude, not the site's own sums. A site with a single
neighbour cannot hide from it, since all that the site tells goes through that link.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.arrays import Array

__all__ = ["RunningSums"]

#: Size of masks, in units of what they hide.
MASK = 100.0


class RunningSums:
    """What one site holds of the sums, and what its links have carried.

    Parameters
    ----------
    value : ndarray
        What the site adds. The mass, 1, is put behind it.
    floor : ndarray
        Least size of the masks, for values that must hide even if they are 0.
    random : numpy.random.Generator
        Source of the masks.
    """

    def __init__(self, value: Array, floor: Array, random: np.random.Generator) -> None:
        self.held = np.append(value, 1.0)
        self._mask = np.append(MASK * np.maximum(np.abs(value), floor), 0.0)
        self._random = random
        self.sent: dict[str, Array] = {}
        self.received: dict[str, Array] = {}

    @property
    def estimate(self) -> Array:
        """Mean over all sites, as far as this one knows."""
        return self.held[:-1] / max(float(self.held[-1]), 1e-300)

    def open(self, key: str) -> None:
        """Begin to use a link, with a mask."""
        mask = self._mask * self._random.standard_normal(self._mask.size)
        self.held = self.held - mask
        self.sent[key], self.received[key] = mask, np.zeros_like(mask)

    def close(self, key: str) -> None:
        """Undo all that a link has carried, since the other end has forgotten or is gone."""
        if key in self.sent:
            self.held = self.held + self.sent.pop(key) - self.received.pop(key)

    def give(self, fractions: dict[str, float]) -> None:
        """Put a fraction of what is held on its way through each link."""
        before = self.held
        for key, fraction in fractions.items():
            self.sent[key] = self.sent[key] + fraction * before
        self.held = before * (1.0 - sum(fractions.values()))

    def read(self, key: str, message: Array) -> Array:
        """Take what is new in a message; return it. ValueError if it exceeds all bounds."""
        new = message - self.received[key]
        held = self.held + new
        if not np.isfinite(held).all():
            raise ValueError("sums must stay finite.")
        self.held, self.received[key] = held, message
        return new

    def saved(self) -> tuple[list[str], Array]:
        """Return the links and all numbers, as `restored` takes them."""
        keys = list(self.sent)
        parts = [self.held, self._mask]
        for key in keys:
            parts += [self.sent[key], self.received[key]]
        return keys, np.concatenate(parts)

    @classmethod
    def restored(
        cls, keys: Iterable[str], numbers: Array, size: int, random: np.random.Generator
    ) -> RunningSums:
        """Return saved sums; ValueError if they are of another size."""
        keys = list(keys)
        if numbers.size != (2 + 2 * len(keys)) * (size + 1):
            raise ValueError("the saved sums are of another size")
        rows: Any = iter(numbers.reshape(-1, size + 1).copy())
        sums = cls(np.zeros(size), np.zeros(size), random)
        sums.held, sums._mask = next(rows), next(rows)
        for key in keys:
            sums.sent[key], sums.received[key] = next(rows), next(rows)
        return sums
