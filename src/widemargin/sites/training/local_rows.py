"""The rows of a site, read from its own disk by its configuration."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.rows import canonical
from ...data import DataFileError, read
from ..config import SiteConfig
from ..preparation.preparation import Preparation
from ..preparation.site_table import SiteTable, read_table
from ..studies.schema import Schema

__all__ = ["LocalRows", "read_codes", "read_rows", "read_site_table"]


@dataclass(frozen=True)
class LocalRows:
    """Rows of a site, with the position of their class in the configuration."""

    X: Any
    codes: NDArray[np.int32]
    feature_names: tuple[str, ...] | None
    step: Any = None  # transformer that made the rows of a table, for the exported model

    @property
    def fingerprint(self) -> str:
        """Digest of the rows; a saved state belongs to rows with the same digest."""
        digest = hashlib.blake2b(digest_size=16)
        parts = (self.X.data, self.X.indices, self.X.indptr) if sp.issparse(self.X) else (self.X,)
        for part in (*parts, self.codes):
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.view(np.uint8).data if array.size else b"")
        return digest.hexdigest()


def read_rows(config: SiteConfig) -> LocalRows:
    """Read the rows that a configuration names.

    DataFileError if the file cannot be used, has other labels, or more rows than the whole network.
    """
    if config.preparation is not None:
        return _prepared_rows(config, config.preparation)
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
            f"expected labels {_listed(config.classes)}, found text such as {str(y[0])!r}. Set "
            "`network.classes` at all sites.",
        )
    known = np.isin(y, config.classes)
    if not known.all():
        other = y[~known][0].item()
        raise DataFileError(
            config.data,
            f"expected labels {_listed(config.classes)}, found {other!r}. Set "
            "`network.classes` at all sites, or `data.label` to the column of labels.",
        )
    _check_least_rows(config, len(y))
    if config.study is None and len(y) > config.total_rows:
        raise DataFileError(
            config.data,
            f"it has {len(y):,} rows, and all sites together have {config.total_rows:,} by "
            "`network.total_rows`. Set that at all sites to the sum of their rows.",
        )
    codes = np.searchsorted(np.array(config.classes), y).astype(np.int32)
    return LocalRows(canonical(table.X), codes, table.feature_names)


def _listed(classes: tuple[Any, ...]) -> str:
    """Write labels for a message; of many, the first and the last."""
    shown = [repr(each) for each in classes]
    shown = shown if len(shown) <= 6 else [*shown[:3], "…", shown[-1]]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _check_least_rows(config: SiteConfig, n_rows: int) -> None:
    if n_rows < config.min_rows:
        setting, lower = "`network.min_rows`", "lower `network.min_rows` at all sites"
        if config.study is not None:
            setting = "the study's `min_rows`"
            lower = "have its owner create the study with a smaller --min-rows"
        raise DataFileError(
            config.data,
            f"it has {n_rows:,} rows, fewer than {setting}, {config.min_rows:,}. What a site with "
            "few rows sends gives them away to its neighbours. Let it join with more rows, or "
            f"together with another site; or {lower}, if their operators may see each other's "
            "rows.",
        )


def read_site_table(config: SiteConfig, schema: Schema) -> SiteTable:
    """Read the table that a configuration names, by the schema of the study."""
    table = read_table(
        config.data,
        schema,
        format=config.format,
        label=config.label,
        zero_based=config.zero_based,
    )
    _check_least_rows(config, table.n_rows)
    return table


def read_codes(config: SiteConfig) -> NDArray[np.int32]:
    """Read the positions of the rows' classes; DataFileError if the file does not fit."""
    if config.schema is None:
        return read_rows(config).codes
    return read_site_table(config, config.schema).codes.astype(np.int32)


def _prepared_rows(config: SiteConfig, preparation: Preparation) -> LocalRows:
    table = read_site_table(config, preparation.schema)
    _check_least_rows(config, table.n_rows)
    # The model takes what the step gives it, which has no names.
    return LocalRows(
        canonical(preparation.transform(table)),
        table.codes.astype(np.int32),
        None,
        preparation.step(table),
    )
