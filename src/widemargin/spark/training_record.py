"""What a fit was: rows, jobs, seconds; kept with the model until it is saved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class TrainingRecord:
    """Record of a fit, made while it runs."""

    dataset: Any  # the DataFrame, rows to validate by left out
    rows: int = 0
    validation_rows: int = 0
    skipped_rows: int = 0
    blocks: int = 0
    jobs: int = 0
    seconds: dict[str, float] = field(default_factory=dict)  # by step, in order

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step of the fit."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - started
