"""Parts by chance, as in the Cascade SVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engines import Engine
from ..samples import Part
from .division import Divided, deal_out


@dataclass(frozen=True)
class RandomParts:
    """Deal rows out at random; labels keep their shares."""

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts anew."""
        return deal_out(engine, parts, n_to, _one_stratum, random)


def _one_stratum(part: Part) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.zeros(part.n_rows, dtype=np.int64)
