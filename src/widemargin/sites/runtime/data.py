"""The rows of a site, read from its own disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.rows import canonical
from ...data import DataFileError, read
from ...linear.problem import Labels
from ..config import SiteConfig

__all__ = ["LocalRows", "read_rows"]


@dataclass(frozen=True)
class LocalRows:
    """Rows of a site with their labels.

    Attributes
    ----------
    X : array or CSR matrix
        The rows.
    label : array of int8
        +1 for the second class of the configuration, −1 for the first.
    feature_names : tuple of str or None
        Column names, where the file has them.
    """

    X: Any
    label: Labels
    feature_names: tuple[str, ...] | None

    @property
    def fingerprint(self) -> str:
        """Digest of the rows; a saved state belongs to rows with the same digest."""
        digest = hashlib.blake2b(digest_size=16)
        parts = (self.X.data, self.X.indices, self.X.indptr) if sp.issparse(self.X) else (self.X,)
        for part in (*parts, self.label):
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.view(np.uint8).data if array.size else b"")
        return digest.hexdigest()


def read_rows(config: SiteConfig) -> LocalRows:
    """Read the rows that a configuration names.

    Raises
    ------
    DataFileError
        If the file cannot be used, has other labels, or more rows than the whole network.
    """
    texts = isinstance(config.classes[0], str)
    table = read(
        config.data,
        format=config.format,
        label=config.label,
        n_features=config.n_features,
        zero_based="auto" if config.zero_based is None else config.zero_based,
        text_labels=texts,
    )
    y: NDArray[Any] = np.asarray(table.y)
    if texts:
        y = y.astype(str)
    elif y.dtype.kind not in "iufb":
        raise DataFileError(
            config.data,
            f"expected labels {config.classes[0]!r} and {config.classes[1]!r}, found text such as "
            f"{str(y[0])!r}. Set `network.classes` at all sites.",
        )
    known = np.isin(y, config.classes)
    if not known.all():
        other = y[~known][0].item()
        raise DataFileError(
            config.data,
            f"expected labels {config.classes[0]!r} and {config.classes[1]!r}, found {other!r}. "
            "Set `network.classes` at all sites, or `data.label` to the column of labels.",
        )
    if len(y) > config.total_rows:
        raise DataFileError(
            config.data,
            f"it has {len(y):,} rows, and all sites together have {config.total_rows:,} by "
            "`network.total_rows`. Set that at all sites to the sum of their rows.",
        )
    label = np.where(y == config.classes[1], 1, -1).astype(np.int8)
    return LocalRows(canonical(table.X), label, table.feature_names)
