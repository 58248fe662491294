"""Iterables of batches ``(X, y)`` or ``(X, y, sample_weight)``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .arrays import row_blocks
from .blocks import Block, BlockSource, Place
from .checking import column_names

__all__ = ["batch_source"]


def batch_source(
    batches: Iterable[Any], *, dtype: np.dtype[Any] | None, block_bytes: int
) -> BlockSource:
    """Return the blocks of an iterable of batches, which is gone through once."""
    return BlockSource(_blocks(batches, dtype, block_bytes))


def _blocks(
    batches: Iterable[Any], dtype: np.dtype[Any] | None, block_bytes: int
) -> Iterator[Block]:
    number = 0
    for number, batch in enumerate(batches, start=1):
        place = Place(batch=number)
        if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
            size = f" of length {len(batch)}" if isinstance(batch, (tuple, list)) else ""
            raise place.error(
                "expected a tuple (X, y) or (X, y, sample_weight); got "
                f"{type(batch).__name__}{size}."
            )
        X, y, *weights = batch
        names = column_names(X, place)
        X = X if issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] == 0:
            raise place.error(f"expected features of shape (rows, features); got shape {X.shape}.")
        if X.shape[0] == 0:
            raise place.error("expected at least one row; got none. Leave empty batches out.")
        weight = weights[0] if weights else None
        for block in row_blocks(X, y, weight, place=place, dtype=dtype, block_bytes=block_bytes):
            # The size of one batch says nothing about the whole.
            yield replace(block, feature_names=names, done_bytes=None, total_bytes=None)
    if number == 0:
        raise ValueError(
            "Expected at least one batch; got none. If the source is an iterator, was it used "
            "before?"
        )
