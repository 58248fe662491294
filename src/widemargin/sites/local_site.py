"""The rows of a site, read from its own disk; its native site, and its model as a classifier."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _native
from ..core.arrays import Array
from ..core.losses import LossConstants
from ..core.resources import memory_bytes
from ..core.rows import canonical
from ..data import DataFileError, read
from ..gossip.methods import NativeSite, SiteMethod, SiteSetting
from ..linear.model import split_weights
from ..linear.problem import Labels, LinearProblem
from .config import ConfigError, SiteConfig
from .preparation import Preparation
from .schema import Schema
from .site_table import SiteTable, read_table
from .transport import QUEUED
from .wire import HEADER_BYTES, MessageLimits

__all__ = ["LocalRows", "LocalSite", "classifier_of", "model_of", "read_rows", "read_site_table"]
# Maximum number of vectors that the native site keeps per link, in addition to queues.
VECTORS_PER_LINK = 3


@dataclass(frozen=True)
class LocalRows:
    """Rows of a site, labelled +1 for the second class of the configuration, −1 for the first."""

    X: Any
    label: Labels
    feature_names: tuple[str, ...] | None
    step: Any = None  # transformer that made the rows of a table, for the exported model

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


def read_site_table(config: SiteConfig, schema: Schema) -> SiteTable:
    """Read the table that a configuration names, by the schema of the study."""
    return read_table(
        config.data,
        schema,
        format=config.format,
        label=config.label,
        zero_based=config.zero_based,
    )


def _prepared_rows(config: SiteConfig, preparation: Preparation) -> LocalRows:
    table = read_site_table(config, preparation.schema)
    classes = np.array(preparation.schema.classes)
    label = np.where(classes[table.codes] == config.classes[1], 1, -1).astype(np.int8)
    # The model takes what the step gives it, which has no names.
    return LocalRows(canonical(preparation.transform(table)), label, None, preparation.step(table))


@dataclass
class LocalSite:
    """Problem, method and limits of a site, from its configuration and rows."""

    config: SiteConfig
    rows: LocalRows

    @cached_property
    def problem(self) -> LinearProblem:
        """The problem of this site's rows, weighted as those of all sites."""
        parameters = self.config.classifier()
        weight = parameters._row_weight(float(self.config.total_rows))
        return LinearProblem(
            self.rows.X,
            self.rows.label,
            LossConstants.of(parameters._loss(), weight),
            constant=parameters._constant,
        )

    @cached_property
    def method(self) -> SiteMethod:
        """Training method."""
        return cast(SiteMethod, self.config.classifier()._method())

    @property
    def n_rows(self) -> int:
        """Number of rows of this site."""
        return len(self.rows.label)

    def native(self, links: int) -> NativeSite:
        """Return a native site whose links are all closed."""
        return self.method.site(self._setting(links))

    @cached_property
    def limits(self) -> MessageLimits:
        """Limits on what is accepted from neighbours."""
        config = self.config
        return MessageLimits.of(self._setting(0), self.method, config.n_sites, config.max_norm)

    @property
    def mean_square(self) -> float:
        """Mean squared length of this site's rows, including the constant feature."""
        return float(self.problem.squared_norms.mean())

    def check_memory(self, message_size: int, links: int) -> int:
        """Return the bytes of a frame, or raise ConfigError if neighbours need too much memory."""
        frame = HEADER_BYTES + 8 * message_size
        # Each neighbour has two queues in libzmq and one in this process.
        needed = links * (3 * QUEUED * frame + VECTORS_PER_LINK * 8 * message_size)
        limit = memory_bytes(self.config.max_memory)
        if needed > limit:
            raise ConfigError(
                f"{links} neighbours need about {needed / 2**20:.3g} MiB for models of "
                f"{self.problem.size:,} weights, more than `running.max_memory`, "
                f"{self.config.max_memory}. Raise it, or take fewer neighbours."
            )
        return frame

    def _setting(self, links: int) -> SiteSetting:
        config = self.config
        stopping = _native.StoppingRule(
            tol=config.tol, diameter=float(config.longest_path), epsilon=1e-3, quiet=3
        )
        native = _native.SiteSettings(
            links=links,
            number=zlib.crc32(config.name.encode()),
            sites=float(config.n_sites),
            share=self.n_rows / config.total_rows,
            seed=config.seed,
            stopping=stopping,
        )
        return SiteSetting(
            self.problem, native, config.total_rows, config.row_square, config.network_links
        )


def classifier_of(
    config: SiteConfig, w: Array, steps: int, agreed: bool, names: tuple[str, ...] | None
) -> Any:
    """Return a fitted linear classifier with these weights, the intercept's last.

    The gaps are NaN even if the sites have agreed: a single site cannot certify them.
    """
    from .. import LinearODMClassifier, LinearSVMClassifier

    parameters = config.classifier()
    given: dict[str, Any] = {
        "C": parameters._row_weight(float(config.total_rows)),
        "fit_intercept": config.fit_intercept,
        "intercept_scaling": config.intercept_scaling,
        "tol": config.tol,
    }
    model: LinearODMClassifier | LinearSVMClassifier
    if config.loss == "odm":
        model = LinearODMClassifier(upsilon=config.upsilon, theta=config.theta, **given)
    else:
        model = LinearSVMClassifier(loss=config.loss, **given)
    coef, intercept = split_weights(w[np.newaxis], parameters._constant)
    fitted = {
        "coef_": coef,
        "intercept_": intercept,
        "dual_gap_": np.nan,
        "relative_gap_": np.nan,
        "converged_": agreed,
        "classes_": np.array(config.classes),
        "n_features_in_": config.n_features,
        "n_iter_": steps,
        "solver_": config.solver,
        "history_": {},
    }
    if names is not None:
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    model.__dict__.update(fitted)
    return model


def model_of(classifier: Any, rows: LocalRows) -> Any:
    """Return what a site exports: the classifier, behind the preparation if there is one."""
    if rows.step is None:
        return classifier
    from sklearn.pipeline import Pipeline

    return Pipeline([("preparation", rows.step), ("classifier", classifier)])
